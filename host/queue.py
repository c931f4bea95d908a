"""Whose turn it is: order, leases, stop, freeze (spec H28, H30).  One bad ticket never stops the queue."""

from __future__ import annotations

import logging
import secrets
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import anyio

from host import journal
from host.catalog import Catalog
from host.changes import ask_about_changes
from host.config import HostConfig
from host.errors import StaleLease, where
from host.lease import LEASE
from host.loop import LOOK_AGAIN, Loop
from host.port import Clock
from host.questions import Questions
from host.records import close_days
from host.signal import Signal
from host.store import outbox, tickets
from host.store.codec import TICKET
from host.store.engine import Store, Tx
from host.types import SERVICE, Actor, OutboxKind, Run, RunState, StopReason, Ticket, TicketState

logger = logging.getLogger(__name__)

TICK_SECONDS = 15.0


class Queue:
    """Workers that lease ready runs and advance them; a timer that expires questions."""

    def __init__(
        self, store: Store, loop: Loop, catalog: Catalog, questions: Questions, config: HostConfig, clock: Clock, changed: Signal
    ) -> None:
        self._store, self._loop, self._catalog, self._questions = store, loop, catalog, questions
        self._config, self._clock, self._changed = config, clock, changed
        self._owner = secrets.token_hex(4)
        self._working: dict[str, anyio.CancelScope] = {}

    # --- asking for work --------------------------------------------------------------------------------------------

    async def intake(self, ticket: Ticket) -> bool:
        """Take a ticket in once; False when it is known. Worked at once where the mode says so (spec H28)."""
        now = self._clock.now()
        async with self._store.write() as tx:
            if not await tickets.add_ticket(tx, ticket):
                return False
            await journal.append(tx, ticket.id, "", now, journal.Taken(ticket=_as_json(ticket)))
            await outbox.put(tx, OutboxKind.CARD, f"ticket:{ticket.id}", ticket.id, now)
            if self._config.mode == "on_arrival":
                await self.start(tx, ticket.id, SERVICE)
        self._changed.ring()
        return True

    async def start(
        self, tx: Tx, ticket_id: str, actor: Actor, queue_run: str = "", hint: str = "", resources: tuple[str, ...] = ()
    ) -> Run | None:
        """A new run over a ticket in the caller's transaction; None when one is under way."""
        latest = await tickets.latest_run(tx, ticket_id)
        if latest is not None and latest.state is not RunState.DONE:
            return None
        if latest is not None:
            await self._questions.cancel(tx, latest.id, "the ticket is worked again")
        number = secrets.token_hex(5)
        run = Run(
            id=f"run-{number}",
            ticket_id=ticket_id,
            state=RunState.READY,
            started_by=actor,
            started_at=self._clock.now(),
            queue_run=queue_run,
            hint=hint,
            resources=resources,
        )
        await tickets.add_run(tx, run)
        await tickets.set_ticket_state(tx, ticket_id, TicketState.WORKING)
        await outbox.put(tx, OutboxKind.CARD, f"ticket:{ticket_id}", ticket_id, self._clock.now())
        return run

    async def start_many(self, actor: Actor, count: int | None) -> tickets.QueueRun:
        """A queue run over waiting tickets, in order; `total` says how many were started."""
        queue_run = tickets.QueueRun("queue-" + secrets.token_hex(5), actor, self._clock.now(), 0, "")
        async with self._store.write() as tx:
            started = 0
            for ticket_id in await tickets.waiting_tickets(tx, count):
                started += await self.start(tx, ticket_id, actor, queue_run.id) is not None
            queue_run = tickets.QueueRun(queue_run.id, actor, queue_run.started_at, started, "")
            if started:
                await tickets.add_queue_run(tx, queue_run)
                await outbox.put(tx, OutboxKind.CARD, f"progress:{queue_run.id}", "", self._clock.now())
        self._changed.ring()
        return queue_run

    async def stop(self, actor: Actor, ticket_id: str | None = None) -> int:
        """Stop everything under way, or one ticket's run, at once, also while it waits (spec H28). Returns how many."""
        async with self._store.write() as tx:
            active = [r for r in await tickets.active_runs(tx) if ticket_id in (None, r.ticket_id)]
            for run in active:
                await self._questions.cancel(tx, run.id, f"stopped by {actor.name}")
                await tickets.cancel(tx, run.id)
                if run.queue_run and ticket_id is None:
                    await tickets.stop_queue_run(tx, run.queue_run, actor.name)
        for run in active:
            scope = self._working.get(run.id)
            if scope is not None:
                scope.cancel()
        self._changed.ring()
        return len(active)

    # --- doing it ---------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Runs until cancelled."""
        await self.recover()
        async with anyio.create_task_group() as group:
            for _ in range(self._config.limits.workers):
                group.start_soon(self._work)
            group.start_soon(self._tick)

    async def recover(self) -> None:
        """At a start: what the last process held is ready again. With several processes, its leases run out by themselves."""
        if self._store.single_process:
            async with self._store.write() as tx:
                await tickets.release_all(tx)
                await self._questions.lost(tx)
        await self._take_over_changes()

    async def expire(self) -> int:
        """Remind of what waits, and close what nobody answered in time; returns how many were closed (spec H20)."""
        return (await self._questions.look_at_the_clock()).ended

    async def _take_over_changes(self) -> None:
        """What servers changed meanwhile, through the pins, and what of it people are asked (spec H7)."""
        await self._catalog.refresh_changed()
        await ask_about_changes(self._store, self._catalog, self._questions, self._clock.now())

    async def _work(self) -> None:
        while True:
            try:
                busy = await self.work_one()
            except Exception as error:  # noqa: BLE001  the process's edge: a database that is busy now is not busy for ever
                logger.error("no work was taken: %s at %s", type(error).__name__, where(error))
                busy = False
            if not busy:
                await self._changed.wait(2.0)

    async def work_one(self) -> bool:
        """Lease the next ready run and advance it until it waits or ends; False when none is ready.

        What servers changed meanwhile is taken over here, between tickets, through the pins (spec H7).
        """
        await self._take_over_changes()
        async with self._store.write() as tx:
            seconds, alone, now = LEASE.total_seconds(), self._store.single_process, self._clock.now()
            if await tickets.dropped(tx, self._owner, tuple(self._working), now + LOOK_AGAIN):
                logger.error("a run was held by nobody; it is taken up again")
            run = await tickets.lease(tx, self._owner, now, seconds, alone=alone)
            scope = anyio.CancelScope()
            if run is not None:
                self._working[run.id] = scope
        if run is None:
            return False
        await self._advance(run, scope)
        return True

    async def _advance(self, run: Run, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._loop.advance(run)
            if scope.cancelled_caught:
                await self._loop.advance(run)  # ends it in order: what was begun is found out, nothing new starts
            await self._redraw_progress(run)
        except StaleLease:
            logger.warning("run %s was taken over by another worker", run.id)
        except Exception as error:  # noqa: BLE001  the worker's edge: the ticket goes to a person, the queue goes on
            logger.error("run failed: %s run=%s at %s", type(error).__name__, run.id, where(error))
            await self._fail(run, error)
        finally:
            if self._working.get(run.id) is scope:  # it may have been answered, and leased once more, meanwhile
                del self._working[run.id]
            self._changed.ring()

    async def _redraw_progress(self, run: Run) -> None:
        """The queue run's message counts what is worked and what waits, also when a run came to wait for a person."""
        if run.queue_run:
            async with self._store.write() as tx:
                await outbox.put(tx, OutboxKind.CARD, f"progress:{run.queue_run}", "", self._clock.now())

    async def _fail(self, run: Run, error: Exception) -> None:
        now = self._clock.now()
        words = f"an error of the program ({type(error).__name__}); the log says more. A person has to take this ticket"
        async with self._store.write() as tx:
            try:
                await tickets.guard(tx, run, now + LEASE)
            except StaleLease:
                return
            await self._loop.leave_calls(tx, run)
            await journal.append(tx, run.ticket_id, run.id, now, journal.Stopped(reason=StopReason.FAILED, words=words))
            await tickets.finish(tx, run.id, StopReason.FAILED)
            await self._questions.cancel(tx, run.id, "the run failed")
            await tickets.set_ticket_state(tx, run.ticket_id, TicketState.WAITING_FOR_US)
            await outbox.put(tx, OutboxKind.CARD, f"ticket:{run.ticket_id}", run.ticket_id, now)

    async def _tick(self) -> None:
        """One timer that reads the database, so that it survives restarts: reminders, expiry (spec H20), a day's end (H31)."""
        zone = ZoneInfo(self._config.hours.zone) if self._config.hours else UTC
        while True:
            try:
                await self.expire()
                await close_days(self._store, self._clock, zone)
            except Exception as error:  # noqa: BLE001  the process's edge: tried again with the next tick
                logger.error("the timer failed: %s at %s", type(error).__name__, where(error))
            await self._changed.wait(TICK_SECONDS)


def _as_json(ticket: Ticket) -> dict[str, Any]:
    loaded: dict[str, Any] = TICKET.dump_python(ticket, mode="json")
    return loaded
