"""Wraps any model and writes down what it replies, as it goes (spec M7).  Several runs append to one folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio

from models import fingerprint, recording
from models.port import Model, ModelInfo, Reply, Request


class Recorder:
    """`models.port.Model` that passes on what `model` replies and keeps it in `folder`.

    `prompt_digest` and `host` (any JSON object: the host's settings) go into the manifest as given. A request met before gets
    its newest reply, or with `reuse` the one it has: a batch then goes on where earlier ones ended. Errors aren't recorded.
    """

    def __init__(
        self,
        model: Model,
        folder: Path,
        *,
        prompt_digest: str = "",
        host: Mapping[str, Any] | None = None,
        reuse: bool = False,
    ) -> None:
        self._model = model
        self._folder = folder
        self._reuse = reuse
        self._recording: recording.Recording | None = None
        self._run: dict[str, Any] = {
            "model": {},
            "sampling": {},
            "prompt_digest": prompt_digest,
            "host": dict(host or {}),
            "calls": 0,
            "seconds": [],
        }
        self._lock = anyio.Lock()

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    async def reply(self, request: Request) -> Reply:
        if self._reuse:
            async with self._lock:
                known = (await self._load()).replies.get(fingerprint.digest(request))
            if known is not None:
                return known
        started = time.monotonic()
        reply = await self._model.reply(request)
        seconds = round(time.monotonic() - started, 3)
        async with self._lock:
            await anyio.to_thread.run_sync(recording.write, self._folder, self._add(await self._load(), request, reply, seconds))
        return reply

    async def _load(self) -> recording.Recording:
        """What the folder holds already, with this run appended. Raises `ModelSetupError` when it isn't a recording."""
        if self._recording is None:
            found = await anyio.to_thread.run_sync(recording.read_or_new, self._folder)
            found.runs.append(self._run)
            self._recording = found
        return self._recording

    def _add(self, kept: recording.Recording, request: Request, reply: Reply, seconds: float) -> recording.Recording:
        self._run["model"] = asdict(self._model.info)
        self._run["sampling"] = asdict(request.sampling)
        self._run["calls"] += 1
        self._run["seconds"].append(seconds)
        kept.replies[fingerprint.digest(request)] = reply
        return kept

    async def __aenter__(self) -> Self:
        """Raises `ModelSetupError` when `folder` holds something that isn't a recording."""
        await self._load()
        await self._model.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._model.__aexit__(kind, error, trace)
