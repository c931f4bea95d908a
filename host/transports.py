"""How bytes reach a server: a stdio child, an HTTP client per token, and a tap that reads each message before the SDK does.

Stands under `sessions`. Refuses to know reconnection, catalogues and calls. The SDK validates a whole answer at once, so that
one bad tool loses a listing and one unknown block loses a result; the tap mends such answers first and says what it left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TextIO

import anyio
import httpx2
from mcp import StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage
from mcp_types import methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import TypeAdapter, ValidationError

from host.config import OAuthConfig, ServerConfig
from host.errors import Unavailable
from host.replies import CONNECT, MARK, outside_reference
from host.types import Json

LISTINGS = {"tools/list": "tools", "resources/list": "resources"}
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
Item = SessionMessage | Exception
Streams = tuple["TapReader", "TapWriter"]


@dataclass(slots=True)
class Tap:
    """An MCP transport around another. `dropped` holds what the last listing lost, by name; `ended` is called at its end."""

    inner: AbstractAsyncContextManager[tuple[object, object]]
    ended: Callable[[], None] = lambda: None
    dropped: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    heard: int = 0
    version: str = LATEST_HANDSHAKE_VERSION
    _methods: dict[str | int, str] = field(default_factory=dict)

    async def __aenter__(self) -> Streams:
        read, write = await self.inner.__aenter__()
        return TapReader(read, self), TapWriter(write, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, trace)

    def begin_listing(self) -> None:
        self.dropped, self.listed = {}, []

    def out(self, item: SessionMessage) -> None:
        message = item.message
        if not isinstance(message, types.JSONRPCRequest):
            return
        self._methods[message.id] = message.method
        meta = (message.params or {}).get("_meta") or {}
        self.version = meta.get(_VERSION_KEY, self.version)
        mark = MARK.get()
        if mark is not None and mark.method == message.method:
            mark.sent = True

    def back(self, item: Item) -> Item:
        self.heard += 1
        if isinstance(item, Exception) or not isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            return item
        method = self._methods.pop(item.message.id, "") if item.message.id is not None else ""
        if isinstance(item.message, types.JSONRPCResponse):
            item.message.result = self._mended(method, item.message.result)
        return item

    def _mended(self, method: str, result: dict[str, Json]) -> dict[str, Json]:
        if method == "initialize":
            self.version = str(result.get("protocolVersion", self.version))
        elif method in LISTINGS:
            return self._mended_listing(method, LISTINGS[method], result)
        elif method == "tools/call":
            return mended_result(result)
        return result

    def _mended_listing(self, method: str, key: str, result: dict[str, Json]) -> dict[str, Json]:
        items = result.get(key)
        if not isinstance(items, list):
            return result
        kept = []
        for number, item in enumerate(items):
            if why := self._wrong(method, {**result, key: [item]}, item):
                name = item.get("name") if isinstance(item, dict) else None
                self.dropped[name if isinstance(name, str) else f"#{number + 1}"] = why
            else:
                kept.append(item)
                self.listed.append(str(item["name"]))
        return {**result, key: kept}

    def _wrong(self, method: str, alone: dict[str, Json], item: Json) -> str:
        try:
            with suppress(KeyError):
                methods.validate_server_result(method, self.version, alone)
            if method == "tools/list":
                types.Tool.model_validate(item, by_name=False)
        except ValidationError as error:
            places = {".".join(str(part) for part in entry["loc"] if not str(part).isdigit()) for entry in error.errors()}
            return f"its definition is not valid ({', '.join(sorted(places)[:3])})"
        if method == "tools/list" and outside_reference({key: item.get(key) for key in ("inputSchema", "outputSchema")}):
            return "its schema refers to another document"
        return ""


def mended_result(result: dict[str, Json]) -> dict[str, Json]:
    """A tool's result with every content block of a kind we don't know replaced by a word about it."""
    if result.get("resultType") == "input_required":
        return result
    if result.get("content") is None and "structuredContent" in result:
        return {**result, "content": []}
    content = result.get("content")
    if not isinstance(content, list):
        return result
    return {**result, "content": [_mended_block(block) for block in content]}


def _mended_block(block: Json) -> Json:
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        kind = block.get("type") if isinstance(block, dict) else None
        return {"type": "text", "text": f"[a part of kind {str(kind)[:40]!r} that can't be shown]"}
    return block


class TapReader:
    def __init__(self, inner: object, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        return self._tap.back(await self._inner.receive())  # type: ignore[attr-defined]

    async def aclose(self) -> None:
        await self._inner.aclose()  # type: ignore[attr-defined]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        try:
            return self._tap.back(await self._inner.__anext__())  # type: ignore[attr-defined]
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._tap.ended()
            raise

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()  # type: ignore[attr-defined]
        return self

    async def __aexit__(self, *raised: object) -> bool | None:
        return await self._inner.__aexit__(*raised)  # type: ignore[attr-defined,no-any-return]


class TapWriter:
    def __init__(self, inner: object, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    async def send(self, item: SessionMessage, /) -> None:
        self._tap.out(item)  # before the send: one that is interrupted may still have arrived
        await self._inner.send(item)  # type: ignore[attr-defined]

    async def aclose(self) -> None:
        await self._inner.aclose()  # type: ignore[attr-defined]

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()  # type: ignore[attr-defined]
        return self

    async def __aexit__(self, *raised: object) -> bool | None:
        return await self._inner.__aexit__(*raised)  # type: ignore[attr-defined,no-any-return]


# stdio


@dataclass(slots=True)
class LastWords:
    """The end of a child's standard error, for the words about a server that stopped at once. Never logged (spec H16)."""

    text: str = ""

    async def drain(self, descriptor: int) -> None:
        while True:
            await anyio.wait_readable(descriptor)
            data = os.read(descriptor, 65536)
            if not data:
                return
            self.text = (self.text + data.decode(errors="replace"))[-2000:]

    def line(self) -> str:
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


@asynccontextmanager
async def stdio(config: ServerConfig, words: LastWords) -> AsyncIterator[tuple[object, object]]:
    """A child process with its standard error drained, so that it can neither block nor reach our own output."""
    command, *arguments = config.command
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(config.env))
    with _pipe() as (reading, writing):
        async with anyio.create_task_group() as tasks, stdio_client(parameters, errlog=writing) as streams:
            writing.close()
            tasks.start_soon(words.drain, reading)
            yield streams
            tasks.cancel_scope.cancel()


@contextmanager
def _pipe() -> Iterator[tuple[int, TextIO]]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    file = os.fdopen(writing, "w")
    try:
        yield reading, file
    finally:
        file.close()
        os.close(reading)


# HTTP


async def _note_status(response: httpx2.Response) -> None:
    mark = MARK.get()
    if mark is not None and (mark.sent or mark.method == CONNECT):
        mark.status = response.status_code


@dataclass(slots=True)
class HttpClients:
    """One HTTP client per token, closed together. Its read timeout only stands behind each call's own, which is shorter."""

    _clients: dict[str, httpx2.AsyncClient] = field(default_factory=dict)

    def get(self, token: str) -> httpx2.AsyncClient:
        if token not in self._clients:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            timeout = httpx2.Timeout(connect=10.0, read=3600.0, write=60.0, pool=10.0)
            self._clients[token] = httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [_note_status]})
        return self._clients[token]

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


@dataclass(slots=True)
class Tokens:
    """Which token acts for whom (spec H3). Files are read at each use, so that a changed token needs no restart."""

    prefix: str
    config: ServerConfig
    _oauth: tuple[str, float] = ("", 0.0)

    async def token(self, subject: str) -> str:
        """Raises Unavailable when the configured place holds no token: never falls back to another person's."""
        if self.config.staff_tokens_file:
            staff = await self._staff()
            if subject in staff:
                return staff[subject]
            if subject != "service":
                raise Unavailable(f"{self.prefix} has no token for {subject}; add it to {self.config.staff_tokens_file}")
        if self.config.oauth is not None:
            return await self._fetched(self.config.oauth)
        if self.config.token_env:
            return self._from_environment(self.config.token_env)
        if self.config.token_file:
            return (await self._read(self.config.token_file)).strip()
        return ""

    def _from_environment(self, name: str) -> str:
        value = os.environ.get(name, "")
        if not value:
            raise Unavailable(f"{self.prefix} has no token; set {name}")
        return value

    async def _read(self, path: str) -> str:
        try:
            return await anyio.Path(path).read_text()
        except OSError as error:
            raise Unavailable(f"{self.prefix} has no token; {path} can't be read ({type(error).__name__})") from None

    async def _staff(self) -> Mapping[str, str]:
        try:
            held = json.loads(await self._read(self.config.staff_tokens_file))
        except ValueError:
            held = None
        if not isinstance(held, dict) or not all(isinstance(value, str) for value in held.values()):
            raise Unavailable(f'{self.config.staff_tokens_file} must be a JSON object like {{"staff-0007": "token"}}')
        return held

    async def _fetched(self, oauth: OAuthConfig) -> str:
        token, until = self._oauth
        if token and anyio.current_time() < until:
            return token
        form = {"grant_type": "client_credentials", **({"scope": oauth.scope} if oauth.scope else {})}
        login = httpx2.BasicAuth(oauth.client_id, self._from_environment(oauth.secret_env))
        try:
            async with httpx2.AsyncClient(timeout=10.0) as client:
                response = await client.post(oauth.token_url, data=form, auth=login)
                response.raise_for_status()
                answer = response.json()
                token = str(answer["access_token"])
                life = float(answer.get("expires_in", 300))
        except (httpx2.HTTPError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise Unavailable(f"{self.prefix}: no token from {oauth.token_url} ({type(error).__name__})") from None
        self._oauth = (token, anyio.current_time() + max(life - 60, life / 2))
        return token
