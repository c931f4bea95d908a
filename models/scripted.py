"""A model that says what a test, or a seeded scene, wants it to say.  Ships with the product; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import anyio

from models import qwen
from models.errors import UnknownPromptError
from models.port import Call, ModelInfo, Reply, Request


def call(name: str, /, **arguments: Any) -> Reply:
    """A reply that is one tool call."""
    return batch(Call(name, arguments))


def batch(*calls: Call) -> Reply:
    """A reply of several tool calls (spec H11)."""
    return Reply(raw=qwen.raw_calls(calls), calls=calls)


def say(text: str) -> Reply:
    """A reply in words, without a call."""
    return Reply(raw=text, text=text)


def raw(text: str) -> Reply:
    """A reply as a model wrote it, read as strictly as any other: for what can't be read."""
    return qwen.parse(text)


class ScriptedModel:
    """`models.port.Model` from a list of replies, given one after the other, or from a function of the request.

    `requests` holds all that was asked. Asked once more than it has replies, it raises `UnknownPromptError`.
    """

    def __init__(self, script: Iterable[Reply] | Callable[[Request], Reply], name: str = "scripted") -> None:
        self._script = script if callable(script) else _one_by_one(script)
        self._name = name
        self.requests: list[Request] = []

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name=self._name, kind="scripted")

    async def reply(self, request: Request) -> Reply:
        await anyio.lowlevel.checkpoint()
        self.requests.append(request)
        return self._script(request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


def _one_by_one(replies: Iterable[Reply]) -> Callable[[Request], Reply]:
    waiting = iter(tuple(replies))

    def answer(_request: Request) -> Reply:
        found = next(waiting, None)
        if found is None:
            raise UnknownPromptError("the script has no reply left: it was asked once more than was written")
        return found

    return answer
