"""One server's logical connection and the task that owns it: probe, memory, death, return (spec H1-H4).

Stands between `sessions` (all servers) and `transports` (bytes). Refuses to know other servers, pins and policies.

    down ──► connecting ──► connected ──► (lost) connecting …   a failed attempt goes down and is retried with back-off
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup
from mcp import Client, MCPError, types
from mcp.client.caching import CacheConfig, InMemoryResponseCacheStore
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import CONNECTION_CLOSED, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from host.config import ServerConfig
from host.errors import BadResult, Gone, ServerError, TimedOut, Unavailable
from host.replies import ANSWER, CONNECT, FOREIGN, MARK, MAX_TEXT, Mark, mapped, reply_of, root
from host.transports import HttpClients, LastWords, Tap, Tokens, stdio
from host.types import Json, ListedResource, ListedTool, ServerHealth, ServerReply

log = logging.getLogger(__name__)

CONNECT_SECONDS = 30.0
SHORT_LIFE, PROOF_SECONDS, LISTEN_SECONDS = 5.0, 3.0, 3.0
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
MAX_PAGES = 100
CONNECTING: tuple[type[Exception], ...] = (*FOREIGN, ServerError)
AUTO: dict[str, Any] = {"mode": "auto"}
PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
SERVICE_SUBJECT = "service"
T = TypeVar("T")
_ANSWER: TypeAdapter[ANSWER] = TypeAdapter(ANSWER)
_ME = types.Implementation(name="deskhand", version="0.1.0")

LegacyElicit = Callable[[str, Mapping[str, Json]], Awaitable[Mapping[str, Json]]]


class DiscoverMemory(Protocol):
    """What a probe learned, kept over restarts (spec H2). Implemented by `host.store`."""

    async def load_discovered(self, prefix: str, config_digest: str) -> str | None:
        """JSON of a DiscoverResult, or {"protocol": "2025-11-25", "claims": …} for a server of the older handshake."""
        ...

    async def save_discovered(self, prefix: str, config_digest: str, value: str | None) -> None:
        """None forgets."""
        ...


class Connection:
    """One server's logical connection and the task that owns it. A stdio server's Client lives in that task; an HTTP server
    gets a fresh Client for each request, since one transport error kills a whole Client, and the task only watches."""

    def __init__(self, prefix: str, config: ServerConfig, memory: DiscoverMemory, elicit: LegacyElicit) -> None:
        self.prefix, self.config = prefix, config
        self.generation = self.changes = 0
        self._memory, self._elicit_hook = memory, elicit
        self._digest = config_digest(config)
        self._state, self._why, self._claims, self._protocol = "down", "not started yet", "", ""
        self._restarts, self._words = 0, ""
        self._known: dict[str, Any] = {}  # mode and prior_discover of the current connection
        self._client: tuple[Client, Tap] | None = None
        self._met: tuple[int, tuple[ListedTool, ...]] | None = None  # the first listing, with `changes` as of then
        self._schemas: dict[str, Mapping[str, Json] | None] = {}
        self._mirrors_headers = False
        self._cache = InMemoryResponseCacheStore()
        self._http, self._tokens = HttpClients(), Tokens(prefix, config)
        self._started = False
        self._ended, self._turned, self._doubted = anyio.Event(), anyio.Event(), anyio.Event()
        self._stop, self._done = anyio.Event(), anyio.Event()

    @property
    def _stopping(self) -> bool:
        return self._stop.is_set()

    def health(self) -> ServerHealth:
        """For people alone: a server's last words are in no log and come before no model (spec H16)."""
        why = f"{self._why}; its last words: {self._words}" if self._words and not self._connected() else self._why
        return ServerHealth(self.prefix, self._state, why, self._claims, self._protocol, self._restarts)

    # The owner task

    def start(self, tasks: TaskGroup) -> None:
        if not self._started:
            self._started = True
            self._turn("connecting", "")
            tasks.start_soon(self._own)

    def stop(self) -> None:
        self._stop.set()
        self._ended.set()
        self._turned.set()

    async def stopped(self) -> None:
        if self._started:
            await self._done.wait()

    async def settled(self) -> None:
        """Waits until it is connected or down."""
        while self._state == "connecting" and not self._stopping:
            await self._turned.wait()

    async def _own(self) -> None:
        delay = 0.0
        try:
            while not self._stopping:
                began, before = anyio.current_time(), self.generation
                why = await self._attempt()
                met = self.generation > before
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
        words, before = LastWords(), self.generation
        for modes in (await self._modes(), AUTO):
            mark = Mark(CONNECT)
            MARK.set(mark)
            try:
                await self._hold(modes, words)
                return "its connection ended"
            except CONNECTING as error:
                failed = mapped(error, prefix=self.prefix, mark=mark)
                if modes is AUTO or self.generation > before or not _misled(error):
                    self._words = words.line()
                    return str(failed)
                await self._memory.save_discovered(self.prefix, self._digest, None)
                log.info(
                    "%s: what was known of it no longer holds (%s); it is asked anew", self.prefix, type(root(error)).__name__
                )
        return "it could not be asked anew"

    async def _modes(self) -> dict[str, Any]:
        kept = await self._memory.load_discovered(self.prefix, self._digest)
        try:
            if kept is None:
                return AUTO
            if "protocol" in json.loads(kept):
                return {"mode": "legacy"}
            prior = types.DiscoverResult.model_validate_json(kept, by_name=False)
            mutual = [version for version in MODERN_PROTOCOL_VERSIONS if version in prior.supported_versions]
            return {"mode": mutual[-1], "prior_discover": prior} if mutual else AUTO
        except (ValueError, TypeError):
            return AUTO

    async def _hold(self, modes: dict[str, Any], words: LastWords) -> None:
        self._ended, self._doubted = anyio.Event(), anyio.Event()
        if self._stopping:
            return
        opened = self._open_stdio(modes, words) if self.config.command else self._open_http(SERVICE_SUBJECT, modes, self._end)
        try:
            with anyio.fail_after(CONNECT_SECONDS) as scope:
                async with opened as (client, tap), anyio.create_task_group() as tasks:
                    heeded = anyio.Event()
                    tasks.start_soon(self._listen, client, heeded)
                    with anyio.move_on_after(LISTEN_SECONDS):
                        await heeded.wait()  # before the listing, so that no change falls in between
                    await self._meet(client, tap)
                    scope.deadline = float("inf")
                    self._client = (client, tap) if self.config.command else None
                    self._turn("connected", "")
                    tasks.start_soon(self._prove, client)
                    await self._ended.wait()
                    tasks.cancel_scope.cancel()
        finally:
            self._client = None
            self._end()

    async def _meet(self, client: Client, tap: Tap) -> None:
        """The first listing proves that the server is there; what it said of itself is remembered."""
        listed = await self._listing(client, tap)
        info = client.server_info
        claims = f"{info.name} {info.version}".strip() if info else ""
        discovered = client.session.discover_result
        self._protocol, self._claims = client.protocol_version, claims
        if discovered is not None:
            self._known = {"mode": client.protocol_version, "prior_discover": discovered}
            value = discovered.model_dump_json(by_alias=True)
        else:
            self._known = {"mode": "legacy"}
            value = json.dumps({"protocol": client.protocol_version, "claims": claims})
        await self._remember(value)
        self.generation += 1
        self.changes += 1
        self._met, self._words = (self.changes, listed), ""
        log.info("%s: connected, %s, %d tools listed", self.prefix, self._protocol, len(listed))

    async def _remember(self, value: str) -> None:
        """An older server that changed its name or version is forgotten, so that it is asked once more what it speaks."""
        kept = await self._memory.load_discovered(self.prefix, self._digest)
        if kept == value:
            return
        changed_legacy = kept is not None and self._known["mode"] == "legacy"
        await self._memory.save_discovered(self.prefix, self._digest, None if changed_legacy else value)

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
            log.info("%s: no word of changed tools (%s)", self.prefix, type(error).__name__)
        finally:
            heeded.set()

    async def _prove(self, client: Client) -> None:
        """After a call without any sign of life: a child that can't even list its tools is ended and started again."""
        while True:
            await self._doubted.wait()
            self._doubted = anyio.Event()
            try:
                with anyio.fail_after(PROOF_SECONDS):
                    await client.session.list_tools()
            except FOREIGN as error:
                log.info("%s: mute (%s); it is started again", self.prefix, type(root(error)).__name__)
                self._end()
                return

    def _end(self) -> None:
        self._ended.set()
        if self._connected():
            self._turn("connecting", "its connection ended")

    def _connected(self) -> bool:
        return self._state == "connected"

    def _turn(self, state: str, why: str) -> None:
        self._state, self._why = state, why
        turned, self._turned = self._turned, anyio.Event()
        turned.set()

    # Clients

    def _new_client(self, tap: Tap, modes: dict[str, Any], partition: str) -> Client:
        return Client(
            tap,
            client_info=_ME,
            elicitation_callback=self._elicit,
            message_handler=self._note,
            cache=CacheConfig(store=self._cache, partition=partition, target_id=self.prefix),
            read_timeout_seconds=CONNECT_SECONDS,
            **modes,
        )

    @asynccontextmanager
    async def _open_stdio(self, modes: dict[str, Any], words: LastWords) -> AsyncIterator[tuple[Client, Tap]]:
        tap = Tap(stdio(self.config, words), self._end)
        async with self._new_client(tap, modes, "stdio") as client:
            yield client, tap

    @asynccontextmanager
    async def _open_http(
        self, subject: str, modes: dict[str, Any], ended: Callable[[], None] = lambda: None
    ) -> AsyncIterator[tuple[Client, Tap]]:
        token = await self._tokens.token(subject)
        tap = Tap(streamable_http_client(self.config.url, http_client=self._http.get(token)), ended)
        async with self._new_client(tap, modes, sha256(token.encode()).hexdigest()) as client:
            yield client, tap

    @asynccontextmanager
    async def _using(self, subject: str) -> AsyncIterator[tuple[Client, Tap]]:
        """A connected client for one request. Waits for a connection that is being made; raises Unavailable when down."""
        await self.settled()
        if not self._connected():
            raise Unavailable(f"{self.prefix} is down: {self._why}")
        if self.config.command:
            if self._client is None:
                raise Unavailable(f"{self.prefix} has just gone away")
            yield self._client
        else:
            async with self._open_http(subject, self._known) as opened:
                yield opened

    async def _elicit(
        self,
        context: ClientRequestContext,  # noqa: ARG002  the SDK passes it by name
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        asked = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        return types.ElicitResult.model_validate(await self._elicit_hook(self.prefix, asked))

    async def _note(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changes += 1

    # Requests

    async def call(self, parameters: types.CallToolRequestParams, subject: str, timeout: float) -> ServerReply:
        async def send(client: Client, _tap: Tap) -> ANSWER:
            if self._mirrors_headers and self.config.url:
                await client.list_tools()  # through the cache: a fresh client learns Mcp-Param headers from a listing alone
            return await client.session.send_request(types.CallToolRequest(params=parameters), _ANSWER)

        result = await self._ask(send, Mark("tools/call"), timeout, subject, parameters.request_state is not None)
        return reply_of(result, prefix=self.prefix, output_schema=self._schemas.get(parameters.name))

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """The listing made while connecting is handed out once, if nothing changed since: what is met is what is pinned."""
        met, self._met = self._met, None
        if met is not None and met[0] == self.changes and self._connected():
            return met[1]
        return await self._ask(self._listing, Mark("tools/list"), CONNECT_SECONDS)

    async def list_resources(self) -> tuple[ListedResource, ...]:
        return await self._ask(_resources, Mark("resources/list"), CONNECT_SECONDS)

    async def read_resource(self, uri: str) -> str:
        async def read(client: Client, _tap: Tap) -> types.ReadResourceResult:
            return await client.read_resource(uri)

        result = await self._ask(read, Mark("resources/read"), self.config.timeout_seconds)
        texts = [content.text for content in result.contents if isinstance(content, types.TextResourceContents)]
        if not texts or sum(map(len, texts)) > MAX_TEXT:
            raise BadResult(f"{self.prefix}: {uri} holds no text, or more than {MAX_TEXT:,} characters")
        return "\n".join(texts)

    async def _listing(self, client: Client, tap: Tap) -> tuple[ListedTool, ...]:
        tap.begin_listing()
        kept: list[types.Tool] = []
        cursor: str | None = None
        for _page in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            kept += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        self._schemas = {tool.name: tool.output_schema for tool in kept}
        self._mirrors_headers = any("x-mcp-header" in json.dumps(tool.input_schema) for tool in kept)
        return (*map(_listed, kept), *_left_out(kept, tap))

    async def _ask(
        self,
        send: Callable[[Client, Tap], Awaitable[T]],
        mark: Mark,
        timeout: float,
        subject: str = SERVICE_SUBJECT,
        state_given: bool = False,
    ) -> T:
        """One request, bounded as a whole: the SDK's own clock starts only after the write. Raises ServerError alone."""
        got: list[T] = []
        heard = -1
        token = MARK.set(mark)
        try:
            with anyio.fail_after(timeout):
                async with self._using(subject) as (client, tap):
                    heard = tap.heard
                    got.append(await send(client, tap))
        except FOREIGN as error:
            if not got:  # with an answer in hand, a connection that closes badly is no matter
                failed = mapped(error, prefix=self.prefix, mark=mark, state_given=state_given)
                await self._after(failed, error, mark, heard)
                raise failed from None
        finally:
            MARK.reset(token)
        if not got:
            raise Gone(f"the connection to {self.prefix} was lost during the call")
        return got[0]

    async def _after(self, failed: ServerError, error: BaseException, mark: Mark, heard: int) -> None:
        """What a failure says about the connection: a mute child is ended, a lost HTTP server is looked for again."""
        cause = root(error)
        if isinstance(cause, MCPError) and cause.code == UNSUPPORTED_PROTOCOL_VERSION:
            await self._memory.save_discovered(self.prefix, self._digest, None)
            self._end()
        elif isinstance(failed, TimedOut) and self._client is not None and self._client[1].heard == heard:
            self._doubted.set()
        elif isinstance(failed, Gone | Unavailable) and mark.status is None and self.config.url:
            self._end()


def config_digest(config: ServerConfig) -> str:
    """Over what decides which server is met: a changed one is asked anew what it speaks (spec H2)."""
    reached = config.model_dump(mode="json", include={"command", "url", "env", "oauth", "token_env", "token_file"})
    return sha256(json.dumps(reached, sort_keys=True).encode()).hexdigest()


def _misled(error: BaseException) -> bool:
    """Whether a failure may come from a wrong memory of the server, rather than from its absence."""
    cause = root(error)
    if isinstance(cause, MCPError):
        return cause.code != CONNECTION_CLOSED
    return isinstance(cause, ValidationError | RuntimeError | TimeoutError)


def _listed(tool: types.Tool) -> ListedTool:
    whole = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    task = (whole.get("execution") or {}).get("taskSupport")
    dropped = "it can only run as a task, which is not supported" if task == "required" else ""
    return ListedTool(name=tool.name, definition={key: whole[key] for key in PINNED if key in whole}, dropped=dropped)


def _left_out(kept: list[types.Tool], tap: Tap) -> Iterator[ListedTool]:
    for name, why in tap.dropped.items():
        yield ListedTool(name=name, definition={}, dropped=why)
    names = {tool.name for tool in kept}
    for name in tap.listed:
        if name not in names:
            yield ListedTool(name=name, definition={}, dropped="its x-mcp-header mark is not valid")


async def _resources(client: Client, _tap: Tap) -> tuple[ListedResource, ...]:
    if client.server_capabilities.resources is None:
        return ()
    found: list[types.Resource] = []
    cursor: str | None = None
    for _page in range(MAX_PAGES):
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(_resource(resource) for resource in found)


def _resource(resource: types.Resource) -> ListedResource:
    notes = resource.annotations
    audience = tuple(notes.audience or ()) if notes else ()
    return ListedResource(uri=resource.uri, name=resource.name, audience=audience, priority=notes.priority if notes else None)
