"""The host's front door: what listeners, the mailroom and the commands may ask of it.  (Being written; signatures are fixed.)"""

from __future__ import annotations

from typing import Protocol

from host.types import Actor, Answer, AnswerResult, Ticket, Tool
from host.views import Card, Said, StatusView


class Host(Protocol):
    async def intake(self, ticket: Ticket) -> bool:
        """Take a ticket in; False when its intake key is known already (spec B11): nothing is done then."""
        ...

    async def work(self, ticket_id: str, actor: Actor) -> Said:
        """Start a run over one ticket (staff, leads, admins)."""
        ...

    async def run_queue(self, actor: Actor, count: int | None) -> Said:
        """Start a queue run over `count` waiting tickets, None for all (admins)."""
        ...

    async def stop(self, actor: Actor) -> Said: ...

    async def freeze(self, server: str, actor: Actor) -> Said: ...

    async def unfreeze(self, server: str, actor: Actor) -> Said: ...

    async def status(self) -> StatusView: ...

    async def tools(self) -> tuple[Tool, ...]: ...

    async def answer(self, question_id: str, actor: Actor, answer: Answer) -> AnswerResult:
        """Answer a question once (spec H18, H19): role, state and digests are checked here and nowhere else."""
        ...

    async def may_answer(self, question_id: str, actor: Actor) -> Said:
        """Whether this person may answer now; for opening a form. Checked again at submit."""
        ...

    async def card(self, key: str) -> Card:
        """The state behind a card's key ("ticket:T-0009", "question:…", "progress:…"). Raises `NotFound`."""
        ...
