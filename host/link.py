"""The task that owns one server's connection: how it is made, told dead, made again, and lent for a request (spec H1-H4).

Stands between `connection`, which asks over it, and `tap`, `transports` (messages, bytes). Refuses to know what is asked.

    down ──► connecting ──► connected ──► (lost) connecting …   a failed attempt goes down and is retried with back-off
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp import Client, MCPError, types
from mcp.client.caching import CacheConfig, InMemoryResponseCacheStore
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from host.config import ServerConfig
from host.errors import Gone, ServerError, TimedOut, Unavailable
from host.listings import Offer, offered
from host.midcall import CANCEL, Inbox, Patience
from host.probes import AUTO, DiscoverMemory, Known, config_digest, misled
from host.replies import CONNECT, FOREIGN, MARK, MAX_MESSAGE, Mark, mapped, root
from host.tap import Tap
from host.tokens import Tokens
from host.transports import HttpClients, LastWords, stdio
from host.types import SERVICE, ListedTool, ServerHealth

log = logging.getLogger(__name__)

CONNECT_SECONDS, START_SECONDS = 30.0, 5.0
SHORT_LIFE, PROOF_SECONDS, LISTEN_SECONDS = 5.0, 3.0, 3.0
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
MAX_CLAIMS = 200
CONNECTING: tuple[type[Exception], ...] = (*FOREIGN, ServerError)
_ME = types.Implementation(name="deskhand", version="0.1.0")


class Link:
    """One server's logical connection and the task that owns it. A stdio server's Client lives in that task; an HTTP server
    gets a fresh Client for each request, since one transport error kills a whole Client, and the task only watches."""

    def __init__(self, prefix: str, config: ServerConfig, memory: DiscoverMemory) -> None:
        self.prefix, self.config = prefix, config
        #: `process` is drawn anew with each child, 0 without one (spec H13); `changes` rises with every `list_changed` noted.
        self.process = self.changes = self._meetings = 0
        self._known = Known(prefix, memory, config_digest(config))
        self._state, self._why, self._claims, self._protocol = "down", "not started yet", "", ""
        self._restarts, self._words = 0, ""
        self._client: tuple[Client, Tap] | None = None
        self.offer = Offer()
        self._met: int | None = None  # `changes` as of the listing made while connecting, until it is handed out
        self._cache, self._numbers = InMemoryResponseCacheStore(), count(1)
        self._http, self._tokens = HttpClients(), Tokens(prefix, config)
        self._one, self._inbox = anyio.Lock(), None  # type: anyio.Lock, Inbox | None
        self._started, self._tells, self._hoped_until = False, False, 0.0
        self._ended, self._turned, self._doubted = anyio.Event(), anyio.Event(), anyio.Event()
        self._stop, self._done = anyio.Event(), anyio.Event()

    @property
    def _stopping(self) -> bool:
        return self._stop.is_set()

    def health(self) -> ServerHealth:
        """For people alone: a server's last words are in no log and come before no model (spec H16)."""
        why = f"{self._why}; its last words: {self._words}" if self._words and not self.connected else self._why
        return ServerHealth(self.prefix, self._state, why, self._claims, self._protocol, self._restarts)

    def asks_during_calls(self) -> bool:
        """Whether what was last connected speaks a protocol of the handshake, and so asks while a call is open (spec H15)."""
        return bool(self._protocol) and self._protocol not in MODERN_PROTOCOL_VERSIONS

    def tells_changes(self) -> bool:
        """Whether what is connected promised to tell of changed tools, and we hear it."""
        return self.connected and self._tells

    def first_listing(self) -> tuple[ListedTool, ...] | None:
        """The listing made while connecting, handed out once, if nothing changed since: what is met is what is pinned."""
        met, self._met = self._met, None
        return self.offer.tools if met == self.changes and self.connected else None

    def renewed_token(self, refused: str) -> bool:
        """Whether another token can be had in place of one that the server refused (spec H3)."""
        return self._tokens.renewed(refused)

    # The owner task

    def start(self, tasks: TaskGroup) -> None:
        if not self._started:
            self._started = True
            self._hope()
            self._turn("connecting", "it has not answered yet")
            tasks.start_soon(self._own)

    def stop(self) -> None:
        self._stop.set()
        self._ended.set()
        self._turned.set()

    async def stopped(self) -> None:
        if self._started:
            await self._done.wait()

    async def settled(self) -> None:
        """Waits until it is connected or down, while there is hope: a server that hangs holds up nobody for longer than one call
        may take (and no less than a program needs to start), counted from its start or its loss."""
        with anyio.CancelScope(deadline=self._hoped_until):
            while self._state == "connecting" and not self._stopping:
                await self._turned.wait()

    def _hope(self) -> None:
        self._hoped_until = anyio.current_time() + max(self.config.timeout_seconds, START_SECONDS)

    async def _own(self) -> None:
        delay = 0.0
        try:
            while not self._stopping:
                began, before = anyio.current_time(), self._meetings
                why = await self._attempt()
                met = self._meetings > before
                long = met and anyio.current_time() - began > SHORT_LIFE
                delay = 0.0 if long else min(max(2 * delay, FIRST_DELAY), LONGEST_DELAY)
                self._restarts += 1
                await self._pause(delay, why, quiet=met and delay <= FIRST_DELAY)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await self._http.aclose()
            self._turn("down", "stopped")
            self._done.set()

    async def _pause(self, delay: float, why: str, quiet: bool) -> None:
        """`quiet`: it has only just been lost and calls may wait for its return; else they fail at once with why."""
        if delay and not self._stopping:
            self._turn("connecting" if quiet else "down", why)
            log.info("%s: %s, tried again in %.1f s", self.prefix, "lost" if quiet else "down", delay)
            with anyio.move_on_after(delay):
                await self._stop.wait()
        self._turn("connecting", why)

    async def _attempt(self) -> str:
        """Holds the connection until it ends; says why it did. What is remembered of the server is dropped when it misleads."""
        words, before = LastWords(), self._meetings
        for modes in (await self._known.recalled(), AUTO):
            mark = Mark(CONNECT)
            MARK.set(mark)
            try:
                await self._hold(modes, words, mark)
                return "its connection ended"
            except CONNECTING as error:
                failed = mapped(error, prefix=self.prefix, mark=mark)
                if mark.status == 401:
                    self._tokens.renewed(mark.token)
                if modes is AUTO or self._meetings > before or not misled(error):
                    self._words = words.line()
                    return str(failed)
                await self._known.forget()
                kind = type(root(error)).__name__
                log.info("%s: what was known of it no longer holds (%s); it is asked anew", self.prefix, kind)
        return "it could not be asked anew"

    async def _hold(self, modes: dict[str, Any], words: LastWords, mark: Mark) -> None:
        self._ended, self._doubted = anyio.Event(), anyio.Event()
        if self._stopping:
            return
        if self.config.command:
            opened = self._open_stdio(modes, words)
        else:
            opened = self._open_http(SERVICE.subject, modes, mark, ended=self._end)
        try:
            with anyio.fail_after(CONNECT_SECONDS) as scope:
                async with opened as (client, tap), anyio.create_task_group() as tasks:
                    heeded, self._tells = anyio.Event(), True
                    tasks.start_soon(self._listen, client, heeded)
                    with anyio.move_on_after(LISTEN_SECONDS):
                        await heeded.wait()  # before the listing, so that no change falls in between
                    await self._meet(client, tap)
                    scope.deadline = float("inf")
                    if self.config.command:
                        self._client, self.process = (client, tap), secrets.randbits(48) or 1
                    self._turn("connected", "")
                    tasks.start_soon(self._prove, client)
                    await self._ended.wait()
                    tasks.cancel_scope.cancel()
        finally:
            self._end()
            self._client, self._inbox = None, None

    async def _meet(self, client: Client, tap: Tap) -> None:
        """The first listing proves that the server is there; what it said of itself is remembered."""
        self.offer = await offered(client, tap)
        info = client.server_info
        self._claims = f"{info.name} {info.version}".strip()[:MAX_CLAIMS] if info else ""
        self._protocol = client.protocol_version
        tools = client.server_capabilities.tools
        self._tells &= tools is not None and bool(tools.list_changed)
        await self._known.learn(client, self._claims)
        self._meetings += 1
        self.changes += 1
        self._met, self._words = self.changes, ""
        log.info("%s: connected, %s, %d tools listed", self.prefix, self._protocol, len(self.offer.tools))

    async def _listen(self, client: Client, heeded: anyio.Event) -> None:
        """Notes `list_changed` of a 2026 server; an older one pushes it to the message handler. `heeded` is set once it listens,
        or can't."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            heeded.set()
            return
        try:
            async with client.listen(tools_list_changed=True) as events:
                heeded.set()
                async for _event in events:
                    self.changes += 1
        except SubscriptionLost:
            self._end()
        except (MCPError, TimeoutError) as error:
            self._tells = False
            log.info("%s: no word of changed tools (%s)", self.prefix, type(error).__name__)
        finally:
            heeded.set()

    async def _prove(self, client: Client) -> None:
        """After a call that got no answer in time: a child that can't even list its tools is ended and started again."""
        while True:
            await self._doubted.wait()
            self._doubted = anyio.Event()
            try:
                with anyio.fail_after(PROOF_SECONDS):
                    await client.session.list_tools()
            except FOREIGN as error:
                if self._asking():
                    continue
                log.info("%s: mute (%s); it is started again", self.prefix, type(root(error)).__name__)
                self._end()
                return

    def _asking(self) -> bool:
        """While a person is asked, an older server may well hear nothing else: that is no sign of death."""
        return self._inbox is not None and self._inbox.open

    def _end(self) -> None:
        self._ended.set()
        self.process = 0
        if self.connected:
            self._hope()
            self._turn("connecting", "its connection ended")

    @property
    def connected(self) -> bool:
        return self._state == "connected"

    def _turn(self, state: str, why: str) -> None:
        self._state, self._why = state, why
        turned, self._turned = self._turned, anyio.Event()
        turned.set()

    # Clients

    @asynccontextmanager
    async def _open_stdio(self, modes: dict[str, Any], words: LastWords) -> AsyncIterator[tuple[Client, Tap]]:
        async def elicit(_context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
            return await _answer(self._inbox, params)

        tap = Tap(stdio(self.config, words), self._end, self._numbers)
        async with self._new_client(tap, modes, elicit, "stdio") as client:
            yield client, tap

    @asynccontextmanager
    async def _open_http(
        self,
        subject: str,
        modes: dict[str, Any],
        mark: Mark,
        inbox: Inbox | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[tuple[Client, Tap]]:
        async def elicit(_context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
            return await _answer(inbox, params)

        mark.settled = True  # without a token there is none the second time either
        mark.token = token = await self._tokens.token(subject)
        mark.settled = False
        async with self._http.using(self._tokens.principal(subject), token) as http:
            transport = streamable_http_client(self.config.url, http_client=http, max_sse_event_size=MAX_MESSAGE)
            tap = Tap(transport, ended, self._numbers)
            async with self._new_client(tap, modes, elicit, self._tokens.partition(token)) as client:
                yield client, tap

    def _new_client(self, tap: Tap, modes: dict[str, Any], elicit: Any, partition: str) -> Client:
        return Client(
            tap,
            client_info=_ME,
            elicitation_callback=elicit,
            message_handler=self._note,
            cache=CacheConfig(store=self._cache, partition=partition, target_id=self.prefix),
            read_timeout_seconds=CONNECT_SECONDS,
            **modes,
        )

    async def _note(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changes += 1

    @asynccontextmanager
    async def using(self, subject: str, mark: Mark, patience: Patience, inbox: Inbox | None) -> AsyncIterator[tuple[Client, Tap]]:
        """A connected client for one request. Waits for a connection that is being made; raises Unavailable when down."""
        await self._ready()
        async with AsyncExitStack() as stack:
            if self.config.url:
                yield await stack.enter_async_context(self._open_http(subject, self._known.modes, mark, inbox))
                return
            if mark.method == "tools/call" and self.asks_during_calls():
                await stack.enter_async_context(self._alone(mark, patience, inbox))
            if self._client is None:
                raise Unavailable(f"{self.prefix} has just gone away")
            yield self._client

    async def _ready(self) -> None:
        await self.settled()
        if not self.connected:
            state = "still connecting" if self._state == "connecting" else "down"
            raise Unavailable(f"{self.prefix} is {state}: {self._why}")

    @asynccontextmanager
    async def _alone(self, mark: Mark, patience: Patience, inbox: Inbox | None) -> AsyncIterator[None]:
        """One call at a time: nothing in a question of an older server on stdio says which call it belongs to (spec H15)."""
        with patience.paused():
            try:
                with anyio.fail_after(patience.seconds):
                    await self._one.acquire()
            except TimeoutError:
                open_ = "a question of an earlier call" if self._asking() else "an earlier call"
                mark.settled = True
                raise Unavailable(f"{self.prefix} is busy: {open_} is open") from None
        try:
            await self._ready()
            if inbox is not None and self._client is not None and self._client[1].abandoned:
                await self._renewed(patience)
            self._inbox = inbox
            yield
        finally:
            self._inbox = None
            self._one.release()

    async def _renewed(self, patience: Patience) -> None:
        """A call that was given up may still ask: its question would be taken for one of the next call, so that one gets a new
        connection."""
        log.info("%s: started again, a call that was given up might still ask", self.prefix)
        with patience.paused(), anyio.fail_after(CONNECT_SECONDS):
            self._end()
            await self._ready()

    async def heed(self, failed: ServerError, error: BaseException, mark: Mark) -> None:
        """What a failure says about the connection: a mute child is ended, a lost HTTP server is looked for again."""
        cause = root(error)
        if isinstance(cause, MCPError) and cause.code == UNSUPPORTED_PROTOCOL_VERSION:
            await self._known.forget()
            self._end()
        elif isinstance(failed, TimedOut) and not self._asking():
            self._doubted.set()
        elif isinstance(failed, Gone | Unavailable) and self.config.url and _unheard(cause, mark):
            self._end()


def _unheard(cause: BaseException, mark: Mark) -> bool:
    """Nothing came back over HTTP, and the request isn't one that was never sent for want of a token."""
    return mark.status is None and (mark.sent or isinstance(cause, httpx2.TransportError))


async def _answer(inbox: Inbox | None, params: types.ElicitRequestParams) -> types.ElicitResult:
    asked = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    return types.ElicitResult.model_validate(CANCEL if inbox is None else await inbox.put(asked))
