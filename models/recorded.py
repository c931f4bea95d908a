"""A model that replays what another one replied (spec M7).  A request it never met is an error, not a guess."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio

from models import fingerprint, recording
from models.errors import UnknownPromptError
from models.port import ModelInfo, Reply, Request


class RecordedModel:
    """`models.port.Model` over a folder written by `models.recorder`. `usage` is that of the recording."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recording: recording.Recording | None = None

    @property
    def info(self) -> ModelInfo:
        """The recorded model's, with kind `recorded`; known once entered."""
        made_by = self.runs[-1]["model"] if self.runs else {}
        name, file, sha256 = (str(made_by.get(key, "")) for key in ("name", "file", "sha256"))
        return ModelInfo(name=name or "recorded", file=file, sha256=sha256, kind="recorded")

    @property
    def runs(self) -> list[dict[str, Any]]:
        """What each recording run was made with, oldest first: the manifest's `runs`. Known once entered."""
        return self._recording.runs if self._recording else []

    async def reply(self, request: Request) -> Reply:
        """Raises `UnknownPromptError` when exactly this request was never recorded, `ModelSetupError` without a recording."""
        loaded = await self._load()
        digest = fingerprint.digest(request)
        found = loaded.replies.get(digest)
        if found is None:
            raise UnknownPromptError(
                f"no recorded reply for this prompt ({digest[:12]}) in {self._folder}: prompt, tools or ticket changed "
                "since; record again with `deskhand record`"
            )
        return found

    async def __aenter__(self) -> Self:
        """Raises `ModelSetupError` when there is no recording in the folder."""
        await self._load()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    async def _load(self) -> recording.Recording:
        if self._recording is None:
            self._recording = await anyio.to_thread.run_sync(recording.read, self._folder)
        else:
            await anyio.lowlevel.checkpoint()
        return self._recording
