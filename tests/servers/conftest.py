"""Starts the servers as the processes they are: over stdio, and over HTTP on a free loopback port."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest
from mcp import StdioServerParameters

Started = Callable[..., StdioServerParameters]
Listening = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
def over_stdio() -> Started:
    """`over_stdio("servers.shop", "mcp", ..., env={...})` as parameters for a client."""

    def parameters(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> StdioServerParameters:
        return StdioServerParameters(command=sys.executable, args=["-m", module, *arguments], env=dict(env or {}))

    return parameters


@pytest.fixture
def over_http() -> Listening:
    """`async with over_http("servers.shop", "api", ...) as url`: the process's own address, once it answers."""

    @asynccontextmanager
    async def listening(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> AsyncIterator[str]:
        command = [sys.executable, "-m", module, *arguments, "--port", "0"]
        async with await anyio.open_process(command, env=dict(env or {}), stderr=None, stdin=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            line = b""
            with anyio.fail_after(30):
                while not line.endswith(b"\n"):
                    line += await process.stdout.receive()
            try:
                yield line.decode().removeprefix("listening on ").strip()
            finally:
                process.terminate()
                with anyio.fail_after(10):
                    await process.wait()

    return listening
