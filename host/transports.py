"""How bytes reach a server: a child process on stdio, and HTTP clients of one principal each. What comes back is bounded here.

Stands under `tap`. Refuses to know reconnection, catalogues and calls. The SDK's own stdio transport reads lines of any length
and breaks off at invalid UTF-8, so this one takes its place; its way of ending a child is kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, jsonrpc_message_adapter

from host.config import ServerConfig
from host.replies import GARBLED, MARK, MAX_MESSAGE, TOO_LONG, BodyRefused, Unreadable

EXIT_SECONDS, KILL_SECONDS, FLUSH_SECONDS = 2.0, 2.0, 0.5
#: A message that is still not at its end after this much of it ends the connection.
MAX_SKIPPED = 64 * 1024 * 1024
#: And so does one that is too long already and comes to a stop.
STALL_SECONDS = 2.0
_ENDS = 200
_ID_FIRST = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*[,}]')
_ID_LAST = re.compile(rb'[,{]\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*\}\s*$')
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)
Item = SessionMessage | Exception


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


@dataclass(slots=True)
class Lines:
    """Cuts a server's output into messages. A line over `limit` bytes is skipped as it comes, its two ends kept to tell whose
    answer it was."""

    limit: int = MAX_MESSAGE
    skipped: int = 0
    _held: bytearray = field(default_factory=bytearray)
    _head: bytes = b""

    def feed(self, data: bytes) -> Iterator[Item]:
        """The messages that end in `data`."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._hold(end)
            if (item := self.cut()) is not None:
                yield item
        self._hold(rest)

    def _hold(self, part: bytes) -> None:
        self._held += part
        if len(self._held) > self.limit or self.skipped:
            self._head = self._head or bytes(self._held[:_ENDS])
            self.skipped += len(part)
            del self._held[:-_ENDS]

    def cut(self) -> Item | None:
        """What is held, as a message: at its end, or where nobody waits for its end any longer."""
        line, head, skipped = bytes(self._held), self._head, self.skipped
        self._held, self._head, self.skipped = bytearray(), b"", 0
        if skipped:
            return Unreadable(TOO_LONG, _answers(head, line))
        if not line.strip():
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            if isinstance(message, JSONRPCError) and b'"result"' in line and "result" in json.loads(line):
                raise ValueError("a result and an error at once")  # which of the two is true, nobody knows
            return SessionMessage(message)
        except ValueError:
            return Unreadable(GARBLED, _answers(line[:_ENDS], line[-_ENDS:]))


def _answers(head: bytes, tail: bytes) -> int | None:
    """The id of the request that a message answers, told from its ends alone."""
    found = _ID_FIRST.search(head) or _ID_LAST.search(tail)
    return int(found[1]) if found else None


@asynccontextmanager
async def stdio(
    config: ServerConfig, words: LastWords
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Item], MemoryObjectSendStream[SessionMessage]]]:
    """A child process with its standard error drained, so that it can neither block nor reach our own output.

    Raises OSError when it can't be started.
    """
    with _pipe() as (reading, writing):
        process = await anyio.open_process(
            list(config.command),
            env=get_default_environment() | dict(config.env),
            stderr=writing,
            start_new_session=True,
        )
        came, read = anyio.create_memory_object_stream[Item](0)
        write, going = anyio.create_memory_object_stream[SessionMessage](0)
        flushed = anyio.Event()
        async with anyio.create_task_group() as tasks:
            try:
                writing.close()
                tasks.start_soon(words.drain, reading)
                tasks.start_soon(_read, process, came)
                tasks.start_soon(_write, process, going, came, flushed)
                yield read, write
            finally:
                with anyio.CancelScope(shield=True):
                    read.close()
                    write.close()
                    with anyio.move_on_after(FLUSH_SECONDS):
                        await flushed.wait()
                    await _end(process)
                tasks.cancel_scope.cancel()


async def _read(process: Process, came: MemoryObjectSendStream[Item]) -> None:
    assert process.stdout
    lines = Lines()
    with came, suppress(anyio.EndOfStream, *_GONE):
        while lines.skipped <= MAX_SKIPPED:
            with anyio.move_on_after(STALL_SECONDS if lines.skipped else None) as waited:
                data = await process.stdout.receive()
            if waited.cancelled_caught:
                break
            for item in lines.feed(data):
                await came.send(item)
        if (rest := lines.cut()) is not None:  # a message without an end: what follows can't be told from it
            await came.send(rest)
    await _drained(process.stdout)


async def _drained(output: ByteReceiveStream) -> None:
    """A child that blocks on a full pipe can't end by itself."""
    with suppress(anyio.EndOfStream, OSError, *_GONE):
        while True:
            await output.receive()


async def _write(
    process: Process,
    going: MemoryObjectReceiveStream[SessionMessage],
    came: MemoryObjectSendStream[Item],
    flushed: anyio.Event,
) -> None:
    assert process.stdin
    try:
        with going:
            async for item in going:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(line.encode() + b"\n")
    except (OSError, *_GONE):
        came.close()  # it may still live, but nothing reaches it: the connection has ended
    finally:
        flushed.set()


async def _end(process: Process) -> None:
    """Its input is closed; after two seconds its whole process group is told to end, then killed."""
    assert process.stdin
    assert process.stdout
    with suppress(OSError, *_GONE):
        await process.stdin.aclose()
    if not await _exited(process, EXIT_SECONDS):
        await terminate_posix_process_tree(process, KILL_SECONDS)
        await _exited(process, KILL_SECONDS)
    with suppress(OSError, *_GONE):
        await process.stdout.aclose()


async def _exited(process: Process, seconds: float) -> bool:
    """By its return code: to wait for the process would be to wait for everyone who inherited its pipes too."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110  there is no event to wait for
            await anyio.sleep(0.01)
    return process.returncode is not None


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

_UNPACKED = {"Accept-Encoding": "identity"}


class _Bounded(httpx2.AsyncByteStream):
    """A response's body, at most MAX_MESSAGE bytes of it."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE
        async for part in self._inner:
            left -= len(part)
            if left < 0:
                raise BodyRefused(TOO_LONG)
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _note(response: httpx2.Response) -> None:
    mark = MARK.get()
    if mark is not None and response.request.method == "POST":
        mark.status = response.status_code


async def _bound(response: httpx2.Response) -> None:
    """Before anything of the body is read. A stream of events has no end of its own: the SDK bounds each event. An encoded body
    was not asked for, and what it unpacks to can't be told."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise BodyRefused("answered with a packed body, which was not asked for")
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream)


def http_client(token: str) -> httpx2.AsyncClient:
    """For one principal's requests to a server. Answers are bounded, redirects not followed. Nothing bounds a read's time here:
    each request has its own, and a question may take a day."""
    headers = {**_UNPACKED, "Authorization": f"Bearer {token}"} if token else _UNPACKED
    timeout = httpx2.Timeout(connect=10.0, read=None, write=60.0, pool=10.0)
    return httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [_note, _bound]})


def fetching_client() -> httpx2.AsyncClient:
    """For metadata and tokens: bounded in size and time, and no part of any call."""
    return httpx2.AsyncClient(headers=_UNPACKED, timeout=10.0, event_hooks={"response": [_bound]})


@dataclass(slots=True)
class _Held:
    token: str
    client: httpx2.AsyncClient
    users: int = 0


@dataclass(slots=True)
class HttpClients:
    """One HTTP client per principal. Once its token is another one, the old client is closed as soon as nobody uses it."""

    _held: dict[str, _Held] = field(default_factory=dict)
    _old: list[_Held] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._held) + len(self._old)

    @asynccontextmanager
    async def using(self, principal: str, token: str) -> AsyncIterator[httpx2.AsyncClient]:
        held = self._held.get(principal)
        if held is None or held.token != token:
            if held is not None:
                self._old.append(held)
            held = self._held[principal] = _Held(token, http_client(token))
        held.users += 1
        try:
            yield held.client
        finally:
            held.users -= 1
            with anyio.CancelScope(shield=True):
                await self._close_unused()

    async def _close_unused(self) -> None:
        unused = [held for held in self._old if not held.users]
        self._old = [held for held in self._old if held.users]
        for held in unused:
            await held.client.aclose()

    async def aclose(self) -> None:
        for held in (*self._held.values(), *self._old):
            await held.client.aclose()
        self._held, self._old = {}, []
