"""Where consent happens: ask, answer once, remind, expire, cancel (spec H18-H22).

A question is a row; asking writes it, the journal's entry and the card's delivery in one transaction and puts the run to rest. An
answer counts for exactly one caller, and only while exact arguments and pinned definition are what was shown.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from host import journal
from host.click_words import DONE, why_closed, wrong_person
from host.config import HostConfig
from host.forms import read_answer, read_fields
from host.hours import moments
from host.port import Clock
from host.signal import Signal
from host.store import outbox, tickets
from host.store import questions as rows
from host.store.codec import dumps
from host.store.engine import Store, Tx
from host.types import (
    Action,
    Actor,
    Answer,
    AnswerResult,
    Approval,
    Json,
    NotTaken,
    OutboxKind,
    Question,
    QuestionKind,
    QuestionState,
    RoleName,
    Run,
    Taken,
)

_ACTIONS: Mapping[QuestionKind, tuple[Action, ...]] = {
    QuestionKind.CONSENT: ("approve", "decline"),
    QuestionKind.INPUT_REQUEST: ("accept", "decline", "cancel"),
    QuestionKind.SIGN_OFF: ("send", "edit_and_send", "reject", "work_again"),
    QuestionKind.CHANGED_TOOL: ("accept", "decline"),
    QuestionKind.MAY_HAVE_RUN: ("it_ran", "it_did_not_run"),
}


APPROVING: frozenset[Action] = frozenset({"approve", "accept"})
"""The answers of which a question may need several."""

Then = Callable[[Tx, Question], Awaitable[None]]


def digest(tool: str, arguments: Mapping[str, Json]) -> str:
    """What an answer is bound to: the exact tool and arguments, or the exact text."""
    return hashlib.sha256(f"{tool}\n{dumps(arguments)}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Ask:
    """What to put to people; see `Question` for `payload` by kind."""

    kind: QuestionKind
    call_id: str
    server: str
    roles: tuple[RoleName, ...]
    digest: str
    definition: str
    payload: Mapping[str, Json]
    needed: int = 1
    resumable: bool = True


@dataclass(frozen=True, slots=True)
class Late:
    """What one look at the clock came to: questions that were reminded of, and that ended unanswered."""

    reminded: int
    ended: int


class Questions:
    """`definition_of(tool)` is the digest of a tool's definition as pinned now, "" when it can't be used."""

    def __init__(
        self, store: Store, config: HostConfig, clock: Clock, changed: Signal, definition_of: Callable[[str], str]
    ) -> None:
        self._store, self._config, self._clock, self._changed = store, config, clock, changed
        self._definition_of = definition_of

    async def ask(self, tx: Tx, run: Run | None, ask: Ask) -> Question:
        """Write the question in the caller's transaction; a question about a call puts its run to rest. One of no run is the
        house's: a changed tool."""
        now = self._clock.now()
        allowed = self._config.limits.hours_for.get(ask.kind, self._config.limits.question_hours)
        *remind_at, deadline = moments(now, allowed, self._config.hours)
        question = Question(
            id="q" + secrets.token_hex(8),
            kind=ask.kind,
            state=QuestionState.OPEN,
            ticket_id=run.ticket_id if run else journal.HOUSE,
            run_id=run.id if run else "",
            call_id=ask.call_id,
            server=ask.server,
            roles=ask.roles,
            digest=ask.digest,
            definition=ask.definition,
            payload=ask.payload,
            asked_at=now,
            deadline=deadline,
            needed=ask.needed,
            remind_at=tuple(remind_at),
            resumable=ask.resumable,
        )
        await rows.add(tx, question)
        await journal.append(tx, question.ticket_id, question.run_id, now, _asked(question))
        await self._redraw(tx, question)
        if ask.call_id:
            await tickets.wait(tx, question.run_id)
        return question

    async def may_answer(self, question_id: str, actor: Actor, answer: Answer | None = None) -> NotTaken | None:
        """None when this person may answer now: with this answer, or with an approving one where none is given yet."""
        async with self._store.read() as tx:
            question = await rows.get(tx, question_id)
        unfit = self._unfit(question, actor, answer) if answer is not None else self._barred(question, actor)
        return why_closed(question, self._clock.now()) or wrong_person(question, actor) or unfit

    async def answer(
        self, question_id: str, actor: Actor, answer: Answer, then: Then | None = None, bound: str = ""
    ) -> AnswerResult:
        """One answer of many counts; every other one is told why it does not. `then` runs in the same transaction as the end.

        `bound` is what edited arguments are bound to: the digest of the call as it was checked with them (spec H21).
        """
        async with self._store.write() as tx:
            question = await rows.get(tx, question_id)
            refused = why_closed(question, self._clock.now()) or wrong_person(question, actor)
            refused = refused or self._unfit(question, actor, answer)
            if refused is not None:
                return refused
            read = _as_asked(question, answer)
            if isinstance(read, NotTaken):
                return read
            answer = read
            if self._changed_since(question):
                note = "the tool's definition changed after this was asked"
                await self.supersede(tx, question, note)
                return NotTaken(f"Your answer does not count: {note}. It is checked again.")
            if answer.action in APPROVING and len(question.approvals) + 1 < question.needed:
                return await self._approve(tx, question, actor, answer)
            closed = await self._close(tx, question, QuestionState.ANSWERED, actor, answer, bound=bound)
            if then is not None:
                await then(tx, closed)
        self._changed.ring()
        return Taken(closed, f"{DONE[answer.action]}.")

    async def _approve(self, tx: Tx, question: Question, actor: Actor, answer: Answer) -> AnswerResult:
        """One of several: the question stays open for somebody else (spec H19)."""
        approval = Approval(actor, self._clock.now(), answer)
        if not await rows.approve(tx, question, approval):
            return NotTaken("Somebody else answered at the same moment. Look at the card and press again.")
        entry = journal.Approved(
            question_id=question.id,
            question_kind=question.kind,
            call_id=question.call_id,
            by=actor.subject,
            user=actor.user,
            action=answer.action,
            content=answer.content,
        )
        await journal.append(tx, question.ticket_id, question.run_id, approval.at, entry)
        await self._redraw(tx, question)
        noted = replace(question, approvals=(*question.approvals, approval))
        return Taken(noted, f"Noted, {len(noted.approvals)} of {question.needed}: somebody else has to approve it too.")

    async def look_at_the_clock(self) -> Late:
        """Reminds those who may decide, and ends what nobody answered in time; wakes the runs that waited (spec H20).

        A question whose card never reached anybody did not expire: it was undeliverable.
        """
        now = self._clock.now()
        async with self._store.read() as tx:  # the writer's lock is taken only when there is something to write
            if not any(
                question.deadline <= now or _due(question, now) > question.reminded for question in await rows.open_ones(tx)
            ):
                return Late(0, 0)
        async with self._store.write() as tx:
            reminded = [question for question in await rows.open_ones(tx) if await self._remind(tx, question, now)]
            late = await rows.overdue(tx, now)
            for question in late:
                await self._end_unanswered(tx, question)
        if late or reminded:
            self._changed.ring()
        return Late(len(reminded), len(late))

    async def _remind(self, tx: Tx, question: Question, now: datetime) -> bool:
        number = _due(question, now)
        if number <= question.reminded or question.deadline <= now or not await rows.reminded(tx, question, number):
            return False
        entry = journal.Reminded(question_id=question.id, call_id=question.call_id, number=number)
        await journal.append(tx, question.ticket_id, question.run_id, now, entry)
        notice = {"question": question.id, "roles": list(question.roles), "number": number}
        await outbox.put(tx, OutboxKind.NOTICE, f"reminder:{question.id}:{number}", question.ticket_id, now, notice)
        await self._redraw(tx, question)
        return True

    async def _end_unanswered(self, tx: Tx, question: Question) -> None:
        card = await outbox.by_key(tx, f"question:{question.id}")
        if card is None or (card[0].receipt is None and not card[0].uncertain):  # one that may have arrived was maybe seen
            await self._close(tx, question, QuestionState.UNDELIVERABLE, note="its card reached nobody; nothing ran")
        else:
            await self._close(tx, question, QuestionState.EXPIRED, note="nobody answered in time; nothing ran")

    async def undeliverable(self, tx: Tx, question_id: str, why: str) -> None:
        """Its card can't be brought to anybody (spec H12). Wakes the run that waited."""
        question = await rows.get(tx, question_id)
        await self._close(tx, question, QuestionState.UNDELIVERABLE, note=f"its card could not be posted: {why}")
        self._changed.ring()

    async def take_back(self, tx: Tx, question: Question, note: str) -> None:
        """An open question that whoever asked it no longer wants answered, in the caller's transaction."""
        await self._close(tx, question, QuestionState.CANCELLED, note=note)
        self._changed.ring()

    async def did_not_count(self, tx: Tx, question_id: str, note: str) -> None:
        """An answer that was taken, and that does not cover what is to be done, or that the server could not use: people are
        asked anew (spec H15, H18). What was said stays in the entry."""
        question = await rows.get(tx, question_id)
        answer, by = question.answer, question.answered_by
        await rows.supersede(tx, question_id, note)
        entry = journal.Closed(
            question_id=question_id,
            question_kind=question.kind,
            call_id=question.call_id,
            state=QuestionState.SUPERSEDED,
            by=by.subject if by else "",
            user=by.user if by else "",
            action=answer.action if answer else None,
            reason=note,
            content=answer.content if answer else {},
        )
        await journal.append(tx, question.ticket_id, question.run_id, self._clock.now(), entry)
        await self._redraw(tx, question)

    async def lost(self, tx: Tx) -> None:
        """At a start: a call that stayed open at an older server died with the last process (spec H15)."""
        for question in await rows.open_ones(tx):
            if not question.resumable:
                note = "the program was started again while the server waited for the answer: what became of it is found out"
                await self._close(tx, question, QuestionState.SUPERSEDED, note=note)

    async def ended(self, question_id: str) -> Question:
        """Wait for a question's end; for the one call that stays open meanwhile (spec H15). Its deadline bounds the wait."""
        while True:
            async with self._store.read() as tx:
                question = await rows.get(tx, question_id)
            if question.state is not QuestionState.OPEN:
                return question
            await self._changed.wait(2.0)

    async def cancel(self, tx: Tx, run_id: str, note: str, state: QuestionState = QuestionState.CANCELLED) -> None:
        """Close every open question of a run, in the caller's transaction."""
        for question in await rows.of_run(tx, run_id):
            if question.state is QuestionState.OPEN:
                await self._close(tx, question, state, note=note)

    def _unfit(self, question: Question, actor: Actor, answer: Answer) -> NotTaken | None:
        if answer.action not in _ACTIONS[question.kind]:
            return NotTaken("That button does not belong to this card. Nothing was changed.")
        if question.kind is QuestionKind.INPUT_REQUEST and answer.action == "accept":
            return self._barred(question, actor)
        if answer.action in APPROVING and (barred := self._barred(question, actor)):
            return barred
        if question.kind is QuestionKind.CONSENT:
            fixed = set(answer.content) - set(question.payload.get("may_edit", ()))
            if fixed:
                return NotTaken(f"{', '.join(sorted(fixed))} may not be edited here. Nothing was changed.")
        return None

    def _barred(self, question: Question, actor: Actor) -> NotTaken | None:
        """Two different people where two are needed, and nobody releases what they approved (spec H19)."""
        if actor.user in [approval.actor.user for approval in question.approvals]:
            return NotTaken(f"You approved this already: it needs {question.needed} different people.")
        if question.kind is QuestionKind.INPUT_REQUEST and self._config.four_eyes and actor.user in released_by_others(question):
            return NotTaken("You approved this call yourself: another person has to release it.")
        return None

    def _changed_since(self, question: Question) -> bool:
        tool = question.payload.get("tool", "")
        bound = question.kind in (QuestionKind.CONSENT, QuestionKind.INPUT_REQUEST)
        return bound and self._definition_of(str(tool)) != question.definition

    async def supersede(self, tx: Tx, question: Question, note: str) -> None:
        """An open question that is out of date, in the caller's transaction."""
        await self._close(tx, question, QuestionState.SUPERSEDED, note=note)
        self._changed.ring()

    async def _close(
        self,
        tx: Tx,
        question: Question,
        state: QuestionState,
        by: Actor | None = None,
        answer: Answer | None = None,
        note: str = "",
        bound: str = "",
    ) -> Question:
        now = self._clock.now()
        if not await rows.close(tx, question.id, state, now, by, answer, note):
            return question
        entry = journal.Closed(
            question_id=question.id,
            question_kind=question.kind,
            call_id=question.call_id,
            state=state,
            by=by.subject if by else "",
            user=by.user if by else "",
            action=answer.action if answer else None,
            reason=answer.reason if answer else note,
            content=answer.content if answer else {},
            text=answer.text if answer else "",
            digest=bound,
            users=tuple([approval.actor.user for approval in question.approvals] + ([by.user] if by else [])),
        )
        await journal.append(tx, question.ticket_id, question.run_id, now, entry)
        await self._redraw(tx, question)
        if question.run_id:
            await tickets.wake(tx, question.run_id)
        return replace(question, state=state, answered_by=by, answered_at=now, answer=answer, note=note)

    async def _redraw(self, tx: Tx, question: Question) -> None:
        now = self._clock.now()
        await outbox.put(tx, OutboxKind.CARD, f"question:{question.id}", question.ticket_id, now)
        if question.ticket_id:
            await outbox.put(tx, OutboxKind.CARD, f"ticket:{question.ticket_id}", question.ticket_id, now)


def _due(question: Question, now: datetime) -> int:
    """How many of its reminders should have been given by now."""
    return sum(1 for at in question.remind_at if at <= now)


def released_by_others(question: Question) -> tuple[str, ...]:
    """The users who approved the call whose release this question asks: another person gives it (spec H19)."""
    approved = question.payload.get("approved_by") or ()
    return (approved,) if isinstance(approved, str) else tuple(approved)


def _as_asked(question: Question, answer: Answer) -> Answer | NotTaken:
    """A form's answer as the form wants it, errors beside their fields (spec H22). An address to open has no fields."""
    if question.kind is not QuestionKind.INPUT_REQUEST or answer.action != "accept":
        return answer
    if "url" in question.payload:
        return NotTaken("There is nothing to fill in here.") if answer.content else answer
    fields = read_fields(question.payload["schema"])
    if isinstance(fields, str):
        return NotTaken(f"This form can't be answered: {fields}. Decline it, or cancel it.")
    read = read_answer(fields, answer.content)
    if read.errors:
        words = "; ".join(f"{name}: {why}" for name, why in read.errors.items())
        return NotTaken(f"Please correct the form: {words}", read.errors)
    return replace(answer, content=read.content)


def _asked(question: Question) -> journal.Asked:
    return journal.Asked(
        question_id=question.id,
        question_kind=question.kind,
        call_id=question.call_id,
        server=question.server,
        roles=question.roles,
        deadline=question.deadline,
        digest=question.digest,
        definition=question.definition,
        payload=question.payload,
        needed=question.needed,
        resumable=question.resumable,
    )
