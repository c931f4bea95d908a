"""Programs that the demo starts: started, waited for, killed, each with its log in the state folder."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import httpx2
from anyio.abc import Process

from host.errors import ConfigError


class Program:
    """One child process. `kill` is SIGKILL, as a crash would be; `stop` asks first."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name, self._command, self._log, self._env = name, tuple(command), log, dict(env or {})
        self.process: Process | None = None

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = await anyio.open_process(
                list(self._command),
                stdin=None,
                stdout=log,
                stderr=log,
                env={**_without_proxies(), **self._env},
                start_new_session=True,
            )

    async def wait(self) -> None:
        """Until it has ended."""
        if self.process is not None:
            await self.process.wait()

    async def stop(self, seconds: float = 8.0) -> None:
        if self.process is None or not self.running:
            return
        self.process.terminate()
        with anyio.move_on_after(seconds):
            await self.process.wait()
        await self.kill()

    async def kill(self) -> None:
        """The whole process group, so that no server of it stays behind."""
        if self.process is None or not self.running:
            return
        os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    def last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return lines[-1] if lines else "no output"


def _without_proxies() -> dict[str, str]:
    """The demo's programs talk to this machine alone; a proxy would stand between them."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


async def until_answering(program: Program, url: str, seconds: float = 30.0) -> None:
    """Wait until a program's HTTP side answers. Raises `ConfigError` with its last words."""
    async with httpx2.AsyncClient(timeout=2.0) as http:
        with anyio.move_on_after(seconds):
            while program.running:
                try:
                    await http.get(url)
                    return
                except httpx2.HTTPError:
                    await anyio.sleep(0.1)
    raise ConfigError(f"{program.name} did not start: {program.last_words()}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(port: int) -> None:
    """Raises `ConfigError` when a port can't be had."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ConfigError(f"port {port} is taken: stop the program that uses it, or give another with --port") from error
