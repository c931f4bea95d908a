"""The world around the channel, for the page: the customer's side (shop and mail), the shop's books, and the supervisor's panel.

Talks to the shop and the supervisor over HTTP only, and only to the addresses it was started with.
"""

import json
import logging
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from servers.workspace.settings import Json, Settings

log = logging.getLogger(__name__)
_TIMEOUT = aiohttp.ClientTimeout(total=8)
_SUPERVISOR_TIMEOUT = aiohttp.ClientTimeout(total=60)
_MOST_MAILS = 200
_INTAKE_FIELDS = ("id", "customer_id", "sender_verified", "subject", "body", "received_at", "due_at", "language")


class Outside:
    """Routes under /page/ that look beyond the workspace. What was not configured answers with a line that says so."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def routes(self) -> list[web.RouteDef]:
        """All routes."""
        return [
            web.get("/page/inbox", self._inbox),
            web.get("/page/customers", self._customers),
            web.get("/page/refunds", self._refunds),
            web.post("/page/ticket", self._ticket),
            web.get("/page/supervisor", self._status),
            web.post("/page/kill-bot", self._kill),
            web.post("/page/reset-everything", self._reset),
        ]

    async def _inbox(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {"ok": True, "configured": self._settings.mail is not None, "mails": read_mails(self._settings.mail)}
        )

    async def _customers(self, _request: web.Request) -> web.Response:
        return await self._shop_list("customers")

    async def _refunds(self, _request: web.Request) -> web.Response:
        return await self._shop_list("refunds")

    async def _shop_list(self, name: str) -> web.Response:
        if self._settings.shop is None:
            return _problem("no shop is connected; start the workspace with --shop URL")
        status, body = await _ask("GET", f"{self._settings.shop.rstrip('/')}/{name}")
        if status != 200:
            return _problem(f"the shop does not answer at {self._settings.shop}: {_reason(body)}")
        items = body if isinstance(body, list) else body.get(name, []) if isinstance(body, dict) else []
        return web.json_response({"ok": True, name: items})

    async def _ticket(self, request: web.Request) -> web.Response:
        if self._settings.shop is None or self._settings.customer_intake is None:
            return _problem("writing a ticket needs --shop URL and --customer-intake FILE.jsonl")
        order = await request.json()
        sender = {"name": str(order.get("name", "")), "email": str(order.get("email", ""))}
        words = {name: str(order.get(name, "")).strip() for name in ("subject", "body")}
        letter = {"from": sender, **sender, **words, "language": str(order.get("language") or "en")}
        if not (words["subject"] and words["body"] and sender["email"]):
            return _problem("a ticket needs a sender, a subject and some text")
        status, ticket = await _ask("POST", f"{self._settings.shop.rstrip('/')}/tickets", letter)
        if status not in (200, 201) or not isinstance(ticket, dict):
            return _problem(f"the shop did not take the ticket: {_reason(ticket)}")
        ticket = ticket.get("ticket", ticket)
        line = {name: ticket[name] for name in _INTAKE_FIELDS if name in ticket}
        _append(self._settings.customer_intake, {**line, "from": sender})
        return web.json_response({"ok": True, "ticket": ticket})

    async def _status(self, _request: web.Request) -> web.Response:
        if self._settings.supervisor is None:
            return web.json_response({"ok": True, "configured": False})
        status, body = await _ask("GET", f"{self._settings.supervisor.rstrip('/')}/status")
        if status != 200:
            return web.json_response({"ok": True, "configured": True, "problem": "the supervisor does not answer"})
        return web.json_response({"ok": True, "configured": True, "status": body})

    async def _kill(self, _request: web.Request) -> web.Response:
        return await self._order("kill-bot")

    async def _reset(self, _request: web.Request) -> web.Response:
        return await self._order("reset")

    async def _order(self, name: str) -> web.Response:
        if self._settings.supervisor is None:
            return _problem("no supervisor is connected; start the workspace with --supervisor URL")
        status, body = await _ask("POST", f"{self._settings.supervisor.rstrip('/')}/{name}", {}, _SUPERVISOR_TIMEOUT)
        if status not in (200, 202, 204):
            return _problem(f"the supervisor refused: {_reason(body)}")
        return web.json_response({"ok": True})


def read_mails(folder: Path | None) -> list[Json]:
    """Sent replies, one JSON file each, newest first; a file that is not one (or not whole yet) is left out."""
    mails: list[Json] = []
    for path in folder.glob("*.json") if folder and folder.is_dir() else ():
        try:
            mail = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(mail, dict):
            mails.append(mail)
    mails.sort(key=lambda mail: (str(mail.get("sent_at", "")), str(mail.get("receipt", ""))), reverse=True)
    return mails[:_MOST_MAILS]


def mail_stamp(folder: Path | None) -> tuple[object, ...]:
    """Changes whenever the folder's mails do."""
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sorted((path.name, path.stat().st_mtime_ns) for path in folder.glob("*.json")))


async def _ask(method: str, url: str, body: Json | None = None, timeout: aiohttp.ClientTimeout = _TIMEOUT) -> tuple[int, Any]:
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, url, json=body, allow_redirects=False) as response,
        ):
            text = await response.text()
            return response.status, json.loads(text) if text else {}
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        log.warning("%s %s: %s", method, url, type(error).__name__)
        return 0, {"detail": type(error).__name__}


def _append(path: Path, line: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _reason(body: object) -> str:
    if isinstance(body, dict):
        return str(body.get("detail") or body.get("error") or body.get("message") or "no reason given")
    return "no reason given"


def _problem(words: str) -> web.Response:
    return web.json_response({"ok": False, "error": "unavailable", "detail": words})
