"""Whose turn it is: order, leases, fences, rest (spec H28, H30).  Working and stopping whole tickets is in tests/scenarios."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from host.errors import StaleLease
from host.store import tickets
from host.store.engine import Store
from host.types import SERVICE, Run, RunState, StopReason, Ticket

pytestmark = pytest.mark.anyio


@pytest.fixture
def add(store: Store, clock: Any, ticket: Ticket) -> Any:
    """`add("T-1", due=hours, age=hours)`: a ticket with a ready run."""

    async def added(ticket_id: str, *, due: float | None = None, age: float = 1) -> Run:
        now = clock.now()
        due_at = now + timedelta(hours=due) if due is not None else None
        one = replace(ticket, id=ticket_id, intake_key=ticket_id, due_at=due_at, received_at=now - timedelta(hours=age))
        run = Run(f"run-{ticket_id}", ticket_id, RunState.READY, SERVICE, now)
        async with store.write() as tx:
            assert await tickets.add_ticket(tx, one)
            await tickets.add_run(tx, run)
        return run

    return added


@pytest.fixture
def lease(store: Store, clock: Any) -> Any:
    async def leased(owner: str = "a") -> Run | None:
        async with store.write() as tx:
            return await tickets.lease(tx, owner, clock.now(), 120, alone=False)

    return leased


async def test_what_is_due_first_is_worked_first_then_what_is_oldest(add: Any, lease: Any) -> None:
    await add("T-1", age=9)
    await add("T-2", due=5, age=1)
    await add("T-3", due=2, age=1)
    await add("T-4", due=2, age=3)
    order = [run.ticket_id for _ in range(4) if (run := await lease())]
    assert order == ["T-4", "T-3", "T-2", "T-1"]
    assert await lease() is None


async def test_new_tickets_wait_in_the_same_order(store: Store, add: Any) -> None:
    await add("T-1", age=9)
    await add("T-2", due=5)
    async with store.read() as tx:
        assert await tickets.waiting_tickets(tx) == ("T-2", "T-1")
        assert await tickets.waiting_tickets(tx, 1) == ("T-2",)


async def test_a_silent_workers_run_is_taken_over_and_its_late_write_is_refused(
    store: Store, clock: Any, add: Any, lease: Any
) -> None:
    await add("T-1")
    first = await lease("a")
    assert first is not None
    assert await lease("b") is None, "it is a's"
    clock.move(seconds=121)
    second = await lease("b")
    assert second is not None
    assert second.fence == first.fence + 1
    until = clock.now() + timedelta(seconds=120)
    async with store.write() as tx:
        await tickets.guard(tx, second, until)
        with pytest.raises(StaleLease):
            await tickets.guard(tx, first, until)


async def test_every_write_prolongs_the_lease(store: Store, clock: Any, add: Any, lease: Any) -> None:
    await add("T-1")
    run = await lease("a")
    clock.move(seconds=100)
    async with store.write() as tx:
        await tickets.guard(tx, run, clock.now() + timedelta(seconds=120))
    clock.move(seconds=100)
    assert await lease("b") is None


async def test_a_finished_run_takes_no_more_writes(store: Store, clock: Any, add: Any, lease: Any) -> None:
    await add("T-1")
    run = await lease()
    async with store.write() as tx:
        await tickets.finish(tx, run.id, StopReason.ANSWERED)
        with pytest.raises(StaleLease):
            await tickets.guard(tx, run, clock.now())


async def test_the_only_process_takes_back_what_the_last_one_held(store: Store, add: Any, lease: Any) -> None:
    await add("T-1")
    await lease("a")
    async with store.write() as tx:
        assert await tickets.release_all(tx) == 1
    assert await lease("b") is not None


async def test_a_run_without_an_open_question_does_not_rest(store: Store, add: Any, lease: Any) -> None:
    await add("T-1")
    run = await lease()
    async with store.write() as tx:
        assert await tickets.wait(tx, run.id) is False


async def test_a_run_that_was_answered_before_it_rested_is_left_to_whoever_leases_it_next(
    store: Store, add: Any, lease: Any
) -> None:
    run = await add("T-1")
    async with store.write() as tx:
        assert await tickets.wait(tx, run.id) is True, "ready: two workers never go on with one run"


async def test_a_cancelled_run_is_picked_up_so_that_it_ends_in_order(store: Store, add: Any, lease: Any) -> None:
    await add("T-1")
    async with store.write() as tx:
        await tickets.cancel(tx, "run-T-1")
    run = await lease()
    assert run is not None
    assert run.cancelled is True


async def test_a_run_that_is_put_off_is_not_taken_before_its_time(store: Store, clock: Any, ticket: Ticket) -> None:
    async with store.write() as tx:
        await tickets.add_ticket(tx, ticket)
        await tickets.add_run(tx, Run("run-1", ticket.id, RunState.READY, SERVICE, clock.now()))
        assert await tickets.lease(tx, "one", clock.now(), 120, alone=True) is not None
        await tickets.put_off(tx, "run-1", clock.now() + timedelta(seconds=5))
        assert await tickets.lease(tx, "one", clock.now(), 120, alone=True) is None
        clock.move(seconds=6)
        assert await tickets.lease(tx, "one", clock.now(), 120, alone=True) is not None


async def test_a_process_that_is_alone_never_takes_its_own_slow_run_twice(store: Store, clock: Any, ticket: Ticket) -> None:
    async with store.write() as tx:
        await tickets.add_ticket(tx, ticket)
        await tickets.add_run(tx, Run("run-1", ticket.id, RunState.READY, SERVICE, clock.now()))
        assert await tickets.lease(tx, "one", clock.now(), 120, alone=True) is not None
        clock.move(seconds=600)
        assert await tickets.lease(tx, "one", clock.now(), 120, alone=True) is None


async def test_of_runs_of_one_moment_the_one_under_way_is_the_latest(store: Store, clock: Any, add: Any) -> None:
    await add("T-1")
    async with store.write() as tx:
        await tickets.finish(tx, "run-T-1", StopReason.ANSWERED)
        for name in ("run-A", "run-Z"):
            await tickets.add_run(tx, Run(name, "T-1", RunState.READY, SERVICE, clock.now()))
            latest = await tickets.latest_run(tx, "T-1")
            assert latest is not None
            assert latest.id == name
            await tickets.finish(tx, name, StopReason.ANSWERED)


async def test_what_a_process_holds_by_its_rows_alone_is_ready_again_a_little_later(
    store: Store, clock: Any, add: Any, lease: Any
) -> None:
    await add("T-1")
    await add("T-2")
    held, lost = await lease("a"), await lease("a")
    assert held is not None
    assert lost is not None
    async with store.write() as tx:
        assert await tickets.dropped(tx, "b", (), clock.now()) == 0, "another process's are its own"
        assert await tickets.dropped(tx, "a", (held.id,), clock.now() + timedelta(seconds=5)) == 1
    assert await lease("a") is None
    clock.move(seconds=6)
    again = await lease("a")
    assert again is not None
    assert (again.id, again.fence) == (lost.id, lost.fence + 1)


async def test_a_run_that_is_over_stays_over(store: Store, add: Any, lease: Any) -> None:
    run = await add("T-1")
    await lease("a")
    async with store.write() as tx:
        await tickets.finish(tx, run.id, StopReason.FAILED)
        await tickets.put_off(tx, run.id, run.started_at)
        await tickets.wake(tx, run.id)
        assert (await tickets.run(tx, run.id)).state is RunState.DONE
