"""Recorded replies until the real model is there: lets a demo begin at once (spec M1, M7).

`info` says which of the two answers now. A prompt that was never recorded raises `NotReadyError` until the real model is there,
so that it holds up nothing else; nothing recorded is given out once that is ready.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import anyio

from models.errors import ModelSetupError, NotReadyError, UnknownPromptError
from models.port import Model, ModelInfo, Reply, Request

logger = logging.getLogger(__name__)


class StandbyModel:
    """`make_live` builds the real model (not entered); `ready` says that it can be built."""

    def __init__(self, recorded: Model, make_live: Callable[[], Model], ready: Callable[[], bool]) -> None:
        self._recorded, self._make_live, self._ready = recorded, make_live, ready
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
        except UnknownPromptError as error:
            raise NotReadyError("the real model is still being made ready, and this prompt was never recorded") from error

    async def _look(self) -> Model | None:
        async with self._entering:
            if self._live is None and self._ready():
                try:
                    self._live = await self._stack.enter_async_context(self._make_live())
                except ModelSetupError as error:  # recordings go on; the next call looks again
                    logger.error("the real model can't be used: %s", error)
            return self._live

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._recorded)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stack.__aexit__(kind, error, trace)
