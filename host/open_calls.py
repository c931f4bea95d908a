"""Calls that stay open while people answer: servers of the older protocol ask during a call (spec H15).

The one thing of a run that is in memory while somebody thinks. It can't outlive the process: whoever finds no open call for a
begun one has to find out what became of it. Refuses to know what a call is and who answers.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import anyio

from host.errors import Gone, ServerError, where
from host.types import Outcome, Run, ServerReply

logger = logging.getLogger(__name__)


class OpenCall:
    """One call that is under way. `reply` is there when it is over: the server's, or the error it ended with.

    `run` is the run as leased last, `rounds` counts the server's questions, `unanswered` says what became of one that nobody
    answered: the server was told "cancel" then.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.rounds = run, 0
        self.unanswered: Outcome | None = None
        self.reply: ServerReply | ServerError | None = None
        self.scope = anyio.CancelScope()
        self._asked = False
        self._news = anyio.Event()

    def ask(self) -> None:
        """A question of the server was put to people."""
        self._asked = True
        self._news.set()

    def end(self, reply: ServerReply | ServerError) -> None:
        self.reply = reply
        self._news.set()

    async def news(self) -> ServerReply | ServerError | None:
        """Wait for its reply; None when it came to ask people instead. Bounded by the call's own timeout."""
        while self.reply is None and not self._asked:
            await self._news.wait()
            self._news = anyio.Event()
        self._asked = False
        return self.reply


class OpenCalls:
    """All calls that are open in this process; an async context manager that ends with them."""

    def __init__(self) -> None:
        self._tasks = anyio.create_task_group()
        self._open: dict[str, OpenCall] = {}
        self.closing = False

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self.closing = True
        self._tasks.cancel_scope.cancel()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        finally:
            self._open.clear()

    def __len__(self) -> int:
        return len(self._open)

    def find(self, call_id: str) -> OpenCall | None:
        return self._open.get(call_id)

    def start(self, call_id: str, run: Run, send: Callable[[OpenCall], Awaitable[ServerReply]]) -> OpenCall:
        """Begin a call in a task of its own, so that nobody who waits for people holds a worker."""
        call = self._open[call_id] = OpenCall(run)
        self._tasks.start_soon(self._run, call, send)
        return call

    def forget(self, call_id: str) -> None:
        self._open.pop(call_id, None)

    def drop(self, call_id: str) -> None:
        """End a call that nobody waits for any more."""
        call = self._open.pop(call_id, None)
        if call is not None:
            call.scope.cancel()

    async def _run(self, call: OpenCall, send: Callable[[OpenCall], Awaitable[ServerReply]]) -> None:
        try:
            with call.scope:
                call.end(await send(call))
        except ServerError as error:
            call.end(error)
        except Exception as error:  # noqa: BLE001  the dispatcher's edge, in the call's own task: it may have run
            logger.error("open call failed: %s at %s", type(error).__name__, where(error))
        finally:
            if call.reply is None:  # cancelled, or an error of ours
                call.end(Gone("the call was given up before its answer came"))
