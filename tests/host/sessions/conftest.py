"""What every test of the sessions needs: real servers over stdio and HTTP, a memory of probes, calls with little to say."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.config import ServerConfig
from host.sessions import Sessions
from host.types import NeedsInput

SERVERS = Path(__file__).parents[1] / "servers"


class Memory:
    """Remembers what probes learned, as the store does."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def load_discovered(self, prefix: str, config_digest: str) -> str | None:
        return self.kept.get((prefix, config_digest))

    async def save_discovered(self, prefix: str, config_digest: str, value: str | None) -> None:
        if value is None:
            self.kept.pop((prefix, config_digest), None)
        else:
            self.kept[prefix, config_digest] = value


class Wire:
    """Servers to connect to, and calls to them."""

    BENCH, RAW, DEAF, HUNG = (str(SERVERS / name) for name in ("bench.py", "raw.py", "deaf.py", "hung.py"))
    Memory = Memory

    def child(self, *command: str, **env: str) -> ServerConfig:
        return ServerConfig(command=(sys.executable, *command), env=env)

    def tee(self, log: Path, *command: str, **env: str) -> ServerConfig:
        """The same, with every line that it is sent in `log`."""
        return self.child(str(SERVERS / "tee.py"), str(log), sys.executable, *command, **env)

    def methods(self, log: Path) -> list[str]:
        return [str(entry.get("method", "")) for entry in self.entries(log)]

    def entries(self, log: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in log.read_text().splitlines()]

    @asynccontextmanager
    async def connected(self, memory: Memory | None = None, **servers: ServerConfig) -> AsyncIterator[Sessions]:
        with anyio.fail_after(60):
            async with Sessions(servers, memory or Memory()) as sessions:
                await sessions.connect_all()
                yield sessions

    async def call(self, sessions: Sessions, prefix: str, tool: str, /, *, timeout: float = 10.0, **more: Any) -> Any:
        arguments = more.pop("arguments", {})
        given = {"meta": {}, "subject": "service", **more}
        return await sessions.call(prefix, tool, arguments, timeout=timeout, **given)

    def accept(self, reply: NeedsInput, **content: Any) -> dict[str, Any]:
        answers = {key: {"action": "accept", "content": content} for key in reply.pending["inputRequests"]}
        return {"responses": answers, "state": reply.pending["requestState"]}

    @contextmanager
    def http(self, script: str, port: int = 0, **env: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
        port = port or self.free_port()
        environment = {**os.environ, **env}
        process = subprocess.Popen([sys.executable, script, "--http", str(port)], env=environment, stderr=subprocess.DEVNULL)
        try:
            yield port, process
        finally:
            process.kill()
            process.wait(10)

    def free_port(self) -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    async def listening(self, port: int) -> None:
        with anyio.fail_after(20):
            while True:
                try:
                    async with await anyio.connect_tcp("127.0.0.1", port):
                        return
                except OSError:
                    await anyio.lowlevel.checkpoint()

    async def state(self, sessions: Sessions, prefix: str, wanted: str) -> None:
        with anyio.fail_after(20):
            while next(health for health in sessions.health() if health.prefix == prefix).state != wanted:
                await anyio.lowlevel.checkpoint()


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def memory() -> Memory:
    return Memory()
