"""MCP servers as the host sees them: all connections, one call path (spec H1-H5, H12, H15).

Everything the host sends to a server leaves here; `dispatch` alone decides that it may. Refuses to know names as the model
sees them, policies, tickets and people. Behind it stand `connection` (one server and its owner task), `transports` (bytes) and
`replies` (answers and errors).
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
from host.connection import Connection, DiscoverMemory, LegacyElicit
from host.errors import Gone, NotFound, Unavailable
from host.types import Json, ListedResource, ListedTool, ServerHealth, ServerReply

__all__ = ["DiscoverMemory", "LegacyElicit", "Sessions", "cancel_legacy"]

_RESPONSES: TypeAdapter[types.InputResponses] = TypeAdapter(types.InputResponses)
#: Libraries whose own log lines may hold messages, results or secrets (spec H16).
_TALKATIVE = ("mcp", "client", "httpx2", "httpcore2")


async def cancel_legacy(_prefix: str, _params: Mapping[str, Json]) -> Mapping[str, Json]:
    """A 2025 server's question during a call is not accepted or declined for anybody who never saw it (spec H20)."""
    return {"action": "cancel"}


class Sessions:
    """All servers' connections; an async context manager. `legacy_elicit` answers a 2025 server's question during a call."""

    def __init__(self, servers: Mapping[str, ServerConfig], memory: DiscoverMemory) -> None:
        self.legacy_elicit: LegacyElicit = cancel_legacy
        self._connections = {prefix: Connection(prefix, config, memory, self._elicit) for prefix, config in servers.items()}
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        _hush_libraries()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        for connection in self._connections.values():
            connection.stop()
        with anyio.move_on_after(10, shield=True):  # each owner closes its own; the one cancellation below is for the rest
            for connection in self._connections.values():
                await connection.stopped()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def connect_all(self) -> None:
        """Connects to all at once and waits for each first attempt. One that fails is retried in its owner task; never raises."""
        for connection in self._connections.values():
            connection.start(self._tasks)
        for connection in self._connections.values():
            await connection.settled()

    async def list_tools(self, prefix: str) -> tuple[ListedTool, ...]:
        """All pages as offered now. A tool that can't be read is `dropped`, with why, and the others stay. ServerError."""
        return await self._at(prefix).list_tools()

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
    ) -> ServerReply:
        """One round of a tool call, as `subject`, `timeout` seconds at most. Only `dispatch` may call this (spec H8).

        `responses` and `state` answer the input request of an earlier round. `retry_reads` sends once more, under a new id,
        after a lost connection. Raises ServerError alone; its branch says whether the call can have run.
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
        try:
            return await connection.call(parameters, subject, timeout)
        except (Gone, Unavailable):
            if not retry_reads:
                raise
        return await connection.call(parameters, subject, timeout)

    def health(self) -> tuple[ServerHealth, ...]:
        return tuple(connection.health() for connection in self._connections.values())

    def generation(self, prefix: str) -> int:
        """Rises with every (re)connection; 0 before the first."""
        return self._at(prefix).generation

    def changes(self, prefix: str) -> int:
        """Rises with every `list_changed` noted and every (re)connection: look again when it differs (spec H7)."""
        return self._at(prefix).changes

    def _at(self, prefix: str) -> Connection:
        if prefix not in self._connections:
            raise NotFound(f"no server is configured as {prefix!r}; there are: {', '.join(self._connections)}")
        return self._connections[prefix]

    async def _elicit(self, prefix: str, params: Mapping[str, Json]) -> Mapping[str, Json]:
        return await self.legacy_elicit(prefix, params)


def _sendable(prefix: str, *values: object) -> None:
    """A lone surrogate or a NaN can't be written as JSON; inside the SDK it would end the whole connection."""
    try:
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError) as error:
        raise Unavailable(
            f"nothing was sent to {prefix}: an argument can't be written as JSON ({type(error).__name__})"
        ) from None


def _hush_libraries() -> None:
    """Nothing that they log gets out, whatever level or handler anybody sets: what matters is in our words (spec H16)."""
    for name in [*_TALKATIVE, *logging.root.manager.loggerDict]:
        if name.split(".")[0] in _TALKATIVE:
            logging.getLogger(name).addFilter(_nothing)


def _nothing(_record: logging.LogRecord) -> bool:
    return False
