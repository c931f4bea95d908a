"""A tap on a transport: reads each message before the SDK does, mends what it would lose whole, and says what it left out.

Stands between `transports` (bytes) and the SDK's Client. Refuses to know reconnection, catalogues and calls. The SDK validates
a whole answer at once, so that one bad tool loses a listing and one unknown block loses a result; it takes an answer to "7" for
one to 7, and a line that it can't read for no line at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import anyio
from mcp import types
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR
from mcp_types import methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from host.replies import MARK, MAX_BLOCKS, TOO_MANY, Mark, Unreadable, outside_reference
from host.types import Json

LISTEN = "subscriptions/listen"
LISTINGS = {"tools/list": "tools", "resources/list": "resources"}
#: A page of a listing is validated one by one: its further items are left out.
MAX_LISTED = 1_000
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
Item = SessionMessage | Exception
Streams = tuple["TapReader", "TapWriter"]


@dataclass(slots=True)
class Tap:
    """An MCP transport around another. `dropped` holds what the last listing lost, by name; `ended` is called at its end.

    `numbers`, where given, replaces the SDK's ids: a client that lives for one request would give each the same (spec H4).
    """

    inner: AbstractAsyncContextManager[tuple[object, object]]
    ended: Callable[[], None] = lambda: None
    numbers: Iterator[int] | None = None
    dropped: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    #: Messages that could not be read and answered nothing, and calls that were given up and may still be worked on.
    unreadable: int = 0
    abandoned: set[types.RequestId] = field(default_factory=set)
    version: str = LATEST_HANDSHAKE_VERSION
    waiting: deque[Item] = field(default_factory=deque)
    #: Requests without an answer: the id on the wire → the SDK's own, the method, and who follows it.
    _open: dict[types.RequestId, tuple[types.RequestId, str, Mark | None]] = field(default_factory=dict)

    async def __aenter__(self) -> Streams:
        read, write = await self.inner.__aenter__()
        return TapReader(read, self), TapWriter(write, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, trace)

    def begin_listing(self) -> None:
        self.dropped, self.listed = {}, []

    # Out

    def out(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._give_up(message)
        if not isinstance(message, types.JSONRPCRequest):
            return
        number = message.id if self.numbers is None or isinstance(message.id, str) else next(self.numbers)
        mark = MARK.get()
        if mark is not None and mark.method == message.method:
            mark.sent, mark.status, mark.answered = True, None, False
        else:
            mark = None
        self._open[number] = (message.id, message.method, mark)
        message.id = number
        meta = (message.params or {}).get("_meta") or {}
        self.version = meta.get(_VERSION_KEY, self.version)

    def _give_up(self, message: types.JSONRPCNotification) -> None:
        given = (message.params or {}).get("requestId")
        for number, (known, method, _mark) in list(self._open.items()):
            if known == given:
                message.params = {**(message.params or {}), "requestId": number}
                del self._open[number]
                if method == "tools/call":
                    self.abandoned.add(number)

    # Back

    def back(self, item: Item) -> Item | None:
        """What the SDK may see of it; None when it answers nothing that is open: another id, another type, a second time."""
        if isinstance(item, Unreadable):
            return self._unread(item)
        if isinstance(item, Exception) or not isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            return item
        number = item.message.id
        if number is None or number not in self._open:
            self.abandoned.discard(number or "")
            return None
        item.message.id, method, mark = self._open.pop(number)
        if isinstance(item.message, types.JSONRPCError):
            if mark is not None:
                mark.answered = True
        elif method == "tools/call" and _parts(item.message.result) > MAX_BLOCKS:
            return SessionMessage(_unread_answer(item.message.id, TOO_MANY))
        else:
            item.message.result = self._mended(method, item.message.result)
        return item

    def _unread(self, item: Unreadable) -> Item | None:
        """Fails the request that an unreadable message answers. An over-long one that names none fails all that are open: one of
        them will never be answered. Anything else is noise on the line."""
        if item.request_id in self._open:
            numbers: list[types.RequestId] = [item.request_id]
        else:
            numbers = [number for number, (_id, method, _mark) in self._open.items() if item.too_long and method != LISTEN]
        for number in numbers:
            identity, _method, _mark = self._open.pop(number)
            self.waiting.append(SessionMessage(_unread_answer(identity, str(item))))
        self.unreadable += not numbers
        return self.waiting.popleft() if self.waiting else None

    def _mended(self, method: str, result: dict[str, Json]) -> dict[str, Json]:
        if self.version in MODERN_PROTOCOL_VERSIONS:
            result = {"resultType": "complete", **result}  # the specification's default, which the SDK does not fill in
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
        if len(items) > MAX_LISTED:
            self.dropped[f"#{MAX_LISTED + 1:,} and further"] = f"a page of its list holds {len(items):,}"
        for number, item in enumerate(items[:MAX_LISTED]):
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


def _unread_answer(identity: types.RequestId, words: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identity, error=types.ErrorData(code=PARSE_ERROR, message=words))


def _parts(result: dict[str, Json]) -> int:
    content = result.get("content")
    return len(content) if isinstance(content, list) else 0


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
        while True:
            if self._tap.waiting:
                return self._tap.waiting.popleft()
            if (item := self._tap.back(await self._inner.receive())) is not None:  # type: ignore[attr-defined]
                return item

    async def aclose(self) -> None:
        await self._inner.aclose()  # type: ignore[attr-defined]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            self._tap.ended()
            raise StopAsyncIteration from None
        except anyio.ClosedResourceError:
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
