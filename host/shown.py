"""What people are shown, assembled from journal and rows: cards, reminders, the state of everything (spec B2).

Stands under the front door. Changes nothing, and refuses to know how a card is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from host import history, journal
from host.catalog import Catalog
from host.config import HostConfig
from host.errors import NotFound
from host.port import People
from host.questions import APPROVING, released_by_others
from host.store import journal as journal_rows
from host.store import outbox, servers, tickets
from host.store import questions as question_rows
from host.store.engine import Store, Tx
from host.types import (
    Flag,
    Question,
    QuestionKind,
    QuestionState,
    Run,
    RunState,
    ServerHealth,
    StopReason,
    Ticket,
    TicketState,
    ToolCallRecord,
)
from host.views import (
    Card,
    DraftView,
    ProgressView,
    QuestionView,
    ReminderView,
    StatusView,
    TicketView,
    ToolView,
)
from models.port import Model

Health = Callable[[], tuple[ServerHealth, ...]]


class Shown:
    """Every view of the host's state; each is read anew."""

    def __init__(self, store: Store, catalog: Catalog, health: Health, config: HostConfig, model: Model, people: People) -> None:
        self._store, self._catalog, self._health = store, catalog, health
        self._config, self._model, self._people = config, model, people

    async def status(self) -> StatusView:
        async with self._store.read() as tx:
            counts = await tickets.counts(tx)
            waiting = await question_rows.open_ones(tx)
            frozen = await servers.frozen(tx)
            newest = await tickets.queue_run(tx)
            running = await self._progress(tx, newest) if newest else None
        off = tuple(tool for tool in self._catalog.tools() if tool.off)
        model = self._model.info
        name = f"{model.name} ({model.kind})"
        return StatusView(counts, waiting, self._health(), tuple(frozen), running, name, off)

    async def card(self, key: str) -> Card:
        """The state behind a card's key ("ticket:T-9001", "question:…", "progress:…"). Raises `NotFound`."""
        kind, _, name = key.partition(":")
        async with self._store.read() as tx:
            match kind:
                case "ticket":
                    return await self._ticket_card(tx, name)
                case "question":
                    card = await self._question_card(tx, await question_rows.get(tx, name))
                    return replace(card, nobody=await self._nobody(card.question))
                case "progress":
                    queue_run = await tickets.queue_run(tx, name)
                    return await self._progress(tx, queue_run) if queue_run else _no_card(key)
                case _:
                    return _no_card(key)

    async def reminder(self, question_id: str, number: int) -> ReminderView | None:
        """What a reminder says; None when its question has an end by now."""
        async with self._store.read() as tx:
            question = await question_rows.get(tx, question_id)
        open_ = question.state is QuestionState.OPEN
        return ReminderView(question, _headline(question), number) if open_ else None

    async def _nobody(self, question: Question) -> bool:
        """Whether a waiting question has nobody who may decide it; False when that can't be told."""
        if question.state is not QuestionState.OPEN:
            return False
        holding = await self._people.holding(question.roles)
        if holding is None:
            return False
        out = released_by_others(question) if self._config.four_eyes and question.kind is QuestionKind.INPUT_REQUEST else ()
        done = {approval.actor.user for approval in question.approvals}
        return len(holding - set(out) - done) < question.needed - len(done)

    async def _ticket_card(self, tx: Tx, ticket_id: str) -> TicketView:
        ticket, state = await tickets.ticket(tx, ticket_id)
        run = await tickets.latest_run(tx, ticket_id)
        waiting = tuple(q for q in await question_rows.of_ticket(tx, ticket_id) if q.state is QuestionState.OPEN)
        stopped = None
        if run is not None and run.state is RunState.DONE:
            stopped = history.fold(await journal.entries(tx, ticket_id), run.id).stopped
        return TicketView(ticket, state, run, _line(state, run, waiting, stopped), waiting)

    async def _question_card(self, tx: Tx, question: Question) -> QuestionView | ToolView | DraftView:
        claims = next((h.claims for h in self._health() if h.prefix == question.server), "")
        if question.kind is QuestionKind.CHANGED_TOOL:
            return ToolView(question, _headline(question), claims)
        ticket, _ = await tickets.ticket(tx, question.ticket_id)
        logs = history.runs(await journal.entries(tx, question.ticket_id))
        records = history.records(logs)
        if question.kind is QuestionKind.SIGN_OFF:
            return await self._draft_card(tx, question, ticket, logs)
        ended = next((r for r in records if r.call_id == question.call_id), None)
        call = next((c for log in logs for c in log.calls if c.written.id == question.call_id), None)
        outcome = call.ended.outcome if ended is not None and call is not None and call.ended is not None else None
        earlier = tuple(r for r in records if r.call_id != question.call_id)
        return QuestionView(question, ticket, _headline(question), outcome, earlier, claims)

    async def _draft_card(self, tx: Tx, question: Question, ticket: Ticket, logs: list[history.RunLog]) -> DraftView:
        mail = await outbox.by_key(tx, f"mail:{question.id}")
        delivery, receipt = "", ""
        if mail is not None:
            item, state, why = mail
            delivery = {"due": "sending", "trying": "sending", "done": "sent"}.get(state, state)
            receipt = str((item.receipt or {}).get("receipt", "")) or why
        edited = question.answer.text if question.answer and question.answer.action == "edit_and_send" else ""
        flags = tuple(Flag(**flag) for flag in question.payload["flags"])
        return DraftView(
            question=question,
            ticket=ticket,
            text=edited or str(question.payload["text"]),
            flags=flags,
            calls=_named(history.records(logs), await question_rows.of_ticket(tx, ticket.id)),
            stop_reason=StopReason(question.payload["stop_reason"]),
            delivery=delivery,
            receipt=receipt,
            on_flag=self._config.review.on_flag,
            model=logs[-1].turns[-1].replied.model if logs and logs[-1].turns else "",
        )

    async def _progress(self, tx: Tx, queue_run: tickets.QueueRun) -> ProgressView:
        runs = await tickets.runs_of(tx, queue_run.id)
        states = [run.state for run in runs]
        outcomes = await journal_rows.count_outcomes(tx, tuple(run.id for run in runs))
        return ProgressView(
            id=queue_run.id,
            started_by=queue_run.started_by.name,
            total=queue_run.total,
            worked=states.count(RunState.DONE),
            waiting=states.count(RunState.WAITING),
            running=any(state is not RunState.DONE for state in states),
            stopped_by=queue_run.stopped_by,
            outcomes=outcomes,
        )


def _headline(question: Question) -> str:
    return str(question.payload.get("headline") or question.payload.get("message") or question.server)


def _named(records: Sequence[ToolCallRecord], questions: Sequence[Question]) -> tuple[ToolCallRecord, ...]:
    """The call log as people read it: who consented and who answered the server, by name."""
    people: dict[str, list[str]] = {}
    for question in questions:
        names = [approval.actor.name for approval in question.approvals]
        if question.answered_by is not None and question.answer is not None and question.answer.action in APPROVING:
            people.setdefault(question.call_id, []).extend([*names, question.answered_by.name])
    return tuple(replace(r, allowed_by=" and ".join(people[r.call_id])) if r.call_id in people else r for r in records)


def _no_card(key: str) -> Card:
    raise NotFound(f"there is no card {key}")


def _line(state: TicketState, run: Run | None, waiting: tuple[Question, ...], stopped: journal.Stopped | None) -> str:
    """Where a ticket stands, in words."""
    if waiting:
        return _WAITS[waiting[-1].kind]
    match state:
        case TicketState.NEW:
            return "New: nobody has worked this yet."
        case TicketState.WORKING:
            return "The model is working on it."
        case TicketState.WAITING_FOR_CUSTOMER:
            return "Answered: waiting for the customer."
        case TicketState.DONE:
            return "Done."
        case TicketState.WAITING_FOR_US:
            return f"Needs a person: {stopped.words}." if run is not None and stopped is not None else "Needs a person."


_WAITS = {
    QuestionKind.CONSENT: "Waiting for consent (see the thread).",
    QuestionKind.INPUT_REQUEST: "Waiting for a lead's answer (see the thread).",
    QuestionKind.SIGN_OFF: "A draft waits for sign-off (see the thread).",
    QuestionKind.CHANGED_TOOL: "Waiting for an admin to look at a changed tool.",
    QuestionKind.MAY_HAVE_RUN: "A call may have run: somebody has to look.",
}
