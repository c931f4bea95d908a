"""Socket Mode: hands each envelope to one of the app's connections and waits for its acknowledgement; knows no meanings."""

import asyncio
import itertools
import logging
import time
import uuid
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from servers.workspace.bus import Bus
from servers.workspace.faults import Faults
from servers.workspace.settings import Json, Seed, Settings
from servers.workspace.tickets import Tickets

log = logging.getLogger(__name__)
_MOST_CONNECTIONS, _KEEP, _LIFE = 10, 300, 3600


@dataclass
class Envelope:
    """One envelope and what became of it: waiting, acked, late, timeout, undelivered (no app is connected)."""

    kind: str
    payload: Json
    user_id: str
    summary: str
    accepts_response: bool
    attempt: int = 0
    envelope_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    sent_at: float = field(default_factory=time.time)
    state: str = "waiting"
    ms: int | None = None
    answer: Json | None = None
    acked: asyncio.Event = field(default_factory=asyncio.Event)

    def shown(self, with_payload: bool = True) -> Json:
        """The envelope for the inspector and the control API."""
        fields: Json = {"envelope_id": self.envelope_id, "type": self.kind, "user": self.user_id, "summary": self.summary}
        fields |= {"attempt": self.attempt, "sent_at": self.sent_at, "state": self.state, "ms": self.ms, "ack": self.answer}
        return {**fields, "payload": self.payload} if with_payload else fields

    def frame(self) -> Json:
        """What goes over the socket."""
        frame: Json = {"envelope_id": self.envelope_id, "type": self.kind, "payload": self.payload}
        frame["accepts_response_payload"] = self.accepts_response
        if self.kind == "events_api":
            frame |= {"retry_attempt": self.attempt, "retry_reason": "timeout" if self.attempt else ""}
        return frame


class SocketMode:
    """The app's connections (ten at most) and the latest envelopes."""

    def __init__(self, settings: Settings, seed: Seed, tickets: Tickets, faults: Faults, bus: Bus) -> None:
        self._seed, self._tickets, self._faults, self._bus = seed, tickets, faults, bus
        self.ack_seconds, self.retry_delays = settings.ack_seconds, settings.retry_delays
        self._connections: list[web.WebSocketResponse] = []
        self._turn = itertools.count()
        self.envelopes: deque[Envelope] = deque(maxlen=_KEEP)
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def connected(self) -> int:
        """How many connections the app holds."""
        return len(self._connections)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """`/link/`: one connection, from hello to its end."""
        if not self._tickets.use_socket(request.query.get("ticket", "")):
            return web.json_response({"ok": False, "error": "invalid_ticket"}, status=403)
        socket = web.WebSocketResponse(autoping=True, heartbeat=None)
        await socket.prepare(request)
        if self.connected >= _MOST_CONNECTIONS:
            await socket.send_json(_disconnect("too_many_websockets"))
            await socket.close()
            return socket
        self._connections.append(socket)
        self._bus.publish("connections", n=self.connected)
        try:
            await socket.send_json(self._hello())
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    self._acknowledge(frame.json())
        finally:
            self._connections.remove(socket)
            self._bus.publish("connections", n=self.connected)
        return socket

    async def deliver(
        self, kind: str, payload: Json, user_id: str, summary: str, accepts: bool = False, attempt: int = 0
    ) -> Envelope:
        """Send one envelope and wait for its acknowledgement, `ack_seconds` at most."""
        envelope = Envelope(kind, payload, user_id, summary, accepts, attempt)
        self.envelopes.append(envelope)
        if delay := self._faults.take(("delay_envelope",)):
            await asyncio.sleep(delay.seconds)
        lost = self._faults.take(("never_deliver",))
        sent = False if lost else await self._send(envelope)
        if self._faults.take(("duplicate_envelope",)):
            self._later(self.deliver(kind, payload, user_id, f"{summary} (duplicate)", accepts, attempt))
        if not sent and not lost:
            return self._settle(envelope, "undelivered")
        self._show(envelope)
        try:
            async with asyncio.timeout(self.ack_seconds):
                await envelope.acked.wait()
        except TimeoutError:
            return self._settle(envelope, "timeout")
        return envelope

    def deliver_event(self, payload: Json, user_id: str, summary: str) -> None:
        """Send an event in the background, with the platform's retries when nobody acknowledges."""
        self._later(self._with_retries(payload, user_id, summary))

    async def disconnect(self, reason: str) -> int:
        """Tell every connection to go away, or (`abrupt`) cut them; returns how many there were."""
        sockets = list(self._connections)
        for socket in sockets:
            if reason == "abrupt":
                _cut(socket)
                continue
            await socket.send_json(_disconnect(reason))
            if reason != "warning":
                await socket.close()
        return len(sockets)

    async def close(self) -> None:
        """End all connections and background deliveries."""
        for task in tuple(self._tasks):
            task.cancel()
        for socket in list(self._connections):
            await socket.close()

    async def _with_retries(self, payload: Json, user_id: str, summary: str) -> None:
        for attempt, delay in enumerate((0.0, *self.retry_delays)):
            await asyncio.sleep(delay)
            envelope = await self.deliver("events_api", payload, user_id, summary, attempt=attempt)
            if envelope.state == "acked":
                return

    async def _send(self, envelope: Envelope) -> bool:
        for _ in range(len(self._connections)):
            socket = self._connections[next(self._turn) % len(self._connections)]
            try:
                await socket.send_json(envelope.frame())
            except (ConnectionError, RuntimeError):
                continue  # it is closing; the next one may be alive
            return True
        return False

    def _acknowledge(self, frame: Json) -> None:
        for envelope in reversed(self.envelopes):
            if envelope.envelope_id == frame.get("envelope_id") and envelope.ms is None:
                envelope.ms = round((time.time() - envelope.sent_at) * 1000)
                envelope.answer = frame.get("payload") or {}
                self._settle(envelope, "acked" if envelope.state == "waiting" else "late")
                envelope.acked.set()
                return
        log.warning("acknowledgement of an unknown envelope")

    def _settle(self, envelope: Envelope, state: str) -> Envelope:
        envelope.state = state
        if state in ("timeout", "undelivered"):
            log.warning("%s not acknowledged: %s", envelope.summary, state)
        self._show(envelope)
        return envelope

    def _show(self, envelope: Envelope) -> None:
        self._bus.publish("envelope", envelope=envelope.shown())

    def _later(self, work: Coroutine[object, object, object]) -> None:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hello(self) -> Json:
        debug = {"host": "local", "started": None, "build_number": 1, "approximate_connection_time": _LIFE}
        info = {"app_id": self._seed.app["id"]}
        return {"type": "hello", "num_connections": self.connected, "connection_info": info, "debug_info": debug}


def _disconnect(reason: str) -> Json:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "local"}}


def _cut(socket: web.WebSocketResponse) -> None:
    request = socket._req  # aiohttp offers no public way to drop a connection without a closing frame
    if request and request.transport:
        request.transport.abort()
