"""Tickets, their runs and queue runs: whose turn it is, as rows (spec H28, H30, H33)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Row, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from host.errors import NotFound, StaleLease
from host.store.codec import ACTOR, TICKET, dumps, iso, moment, text
from host.store.engine import Tx
from host.store.tables import questions, queue_runs, runs, tickets
from host.types import Actor, Run, RunState, StopReason, Ticket, TicketState


async def add_ticket(tx: Tx, ticket: Ticket) -> bool:
    """False when the intake key (or the id) is known already."""
    row = {
        "id": ticket.id,
        "intake_key": ticket.intake_key,
        "state": TicketState.NEW.value,
        "customer_id": ticket.customer_id,
        "received_at": iso(ticket.received_at),
        "due_at": iso(ticket.due_at) if ticket.due_at else None,
        "data": text(TICKET, ticket),
    }
    known = or_(tickets.c.intake_key == ticket.intake_key, tickets.c.id == ticket.id)
    if (await tx.execute(select(tickets.c.id).where(known))).first():
        return False
    try:
        await tx.execute(insert(tickets).values(row))
    except IntegrityError:
        return False
    return True


async def ticket(tx: Tx, ticket_id: str) -> tuple[Ticket, TicketState]:
    row = (await tx.execute(select(tickets.c.data, tickets.c.state).where(tickets.c.id == ticket_id))).first()
    if row is None:
        raise NotFound(f"there is no ticket {ticket_id}")
    return TICKET.validate_json(row.data), TicketState(row.state)


async def set_ticket_state(tx: Tx, ticket_id: str, state: TicketState) -> None:
    await tx.execute(update(tickets).where(tickets.c.id == ticket_id).values(state=state.value))


async def waiting_tickets(tx: Tx, limit: int | None = None) -> tuple[str, ...]:
    """New tickets in the queue's order: due time, then age (spec H28)."""
    query = (
        select(tickets.c.id)
        .where(tickets.c.state == TicketState.NEW.value)
        .order_by(tickets.c.due_at.is_(None), tickets.c.due_at, tickets.c.received_at, tickets.c.id)
    )
    found = tuple((await tx.execute(query)).scalars())
    return found if limit is None else found[:limit]


async def counts(tx: Tx) -> dict[str, int]:
    rows = await tx.execute(select(tickets.c.state, func.count()).group_by(tickets.c.state))
    return {row[0]: row[1] for row in rows}


def _run(row: Row[tuple[object, ...]]) -> Run:
    return Run(
        id=row.id,
        ticket_id=row.ticket_id,
        state=RunState(row.state),
        started_by=ACTOR.validate_json(row.started_by),
        started_at=moment(row.started_at),
        stop_reason=StopReason(row.stop_reason) if row.stop_reason else None,
        cancelled=row.cancelled,
        fence=row.fence,
        queue_run=row.queue_run,
        hint=row.hint,
        resources=tuple(json.loads(row.resources)),
    )


async def add_run(tx: Tx, run: Run) -> None:
    """`position` orders ready runs: due time, then age, then the order they were asked for."""
    row = (await tx.execute(select(tickets.c.due_at, tickets.c.received_at).where(tickets.c.id == run.ticket_id))).one()
    await tx.execute(
        insert(runs).values(
            id=run.id,
            ticket_id=run.ticket_id,
            state=run.state.value,
            started_by=text(ACTOR, run.started_by),
            started_at=iso(run.started_at),
            position=f"{row.due_at or '9999'} {row.received_at} {run.ticket_id}",
            cancelled=False,
            fence=0,
            queue_run=run.queue_run,
            hint=run.hint,
            resources=dumps(list(run.resources)),
        )
    )


async def run(tx: Tx, run_id: str) -> Run:
    row = (await tx.execute(select(runs).where(runs.c.id == run_id))).first()
    if row is None:
        raise NotFound(f"there is no run {run_id}")
    return _run(row)


async def latest_run(tx: Tx, ticket_id: str) -> Run | None:
    newest = (runs.c.started_at.desc(), runs.c.state == RunState.DONE.value, runs.c.id.desc())  # of one moment, what goes on
    query = select(runs).where(runs.c.ticket_id == ticket_id).order_by(*newest).limit(1)
    row = (await tx.execute(query)).first()
    return _run(row) if row else None


async def active_runs(tx: Tx, queue_run: str | None = None) -> tuple[Run, ...]:
    query = select(runs).where(runs.c.state != RunState.DONE.value).order_by(runs.c.position)
    if queue_run is not None:
        query = query.where(runs.c.queue_run == queue_run)
    return tuple(_run(row) for row in await tx.execute(query))


async def lease(tx: Tx, owner: str, now: datetime, seconds: float, *, alone: bool) -> Run | None:
    """Take the next ready run, or one whose worker went silent; the fence rises (spec H30).

    `alone`: this process has no other beside it, so that nobody's silence means anything. A ready run with a time in
    `leased_until` was put off until then.
    """
    ready = and_(runs.c.state == RunState.READY.value, or_(runs.c.leased_until.is_(None), runs.c.leased_until < iso(now)))
    silent = and_(runs.c.state == RunState.WORKING.value, runs.c.leased_until < iso(now))
    free = ready if alone else or_(ready, silent)
    query = select(runs.c.id).where(free).order_by(runs.c.position).limit(1).with_for_update(skip_locked=True)
    run_id = (await tx.execute(query)).scalar()
    if run_id is None:
        return None
    await tx.execute(
        update(runs)
        .where(runs.c.id == run_id)
        .values(
            state=RunState.WORKING.value,
            owner=owner,
            leased_until=iso(now + timedelta(seconds=seconds)),
            fence=runs.c.fence + 1,
        )
    )
    return await run(tx, run_id)


async def guard(tx: Tx, leased: Run, until: datetime) -> None:
    """Every write of a worker begins here: prolongs the lease, or raises `StaleLease` when another holds it."""
    done = await tx.execute(
        update(runs)
        .where(runs.c.id == leased.id, runs.c.fence == leased.fence, runs.c.state != RunState.DONE.value)
        .values(leased_until=iso(until))
    )
    if done.rowcount != 1:
        raise StaleLease(f"run {leased.id} is another worker's now")


async def wait(tx: Tx, run_id: str) -> bool:
    """Put a run to rest while a question of it is open; False when none is and it must go on.

    One that was answered meanwhile is ready, and whoever leases it next goes on: two workers never go on with one run.
    """
    asked = select(questions.c.id).where(questions.c.run_id == run_id, questions.c.state == "open", questions.c.call_id != "")
    if (await tx.execute(asked)).first() is None:
        return (await run(tx, run_id)).state is RunState.READY
    await _set(tx, run_id, RunState.WAITING)
    return True


async def wake(tx: Tx, run_id: str) -> None:
    """Make a waiting run ready; one that works or is done stays as it is."""
    waiting = and_(runs.c.id == run_id, runs.c.state == RunState.WAITING.value)
    await tx.execute(update(runs).where(waiting).values(state=RunState.READY.value, owner=None, leased_until=None))


async def put_off(tx: Tx, run_id: str, until: datetime) -> None:
    """Give a run back; nobody takes it before `until`."""
    back = {"state": RunState.READY.value, "owner": None, "leased_until": iso(until)}
    live = and_(runs.c.id == run_id, runs.c.state != RunState.DONE.value)
    await tx.execute(update(runs).where(live).values(back))


async def _set(tx: Tx, run_id: str, state: RunState) -> None:
    live = and_(runs.c.id == run_id, runs.c.state != RunState.DONE.value)  # what is over stays over
    await tx.execute(update(runs).where(live).values(state=state.value, owner=None, leased_until=None))


async def dropped(tx: Tx, owner: str, held: Collection[str], until: datetime) -> int:
    """What this worker's process holds by its rows and not in fact: an error came between. Ready again at `until`."""
    lost = and_(runs.c.state == RunState.WORKING.value, runs.c.owner == owner, runs.c.id.not_in(held))
    back = {"state": RunState.READY.value, "owner": None, "leased_until": iso(until)}
    return (await tx.execute(update(runs).where(lost).values(back))).rowcount


async def finish(tx: Tx, run_id: str, reason: StopReason) -> None:
    await tx.execute(
        update(runs).where(runs.c.id == run_id).values(state=RunState.DONE.value, stop_reason=reason.value, owner=None)
    )


async def cancel(tx: Tx, run_id: str) -> None:
    """Mark a run as cancelled and let it be picked up, so that the loop ends it in order."""
    live = and_(runs.c.id == run_id, runs.c.state != RunState.DONE.value)
    await tx.execute(update(runs).where(live).values(cancelled=True))
    await wake(tx, run_id)


async def release_all(tx: Tx) -> int:
    """At the start of the only process: what the last one held is ready again."""
    working = runs.c.state == RunState.WORKING.value
    done = await tx.execute(update(runs).where(working).values(state=RunState.READY.value, owner=None, leased_until=None))
    return done.rowcount


@dataclass(frozen=True, slots=True)
class QueueRun:
    id: str
    started_by: Actor
    started_at: datetime
    total: int
    stopped_by: str


async def add_queue_run(tx: Tx, queue_run: QueueRun) -> None:
    await tx.execute(
        insert(queue_runs).values(
            id=queue_run.id,
            started_by=text(ACTOR, queue_run.started_by),
            started_at=iso(queue_run.started_at),
            total=queue_run.total,
            stopped_by="",
        )
    )


async def queue_run(tx: Tx, queue_run_id: str | None = None) -> QueueRun | None:
    """One by its id, or the newest."""
    query = select(queue_runs).order_by(queue_runs.c.started_at.desc(), queue_runs.c.id).limit(1)
    if queue_run_id is not None:
        query = query.where(queue_runs.c.id == queue_run_id)
    row = (await tx.execute(query)).first()
    if row is None:
        return None
    return QueueRun(row.id, ACTOR.validate_json(row.started_by), moment(row.started_at), row.total, row.stopped_by)


async def stop_queue_run(tx: Tx, queue_run_id: str, by: str) -> None:
    await tx.execute(update(queue_runs).where(queue_runs.c.id == queue_run_id).values(stopped_by=by))


async def runs_of(tx: Tx, queue_run_id: str) -> Sequence[Run]:
    query = select(runs).where(runs.c.queue_run == queue_run_id).order_by(runs.c.position)
    return [_run(row) for row in await tx.execute(query)]
