"""Recorded replies until the real model is there: lets a demo begin at once (spec M1, M7).

`info` says which of the two answers now. A prompt that was never recorded waits for the real model; nothing recorded is given out
once that is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import anyio

from models.errors import ModelUnavailableError, UnknownPromptError
from models.port import Model, ModelInfo, Reply, Request

WAIT_SECONDS = 3600.0
LOOK_SECONDS = 1.0


class StandbyModel:
    """`make_live` builds the real model (not entered); `ready` says that it can be built."""

    def __init__(
        self, recorded: Model, make_live: Callable[[], Model], ready: Callable[[], bool], wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._recorded, self._make_live, self._ready = recorded, make_live, ready
        self._wait_seconds = wait_seconds
        self._live: Model | None = None
        self._entering = anyio.Lock()
        self._stack = AsyncExitStack()

    @property
    def info(self) -> ModelInfo:
        return (self._live or self._recorded).info

    async def reply(self, request: Request) -> Reply:
        live = await self._look()
        if live is not None:
            return await live.reply(request)
        try:
            return await self._recorded.reply(request)
        except UnknownPromptError:
            return await (await self._await_live()).reply(request)

    async def _await_live(self) -> Model:
        with anyio.move_on_after(self._wait_seconds):
            while True:
                live = await self._look()
                if live is not None:
                    return live
                await anyio.sleep(LOOK_SECONDS)
        raise ModelUnavailableError("the real model was not ready in time and this prompt was never recorded")

    async def _look(self) -> Model | None:
        async with self._entering:
            if self._live is None and self._ready():
                self._live = await self._stack.enter_async_context(self._make_live())
            return self._live

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._recorded)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stack.__aexit__(kind, error, trace)
