"""The local Qwen: the parent's side of the engine (spec M1, M3, M6).

Starts `python -m models.engine`, speaks `models.wire` with it, one call at a time, and never blocks the event loop.  An engine
that died, aborted or hung costs one call: it is killed, started again, and the call is made once more.  This process imports
neither llama_cpp nor llguidance.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import anyio
from anyio.abc import Process

from models import catalogue, qwen, wire
from models.errors import GrammarError, ModelSetupError, ModelUnavailableError, PromptTooLongError
from models.port import ModelInfo, Reply, Request, Usage

CANCEL_WAIT = 1.0
"""Seconds a cancelled engine has to stop by itself before it is killed (spec M6)."""


SPIN = {"GOMP_SPINCOUNT": "1000"}
"""How long a decoding thread spins for its neighbour before it sleeps. By default about a thousand times longer, and two threads
on two busy cores then burn their turns waiting for each other: decoding ran at a sixth of its speed (measured)."""


class _EngineGone(Exception):
    """The engine died, hung or spoke nonsense; its text says which."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine runs. Times in seconds, `context` and `batch` in tokens.

    `repack` and `flash_attention` are off because only so a cached run equals a cold one (see `models.engine`); `repack` also
    costs 600 MB of anonymous memory. `silence` is how long the engine may say nothing before it counts as hung: while it
    works it speaks about once a second. `timeout` bounds a whole call, `load_timeout` the start.
    """

    context: int = 8192
    threads: int = 2
    batch: int = 512
    niceness: int = 10
    repack: bool = False
    flash_attention: bool = False
    silence: float = 60.0
    timeout: float = 600.0
    load_timeout: float = 180.0

    def arguments(self) -> list[str]:
        numbers = {"context": self.context, "threads": self.threads, "batch": self.batch, "nice": self.niceness}
        flags = {"--repack": self.repack, "--flash-attention": self.flash_attention}
        return [f"--{key}={value}" for key, value in numbers.items()] + [flag for flag, on in flags.items() if on]


def _without_tokens() -> dict[str, str]:
    """The engine needs nobody's tokens."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SLACK_")}


class _Child:
    """One engine process. Frames cut short by a cancellation stay in the buffer, so that the stream never loses its place."""

    def __init__(self, process: Process, errors: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in = process.stdin
        self._out = process.stdout
        self._errors = errors
        self._buffer = bytearray()

    async def send(self, message: dict[str, Any]) -> None:
        try:
            await self._in.send(wire.pack(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise await self._gone() from None

    async def receive(self, silence: float) -> dict[str, Any]:
        try:
            while (message := wire.take(self._buffer)) is None:
                with anyio.fail_after(silence):
                    self._buffer += await self._out.receive()
        except TimeoutError:
            raise _EngineGone(f"it said nothing for {silence:.0f} s") from None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError):
            raise await self._gone() from None
        return message

    async def kill(self) -> None:
        with anyio.CancelScope(shield=True):
            if self.process.returncode is None:
                self.process.kill()
            await self.process.wait()
            await self.process.aclose()
            await anyio.to_thread.run_sync(self._errors.close)

    async def _gone(self) -> _EngineGone:
        """With the last line of its standard error: a GGML assertion or an exception, never text of a prompt."""
        return _EngineGone(await anyio.to_thread.run_sync(_last_line, self._errors))


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it ended without a word"


class LlamaModel:
    """`models.port.Model` over a GGUF file.

    `async with` checks the file (digest included) and raises `ModelSetupError` early; the engine itself starts with the first
    call, or with `start()`. Calls queue: the engine makes one at a time.
    """

    def __init__(self, path: Path, settings: EngineSettings | None = None) -> None:
        self._path = path
        self._settings = settings or EngineSettings()
        self._sha256 = ""
        self._child: _Child | None = None
        self._lock = anyio.Lock()
        self._calls = 0
        self.restarts = 0

    @property
    def info(self) -> ModelInfo:
        """`sha256` is known once entered."""
        return ModelInfo(name=self._path.stem, file=self._path.name, sha256=self._sha256, kind="llama")

    @property
    def pid(self) -> int | None:
        """The engine's process id while it runs: for health figures and for tests that kill it."""
        return self._child.process.pid if self._child else None

    async def __aenter__(self) -> Self:
        await self._check()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._drop()

    async def start(self) -> None:
        """Load the model now. Raises `ModelSetupError` when it can't be loaded."""
        async with self._lock:
            try:
                await self._running()
            except _EngineGone as error:
                raise ModelSetupError(f"the model's engine can't be used: {error}") from None

    async def reply(self, request: Request) -> Reply:
        """Answer once.

        Raises `PromptTooLongError` and `GrammarError` before anything is decoded, `ModelSetupError` when there is no
        engine to start, `ModelUnavailableError` when the engine was lost twice. A reply cut off by `max_tokens` is unreadable.
        """
        async with self._lock:
            try:
                return await self._attempt(request)
            except _EngineGone:
                await self._drop()
                self.restarts += 1
            try:
                return await self._attempt(request)
            except _EngineGone as error:
                await self._drop()
                raise ModelUnavailableError(f"the model's engine was lost twice: {error}") from None

    async def _attempt(self, request: Request) -> Reply:
        child = await self._running()
        self._calls += 1
        call = self._calls
        try:
            with anyio.fail_after(self._settings.timeout):
                await child.send(_frame(call, request))
                return _reply(await self._outcome(child, call))
        except TimeoutError:
            raise _EngineGone(f"the call took more than {self._settings.timeout:.0f} s") from None
        except anyio.get_cancelled_exc_class():
            await self._cancel(child, call)
            raise

    async def _outcome(self, child: _Child, call: int, silence: float | None = None) -> dict[str, Any]:
        """The frame that ends a call; ticks, and what is left of a call given up before, are passed over."""
        while True:
            message = await child.receive(silence or self._settings.silence)
            if message.get("id") == call and message["event"] in ("reply", "error"):
                return message

    async def _cancel(self, child: _Child, call: int) -> None:
        """Make the engine stop within `CANCEL_WAIT`, dead or alive."""
        with anyio.CancelScope(shield=True):
            try:
                with anyio.fail_after(CANCEL_WAIT):
                    await child.send({"op": "cancel", "id": call})
                    await self._outcome(child, call)
            except (TimeoutError, _EngineGone):
                await self._drop()

    async def _running(self) -> _Child:
        if self._child is None:
            await self._check()
            self._child = await self._spawn()
        return self._child

    async def _check(self) -> None:
        if not self._sha256:
            self._sha256 = await anyio.to_thread.run_sync(_usable, self._path)

    async def _spawn(self) -> _Child:
        errors = await anyio.to_thread.run_sync(tempfile.TemporaryFile)
        # -P: a folder called `models` where the bot was started must not be taken for ours
        command = [
            sys.executable,
            "-P",
            "-Wignore::DeprecationWarning",
            "-m",
            "models.engine",
            f"--model={self._path}",
            *self._settings.arguments(),
        ]
        process = await anyio.open_process(command, stderr=errors, start_new_session=True, env={**SPIN, **_without_tokens()})
        child = _Child(process, errors)
        try:
            with anyio.fail_after(self._settings.load_timeout):
                message = await child.receive(self._settings.load_timeout)
        except (_EngineGone, TimeoutError) as error:
            await child.kill()
            raise _EngineGone(f"it doesn't start: {error or 'it took too long'}") from None
        except BaseException:
            await child.kill()
            raise
        if message["event"] == "failed":
            await child.kill()
            raise ModelSetupError(message["text"])
        return child

    async def _drop(self) -> None:
        child, self._child = self._child, None
        if child:
            await child.kill()


def _usable(path: Path) -> str:
    """The file's sha256. Raises `ModelSetupError` when a package or the file is missing, or the file is a wrong one."""
    for module, package in (("llama_cpp", "llama-cpp-python"), ("llguidance", "llguidance")):
        if find_spec(module) is None:
            raise ModelSetupError(f"the package {package} isn't installed: run `make install`")
    return catalogue.checked(path)


def _frame(call: int, request: Request) -> dict[str, Any]:
    return {
        "op": "reply",
        "id": call,
        "segments": qwen.render(request),
        "offers": [{"name": offer.name, "schema": offer.schema} for offer in request.offers],
        "sampling": asdict(request.sampling),
    }


_ERRORS: dict[str, Callable[[str], Exception]] = {
    "prompt_too_long": PromptTooLongError,
    "grammar": GrammarError,
    "cancelled": _EngineGone,
}


def _reply(message: dict[str, Any]) -> Reply:
    if message["event"] == "error":
        raise _ERRORS[message["kind"]](message["text"])
    usage = Usage(**message["usage"])
    if message["stopped"] == "max_tokens":
        words = f"the reply was cut off after {usage.sampled_tokens + usage.forced_tokens} tokens"
        return Reply(raw=message["raw"], unreadable=words, usage=usage)
    return replace(qwen.parse(message["raw"]), usage=usage)
