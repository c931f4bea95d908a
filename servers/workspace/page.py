"""Serves the page: its files, the state it starts from, and live changes over SSE. Draws nothing itself."""

import asyncio
import json
from pathlib import Path

from aiohttp import web

from servers.workspace.control import Control
from servers.workspace.outside import mail_stamp
from servers.workspace.settings import Json
from servers.workspace.workspace import Workspace

_FOLDER = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEARTBEAT, _MAIL_SECONDS, _INSPECTED = 15.0, 1.0, 100


class Page:
    """GET / and what it loads; everything comes from the folder `page/`, nothing from elsewhere."""

    def __init__(self, workspace: Workspace, control: Control) -> None:
        self._workspace, self._control = workspace, control
        self._files = {path.name: path for path in _FOLDER.iterdir() if path.suffix in _TYPES}

    def routes(self) -> list[web.RouteDef]:
        """All routes."""
        return [
            web.get("/", self._index),
            web.get("/archives/{channel}/{message}", self._permalink),
            web.get("/static/{name}", self._file),
            web.get("/page/state", self._state),
            web.get("/page/events", self._events),
        ]

    async def watch_mail(self) -> None:
        """Tell the page when the customers' inbox changes."""
        folder = self._workspace.settings.mail
        last = mail_stamp(folder)
        while folder:
            await asyncio.sleep(_MAIL_SECONDS)
            if (now := mail_stamp(folder)) != last:
                last = now
                self._workspace.bus.publish("mail")

    async def _index(self, _request: web.Request) -> web.Response:
        return _serve(self._files["index.html"])

    async def _permalink(self, request: web.Request) -> web.Response:
        digits = request.match_info["message"].removeprefix("p")
        ts = f"{digits[:-6]}.{digits[-6:]}" if digits.isdigit() else ""
        raise web.HTTPFound(f"/#{ts}")

    async def _file(self, request: web.Request) -> web.Response:
        path = self._files.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return _serve(path)

    async def _state(self, _request: web.Request) -> web.Response:
        seed, settings = self._workspace.seed, self._workspace.settings
        who: Json = {"team": seed.team, "app": seed.app, "people": list(seed.people.values()), "teams": list(seed.other_teams)}
        offers = {
            "commands": list(seed.commands),
            "shortcuts": list(seed.shortcuts),
            "usergroups": list(seed.usergroups.values()),
        }
        beyond = {"shop": bool(settings.shop), "mail": bool(settings.mail), "supervisor": bool(settings.supervisor)}
        return web.json_response({"ok": True, **who, **offers, "beyond": beyond, **self._everything()})

    def _everything(self) -> Json:
        """The control API's state, lighter: the inspector shows no arguments and only the latest payloads."""
        whole = self._control.everything()
        calls = [{**call, "args": sorted(call["args"])} for call in whole["calls"][-_INSPECTED:]]
        return {**whole, "calls": calls, "envelopes": whole["envelopes"][-_INSPECTED:]}

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        queue = self._workspace.bus.listen()
        try:
            await response.write(b"retry: 1000\n\n")
            while True:
                try:
                    async with asyncio.timeout(_HEARTBEAT):
                        change = await queue.get()
                except TimeoutError:
                    await response.write(b": still here\n\n")
                    continue
                if change is None:
                    return response
                await response.write(f"data: {json.dumps(change)}\n\n".encode())
        except ConnectionError:
            return response  # the tab was closed
        finally:
            self._workspace.bus.leave(queue)


def _serve(path: Path) -> web.Response:
    return web.Response(body=path.read_bytes(), content_type=_TYPES[path.suffix], charset="utf-8")
