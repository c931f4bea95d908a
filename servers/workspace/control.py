"""The control API under /control/ (JSON): a test or the page acts as any person, looks at everything, waits, orders faults."""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace

from aiohttp import web

from servers.workspace.acting import Acting
from servers.workspace.blocks import interactive
from servers.workspace.errors import ControlError
from servers.workspace.faults import BadFault, Faults, parse
from servers.workspace.forms import BadValue
from servers.workspace.settings import Json
from servers.workspace.socketmode import SocketMode
from servers.workspace.tickets import Tickets
from servers.workspace.webapi.server import WebApi
from servers.workspace.workspace import Workspace, public

log = logging.getLogger(__name__)
_MOST_WAIT = 120.0
Order = Callable[[Json], Awaitable[Json]]


@dataclass(frozen=True)
class Control:
    """The routes, over everything the server is made of."""

    workspace: Workspace
    tickets: Tickets
    faults: Faults
    socket: SocketMode
    api: WebApi
    acting: Acting

    def routes(self) -> list[web.RouteDef]:
        """All routes under /control/."""
        acting = self.acting
        orders: dict[str, Order] = {
            "click": acting.click,
            "submit": acting.submit,
            "close": acting.close,
            "slash": acting.slash,
            "shortcut": acting.shortcut,
            "message": _at_once(acting.say),
            "delete": _at_once(acting.delete),
            "home": _at_once(acting.open_home),
            "reload": _at_once(acting.reload),
            "wait": self._wait,
            "fault": self._fault,
            "disconnect": self._disconnect,
            "settings": self._settings,
            "reset": self._reset,
        }
        posts = [web.post(f"/control/{name}", _handler(order)) for name, order in orders.items()]
        return [*posts, web.get("/control/state", self._state), web.get("/control/modals", self._modals)]

    def everything(self) -> Json:
        """The whole state, as the page and `GET /control/state` show it."""
        space = self.workspace
        return {
            "channels": {c["id"]: {**c, "messages": self._messages(c["id"])} for c in space.channels.values()},
            "pins": space.pins,
            "ephemerals": list(space.ephemerals.values()),
            "modals": {user_id: [public(view) for view in space.stack(user_id)] for user_id in space.seed.people},
            "homes": {user_id: public(view) for user_id, view in space.homes.items()},
            "notices": space.notices,
            "envelopes": [envelope.shown() for envelope in self.socket.envelopes],
            "calls": list(self.api.calls),
            "connections": self.socket.connected,
            "faults": [asdict(fault) for fault in self.faults.open()],
        }

    def _messages(self, channel_id: str) -> list[Json]:
        stored = sorted(self.workspace.messages.get(channel_id, {}).values(), key=lambda message: str(message["ts"]))
        return [{**message, **self.workspace.wire(message, metadata=True)} for message in stored]

    async def _state(self, _request: web.Request) -> web.Response:
        return web.json_response({"ok": True, **self.everything()})

    async def _modals(self, request: web.Request) -> web.Response:
        user_id = self.acting.person({"user": request.query.get("user", "")})
        return web.json_response({"ok": True, "modals": [public(view) for view in self.workspace.stack(user_id)]})

    async def _wait(self, order: Json) -> Json:
        looks = {"message": self._find_message, "ephemeral": self._find_ephemeral, "modal": self._find_modal}
        looks |= {"envelope": self._find_envelope, "connected": self._find_connected, "notice": self._find_notice}
        look = looks.get(str(order.get("what", "message")))
        if look is None:
            raise ControlError("bad_wait", f"what must be one of {', '.join(looks)}")
        seconds = min(float(order.get("timeout", 10)), _MOST_WAIT)
        if order.get("gone"):
            gone = await self.workspace.bus.wait_for(lambda: None if look(order) else {"gone": True}, seconds)
            return {"ok": True, **gone} if gone else _timeout(order, seconds)
        found = await self.workspace.bus.wait_for(lambda: look(order), seconds)
        return {"ok": True, **found} if found else _timeout(order, seconds)

    def _find_message(self, order: Json) -> Json | None:
        for channel_id, messages in self.workspace.messages.items():
            if order.get("channel") in (None, channel_id):
                for message in sorted(messages.values(), key=lambda m: str(m["ts"]), reverse=not order.get("first")):
                    if _matches(message, order):
                        return {"message": {**self.workspace.wire(message, metadata=True), "channel": channel_id}}
        return None

    def _find_ephemeral(self, order: Json) -> Json | None:
        for message in reversed(self.workspace.ephemerals.values()):
            if order.get("user") in (None, message["to"]) and _matches(message, {**order, "user": None}):
                return {"message": message}
        return None

    def _find_modal(self, order: Json) -> Json | None:
        stack = self.workspace.stack(self.acting.person(order))
        for view in reversed(stack):
            if order.get("callback_id") in (None, view["callback_id"]) and _matches(view, {**order, "user": None}):
                return {"view": public(view)}
        return None

    def _find_envelope(self, order: Json) -> Json | None:
        for envelope in reversed(self.socket.envelopes):
            if order.get("state") in (None, envelope.state) and str(order.get("text", "")) in envelope.summary:
                return {"envelope": envelope.shown()}
        return None

    def _find_connected(self, order: Json) -> Json | None:
        enough = self.socket.connected >= int(order.get("n", 1))
        return {"connections": self.socket.connected} if enough else None

    def _find_notice(self, order: Json) -> Json | None:
        for notice in reversed(self.workspace.notices):
            if order.get("user") in (None, notice["user"]) and str(order.get("text", "")) in notice["text"]:
                return {"notice": notice}
        return None

    async def _fault(self, order: Json) -> Json:
        self.faults.order(parse(order))
        return {"ok": True, "open": [asdict(fault) for fault in self.faults.open()]}

    async def _disconnect(self, order: Json) -> Json:
        return {"ok": True, "connections": await self.socket.disconnect(str(order.get("reason", "refresh_requested")))}

    async def _settings(self, order: Json) -> Json:
        """Change waits while running: trigger_seconds, ack_seconds, retry_delays, bot_events."""
        names = {"trigger_seconds", "ack_seconds", "retry_delays", "bot_events"}
        if unknown := set(order) - names:
            raise ControlError("bad_setting", f"{', '.join(sorted(unknown))} cannot be set; there is {', '.join(sorted(names))}")
        if "trigger_seconds" in order:
            self.tickets.trigger_seconds = float(order["trigger_seconds"])
        if "ack_seconds" in order:
            self.socket.ack_seconds = float(order["ack_seconds"])
        if "retry_delays" in order:
            self.socket.retry_delays = tuple(float(delay) for delay in order["retry_delays"])
        if "bot_events" in order:
            self.workspace.seed = replace(self.workspace.seed, bot_events=frozenset(order["bot_events"]))
        return {"ok": True}

    async def _reset(self, _order: Json) -> Json:
        self.faults.clear()
        self.tickets.forget()
        self.socket.envelopes.clear()
        self.api.calls.clear()
        self.workspace.reset()
        return {"ok": True}


def _at_once(act: Callable[[Json], Json]) -> Order:
    async def order(body: Json) -> Json:
        return act(body)

    return order


def _handler(order: Order) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.text() or "{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return web.json_response({"ok": False, "error": "bad_json", "detail": "send one JSON object"}, status=400)
        return web.json_response(await order(body))

    return handle


@web.middleware
async def in_words(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """Turns an order that cannot be carried out into an answer with one line of words."""
    if not request.path.startswith(("/control/", "/page/")):
        return await handler(request)
    try:
        return await handler(request)
    except ControlError as error:
        return web.json_response(error.answer)
    except BadFault as error:
        return web.json_response({"ok": False, "error": "bad_fault", "detail": str(error)}, status=400)
    except BadValue as error:
        return web.json_response({"ok": False, "error": "bad_value", "detail": str(error)})
    except (TypeError, ValueError) as error:
        log.warning("%s: %s", request.path, error)
        return web.json_response(
            {"ok": False, "error": "bad_value", "detail": f"a field has the wrong type: {error}"}, status=400
        )


def _timeout(order: Json, seconds: float) -> Json:
    return {"ok": False, "error": "timeout", "detail": f"nothing matched within {seconds:g} s: {json.dumps(order)}"}


def _matches(thing: Json, order: Json) -> bool:
    """Whether a message or view has all that an order names: text, metadata, action_id, ts, thread_ts, user."""
    if order.get("user") not in (None, thing.get("user")):
        return False
    if order.get("ts") not in (None, thing.get("ts")):
        return False
    if order.get("thread_ts") not in (None, thing.get("thread_ts")):
        return False
    if order.get("text") and order["text"] not in shown_text(thing):
        return False
    if order.get("action_id"):
        ids = [element.get("action_id") for _, element in interactive(thing.get("blocks") or [])]
        if order["action_id"] not in ids:
            return False
    return _contains(thing.get("metadata") or {}, order.get("metadata") or {})


def _contains(whole: Json, part: Json) -> bool:
    for key, value in part.items():
        held = whole.get(key)
        if isinstance(value, dict) and isinstance(held, dict):
            if not _contains(held, value):
                return False
        elif held != value:
            return False
    return True


def shown_text(thing: object) -> str:
    """All text of a message, view or block, in order, one line each."""
    if isinstance(thing, list):
        return "\n".join(filter(None, (shown_text(item) for item in thing)))
    if not isinstance(thing, dict):
        return ""
    parts = [thing["text"]] if isinstance(thing.get("text"), str) else []
    parts += [shown_text(value) for key, value in thing.items() if key not in ("metadata", "state")]
    return "\n".join(filter(None, parts))
