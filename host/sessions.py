"""MCP servers as the host sees them: all connections, one call path (spec H1-H5, H12, H15).

Everything the host sends to a server leaves here; `dispatch` alone decides that it may. Refuses to know names as the model
sees them, policies, tickets and people. Behind it stands `connection`: one server, its owner task and what that is made of.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import anyio
from mcp import types
from pydantic import TypeAdapter

from host.config import ServerConfig
from host.connection import Connection
from host.errors import NotFound, Unavailable
from host.midcall import CANCEL, AskDuring
from host.probes import DiscoverMemory
from host.types import Json, ListedResource, ListedTool, ServerHealth, ServerReply

__all__ = ["CANCEL", "AskDuring", "DiscoverMemory", "Sessions"]

_RESPONSES: TypeAdapter[types.InputResponses] = TypeAdapter(types.InputResponses)
#: Libraries whose own log lines may hold messages, results or secrets (spec H16).
_TALKATIVE = ("mcp", "client", "httpx2", "httpcore2")
#: Made at the first request; they write headers, with cookies and session ids.
_MADE_LATE = tuple(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks"))


class Sessions:
    """All servers' connections; an async context manager."""

    def __init__(self, servers: Mapping[str, ServerConfig], memory: DiscoverMemory) -> None:
        self._connections = {prefix: Connection(prefix, config, memory) for prefix, config in servers.items()}
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        _hush_libraries()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        for connection in self._connections.values():
            connection.link.stop()
        with anyio.move_on_after(10, shield=True):  # each owner closes its own; the one cancellation below is for the rest
            for connection in self._connections.values():
                await connection.link.stopped()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def connect_all(self) -> None:
        """Connects to all at once and waits for each first attempt, no longer than its `timeout_seconds`. One that takes longer
        goes on, and one that fails is retried, in its owner task; never raises."""
        for connection in self._connections.values():
            connection.link.start(self._tasks)
        for connection in self._connections.values():
            await connection.link.settled()

    async def list_tools(self, prefix: str) -> tuple[ListedTool, ...]:
        """All pages as offered now. A tool that can't be read is `dropped`, with why, and the others stay. ServerError."""
        return await self._at(prefix).list_tools()

    async def list_anew(self, prefix: str) -> tuple[ListedTool, ...]:
        """The same as of this very moment, for a last look before an effect (spec H8). ServerError."""
        return await self._at(prefix).list_anew()

    async def list_resources(self, prefix: str) -> tuple[ListedResource, ...]:
        return await self._at(prefix).list_resources()

    async def read_resource(self, prefix: str, uri: str) -> str:
        """A resource's text, through the client's cache: within its time no request is sent (spec H23). ServerError."""
        return await self._at(prefix).read_resource(uri)

    async def call(
        self,
        prefix: str,
        remote_name: str,
        arguments: Mapping[str, Json],
        *,
        meta: Mapping[str, Json],
        subject: str,
        timeout: float,
        responses: Mapping[str, Json] | None = None,
        state: str | None = None,
        retry_reads: bool = False,
        ask: AskDuring | None = None,
    ) -> ServerReply:
        """One round of a tool call, as `subject`, `timeout` seconds at most. Only `dispatch` may call this (spec H8).

        `responses` and `state` answer the input request of an earlier round. `retry_reads` sends once more, under a new id,
        after a lost connection. `ask` answers what a 2025 server asks while the call is open, which stops its clock; without
        it the server gets `cancel`. Raises ServerError alone, besides what `ask` raises; its branch says whether the call can
        have run. -32042 comes back as NeedsInput with "retry": the call did not run, and is sent anew without `responses`.
        """
        connection = self._at(prefix)
        _sendable(prefix, arguments, meta, responses)
        parameters = types.CallToolRequestParams(
            name=remote_name,
            arguments=dict(arguments),
            input_responses=_RESPONSES.validate_python(responses) if responses else None,
            request_state=state,
            _meta=types.RequestParamsMeta(**dict(meta)) if meta else None,  # type: ignore[typeddict-item]
        )
        return await connection.call(parameters, subject, timeout, ask, retry_reads)

    def health(self) -> tuple[ServerHealth, ...]:
        return tuple(connection.link.health() for connection in self._connections.values())

    def connected(self, prefix: str) -> bool:
        return self._at(prefix).link.connected

    def tells_changes(self, prefix: str) -> bool:
        """Whether it promises `list_changed`. A promise: it may be broken, or a lie (spec H7)."""
        return self._at(prefix).link.tells_changes()

    def process(self, prefix: str) -> int:
        """Which process of the server is connected: drawn anew with each stdio child; 0 over HTTP, and without one (spec H13)."""
        return self._at(prefix).link.process

    def asks_during_calls(self, prefix: str) -> bool:
        """Whether it speaks a protocol whose servers ask while a call is open; known once it was connected (spec H15)."""
        return self._at(prefix).link.asks_during_calls()

    def changes(self, prefix: str) -> int:
        """Rises with every `list_changed` noted and every (re)connection: look again when it differs (spec H7)."""
        return self._at(prefix).link.changes

    def _at(self, prefix: str) -> Connection:
        if prefix not in self._connections:
            raise NotFound(f"no server is configured as {prefix!r}; there are: {', '.join(self._connections)}")
        return self._connections[prefix]


def _sendable(prefix: str, *values: object) -> None:
    """A lone surrogate or a NaN can't be written as JSON; inside the SDK it would end the whole connection."""
    try:
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError) as error:
        raise Unavailable(
            f"nothing was sent to {prefix}: an argument can't be written as JSON ({type(error).__name__})"
        ) from None


def _hush_libraries() -> None:
    """Nothing that they log gets out, whatever level anybody sets: what matters is in our words (spec H16).

    The root of each library hands nothing on, which also holds for loggers that it makes later; a filter alone would not, as
    it sees no record of a child's. It stands on those that are known by name, against handlers set on them on purpose.
    """
    for name in _TALKATIVE:
        library = logging.getLogger(name)
        library.propagate = False
        if not library.handlers:
            library.addHandler(logging.NullHandler())
    for name in [*_MADE_LATE, *logging.root.manager.loggerDict]:
        if name.split(".")[0] in _TALKATIVE:
            logging.getLogger(name).addFilter(_nothing)


def _nothing(_record: logging.LogRecord) -> bool:
    return False
