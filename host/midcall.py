"""Questions that a 2025 server asks while its call is open, and the patience that a call is followed with (spec H4, H15, H20).

Stands beside `connection`, which owns the call. Refuses to know cards, rows and roles: `AskDuring` is whoever knows people.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import anyio

from host.types import Json

AskDuring = Callable[[Mapping[str, Json]], Awaitable[Mapping[str, Json]]]
"""Gets an elicitation's params as the server sent them (mode "form" or "url", message, requestedSchema or url, elicitationId);
gives {"action": "accept" | "decline" | "cancel", "content": {…}}. It keeps its own deadline. It is cancelled when the server
withdraws the question or goes away."""

#: Never accepted or declined on behalf of somebody who never saw it (spec H20).
CANCEL: Mapping[str, Json] = {"action": "cancel"}
#: More questions than this at the same time are for nobody: the rest is cancelled.
MAX_OPEN = 8


@dataclass(slots=True)
class Patience:
    """How many seconds a request may take. It stands still while a person is asked, and starts afresh afterwards."""

    seconds: float
    _scope: anyio.CancelScope | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Raises TimeoutError when it is at its end."""
        with anyio.CancelScope(deadline=anyio.current_time() + self.seconds) as scope:
            self._scope = scope
            yield
        if scope.cancelled_caught:  # `fail_after` looks at the deadline once more, and a pause may have moved it since
            raise TimeoutError

    @contextmanager
    def paused(self) -> Iterator[None]:
        self._move(float("inf"))
        try:
            yield
        finally:
            self._move(anyio.current_time() + self.seconds)

    def _move(self, deadline: float) -> None:
        if self._scope is not None:
            self._scope.deadline = deadline


@dataclass(slots=True)
class _Question:
    params: Mapping[str, Json]
    answer: Mapping[str, Json] = field(default_factory=lambda: CANCEL)
    answered: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Inbox:
    """The questions of one open call, from the SDK's tasks to the task that made the call, one after another."""

    def __init__(self, ask: AskDuring, patience: Patience) -> None:
        self._ask, self._patience = ask, patience
        self._send, self._receive = anyio.create_memory_object_stream[_Question](MAX_OPEN)
        self.asked, self.open = 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._send.close()
        self._receive.close()

    async def put(self, params: Mapping[str, Json]) -> Mapping[str, Json]:
        """The answer. Called in a task of the SDK's, which is cancelled when the server withdraws its question."""
        question = _Question(params)
        try:
            self._send.send_nowait(question)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return CANCEL
        try:
            await question.answered.wait()
        finally:
            question.scope.cancel()
        return question.answer

    async def serve(self) -> None:
        """Runs in the caller's task group for as long as the call is open; what `ask` raises leaves here."""
        async for question in self._receive:
            if question.scope.cancel_called:  # withdrawn before anybody could see it
                continue
            self.asked, self.open = self.asked + 1, True
            with self._patience.paused(), question.scope:
                question.answer = await self._ask(question.params)
            self.open = False
            question.answered.set()
