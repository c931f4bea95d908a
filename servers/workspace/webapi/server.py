"""The transport of the Web API: merges body and query, checks tokens and scopes, applies ordered faults, answers like Slack."""

import asyncio
import json
import logging
import time
from collections import deque

from aiohttp import web

from servers.workspace.errors import ApiError
from servers.workspace.faults import Fault, Faults
from servers.workspace.settings import Json
from servers.workspace.tickets import Tickets
from servers.workspace.webapi import chat, lookups, views
from servers.workspace.webapi.call import Call, Method
from servers.workspace.workspace import Workspace

log = logging.getLogger(__name__)
METHODS: dict[str, tuple[Method, str]] = {**chat.METHODS, **views.METHODS, **lookups.METHODS}
_KEEP_CALLS = 500
_KINDS = ("ratelimited", "drop_before", "drop_after", "http_500", "delay", "error")


class WebApi:
    """Answers `/api/{method}`; remembers the latest calls so that a test or the page's inspector can look at them."""

    def __init__(self, workspace: Workspace, tickets: Tickets, faults: Faults) -> None:
        self._workspace, self._tickets, self._faults = workspace, tickets, faults
        self.calls: deque[Json] = deque(maxlen=_KEEP_CALLS)

    async def handle(self, request: web.Request) -> web.Response:
        """One call. Always HTTP 200, except 429 and 500 on order."""
        method, started = request.match_info["method"], time.time()
        args = await _arguments(request)
        fault = self._faults.take(_KINDS, method)
        if fault and fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
        if fault and (answer := _early(fault, request)):
            self._remember(method, args, f"fault:{fault.kind}", started)
            return answer
        result = self._answer(method, args, request)
        self._remember(method, args, "ok" if result["ok"] else result["error"], started)
        if fault and fault.kind == "drop_after":
            _drop(request)
        return web.json_response(result)

    def _answer(self, method: str, args: Json, request: web.Request) -> Json:
        try:
            self._check_token(method, args, request)
            if method not in METHODS:
                log.warning("unknown Web API method %s", method)
                raise ApiError("unknown_method", req_method=method)
            run, scope = METHODS[method]
            self._check_scope(scope, args)
            base = f"http://{request.host}"
            return {"ok": True, **run(Call(self._workspace, self._tickets, args, base))}
        except ApiError as error:
            return error.answer

    def _check_token(self, method: str, args: Json, request: web.Request) -> None:
        settings = self._workspace.settings
        header = request.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ").strip() or str(args.get("token") or "")
        if not token:
            raise ApiError("not_authed")
        if token not in (settings.bot_token, settings.app_token):
            raise ApiError("invalid_auth")
        if (token == settings.app_token) != (method == "apps.connections.open"):
            raise ApiError("not_allowed_token_type")

    def _check_scope(self, scope: str, args: Json) -> None:
        granted = self._workspace.seed.scopes
        if granted is None or not scope:
            return
        if scope.startswith("*"):
            channel = self._workspace.channels.get(str(args.get("channel")), {})
            scope = scope.replace("*", "im" if channel.get("is_im") else "groups" if channel.get("is_private") else "channels")
        if scope not in granted:
            raise ApiError("missing_scope", needed=scope, provided=",".join(sorted(granted)))

    def _remember(self, method: str, args: Json, outcome: str, started: float) -> None:
        hidden = {key: value for key, value in args.items() if key != "token"}
        ms = round((time.time() - started) * 1000)
        call = {"method": method, "args": hidden, "outcome": outcome, "at": started, "ms": ms}
        self.calls.append(call)
        self._workspace.bus.publish("call", call={**call, "args": sorted(hidden)})


def _early(fault: Fault, request: web.Request) -> web.Response | None:
    match fault.kind:
        case "ratelimited":
            headers = {"Retry-After": str(max(1, round(fault.seconds)) if fault.seconds else 0)}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
        case "http_500":
            return web.Response(status=500, text="<html>internal error</html>", content_type="text/html")
        case "error":
            return web.json_response({"ok": False, "error": fault.error})
        case "drop_before":
            _drop(request)
            return web.Response()
        case _:
            return None


def _drop(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()


async def _arguments(request: web.Request) -> Json:
    args: Json = dict(request.query)
    if request.content_type == "application/json":
        body = await request.text()
        try:
            parsed = json.loads(body) if body else {}
        except ValueError:
            parsed = {}
        args |= parsed if isinstance(parsed, dict) else {}
    elif request.body_exists:
        args |= {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
    return args
