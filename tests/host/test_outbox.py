"""What must reach the outside at most once (spec B10, H27)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from host import journal
from host.outbox import Outbox
from host.port import DeliveryUnknown, Undelivered
from host.signal import Signal
from host.store import outbox as rows
from host.store import tickets
from host.store.engine import Store, Tx
from host.types import SERVICE, Json, OutboxItem, OutboxKind, Run, RunState, Ticket, TicketState

pytestmark = pytest.mark.anyio


async def nobody_waits(tx: Tx, question_id: str, why: str) -> None:
    raise AssertionError(f"no question is in this outbox: {question_id}")


MAIL = {"question_id": "q1", "run_id": "run-1", "to": "ines.moreau@example.com", "text": "Hello."}


class Desk:
    """Implements `host.port.Desk`: does what it is told, one delivery after the other, and then takes everything."""

    def __init__(self, *plan: BaseException) -> None:
        self.items: list[OutboxItem] = []
        self._plan = list(plan)

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        self.items.append(item)
        if self._plan:
            raise self._plan.pop(0)
        return {"ts": f"{len(self.items)}"}


@pytest.fixture
async def put(store: Store, clock: Any, ticket: Ticket) -> Any:
    async with store.write() as tx:
        await tickets.add_ticket(tx, ticket)
        run = Run("run-1", ticket.id, RunState.READY, SERVICE, clock.now())
        await tickets.add_run(tx, run)

    async def put(kind: OutboxKind, key: str, payload: Mapping[str, Json] | None = None) -> bool:
        async with store.write() as tx:
            return await rows.put(tx, kind, key, ticket.id, clock.now(), payload)

    return put


@pytest.fixture
def pass_on(store: Store, clock: Any) -> Any:
    """One pass of an outbox over a desk."""

    async def passing(desk: Desk) -> int:
        return await Outbox(store, desk, clock, Signal(), nobody_waits).deliver_due()

    return passing


async def state_of(store: Store, key: str) -> tuple[str, int]:
    async with store.read() as tx:
        found = await rows.by_key(tx, key)
    assert found is not None
    return found[1], found[0].attempts


async def delivered(store: Store, ticket: Ticket) -> list[tuple[str, str]]:
    async with store.read() as tx:
        return [(n.entry.state, n.entry.why) for n in await journal.entries(tx, ticket.id) if n.entry.kind == "delivered"]


async def test_a_card_that_did_not_arrive_is_tried_again_later_and_keeps_its_receipt(
    store: Store, clock: Any, put: Any, pass_on: Any
) -> None:
    desk = Desk(Undelivered("rate limited", retry_after=30))
    await put(OutboxKind.CARD, "ticket:T-9001")
    assert await pass_on(desk) == 1
    assert await pass_on(desk) == 0, "not before its time"
    clock.move(seconds=31)
    assert await pass_on(desk) == 1
    assert (desk.items[1].attempts, desk.items[1].uncertain) == (1, False)
    await put(OutboxKind.CARD, "ticket:T-9001")
    await pass_on(desk)
    assert desk.items[2].receipt == {"ts": "2"}


async def test_a_card_that_may_have_arrived_says_so_at_the_next_try(store: Store, clock: Any, put: Any, pass_on: Any) -> None:
    desk = Desk(DeliveryUnknown("the connection was lost"))
    await put(OutboxKind.CARD, "ticket:T-9001")
    await pass_on(desk)
    clock.move(seconds=5)
    await pass_on(desk)
    assert desk.items[1].uncertain is True


@pytest.mark.parametrize("error", [DeliveryUnknown("no answer"), RuntimeError("a fault of ours"), TimeoutError()])
async def test_a_mail_whose_end_is_unknown_is_never_tried_again(
    store: Store, clock: Any, put: Any, pass_on: Any, ticket: Ticket, error: Exception
) -> None:
    desk = Desk(error)
    await put(OutboxKind.MAIL, "mail:q1", MAIL)
    await pass_on(desk)
    clock.move(hours=48)
    await pass_on(desk)
    assert [item.kind for item in desk.items].count(OutboxKind.MAIL) == 1
    assert (await state_of(store, "mail:q1"))[0] == "unknown"
    assert [state for state, _ in await delivered(store, ticket)] == ["unknown"]


async def test_a_mail_that_certainly_did_not_leave_is_tried_again(
    store: Store, clock: Any, put: Any, pass_on: Any, ticket: Ticket
) -> None:
    desk = Desk(Undelivered("the mailbox is locked"))
    await put(OutboxKind.MAIL, "mail:q1", MAIL)
    await pass_on(desk)
    clock.move(minutes=2)
    await pass_on(desk)
    assert await delivered(store, ticket) == [("sent", "")]
    async with store.read() as tx:
        assert (await tickets.ticket(tx, ticket.id))[1] is TicketState.WAITING_FOR_CUSTOMER


async def test_a_mail_that_can_never_leave_fails_in_words(
    store: Store, clock: Any, put: Any, pass_on: Any, ticket: Ticket
) -> None:
    await put(OutboxKind.MAIL, "mail:q1", MAIL)
    await pass_on(Desk(Undelivered("no such address", final=True)))
    assert await delivered(store, ticket) == [("failed", "no such address")]


async def test_a_mail_is_put_once_however_often_it_is_asked_for(store: Store, put: Any, pass_on: Any) -> None:
    assert await put(OutboxKind.MAIL, "mail:q1", MAIL) is True
    assert await put(OutboxKind.MAIL, "mail:q1", {**MAIL, "text": "Another."}) is False
    desk = Desk()
    await pass_on(desk)
    await put(OutboxKind.MAIL, "mail:q1", MAIL)
    await pass_on(desk)
    assert [item.payload["text"] for item in desk.items if item.kind is OutboxKind.MAIL] == ["Hello."]


async def test_what_the_last_process_was_sending_is_unknown_for_mail_and_sent_again_for_cards(
    store: Store, clock: Any, put: Any, pass_on: Any, ticket: Ticket
) -> None:
    await put(OutboxKind.MAIL, "mail:q1", MAIL)
    await put(OutboxKind.CARD, "ticket:T-9001")
    async with store.write() as tx:
        for item in await rows.due(tx, clock.now()):
            assert await rows.take(tx, item, clock.now())
    desk = Desk()
    box = Outbox(store, desk, clock, Signal(), nobody_waits)
    await box.recover()
    while await box.deliver_due():
        pass
    assert OutboxKind.MAIL not in [item.kind for item in desk.items]
    assert await state_of(store, "mail:q1") == ("unknown", 1)
    assert next(item for item in desk.items if item.key == "ticket:T-9001").uncertain is True


async def test_of_two_outboxes_over_one_database_one_sends(store: Store, clock: Any, put: Any) -> None:
    await put(OutboxKind.MAIL, "mail:q1", MAIL)
    desk = Desk()
    async with store.read() as tx:
        (item,) = await rows.due(tx, clock.now())
    async with store.write() as tx:
        assert await rows.take(tx, item, clock.now()) == item
    async with store.write() as tx:
        assert await rows.take(tx, item, clock.now()) is None
    assert await Outbox(store, desk, clock, Signal(), nobody_waits).deliver_due() == 0


async def test_a_card_that_changes_while_it_is_drawn_is_drawn_again(store: Store, clock: Any, put: Any, pass_on: Any) -> None:
    class Changing(Desk):
        async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
            if not self.items:
                await put(OutboxKind.CARD, item.key)
            return await super().deliver(item)

    desk = Changing()
    await put(OutboxKind.CARD, "ticket:T-9001")
    assert [await pass_on(desk), await pass_on(desk), await pass_on(desk)] == [1, 1, 0]


async def test_a_card_that_changes_while_a_process_dies_over_it_may_have_arrived(store: Store, clock: Any, put: Any) -> None:
    """Else the next process would post it a second time."""
    await put(OutboxKind.CARD, "question:q1")
    async with store.write() as tx:
        (item,) = await rows.due(tx, clock.now())
        assert await rows.take(tx, item, clock.now())
    await put(OutboxKind.CARD, "question:q1")
    desk = Desk()
    box = Outbox(store, desk, clock, Signal(), nobody_waits)
    await box.recover()
    await box.deliver_due()
    assert [(item.uncertain, item.version) for item in desk.items] == [(True, 2)]


async def test_one_bad_delivery_never_stops_the_others(store: Store, put: Any, pass_on: Any) -> None:
    desk = Desk(RuntimeError("a fault of ours"))
    await put(OutboxKind.CARD, "ticket:T-9001")
    await put(OutboxKind.CARD, "question:q1")
    await pass_on(desk)
    assert [item.key for item in desk.items] == ["ticket:T-9001", "question:q1"]


async def test_the_outbox_serves_until_it_is_cancelled(store: Store, clock: Any, put: Any) -> None:
    desk = Desk()
    changed = Signal()
    box = Outbox(store, desk, clock, changed, nobody_waits, poll_seconds=0.05)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(box.serve)
            await put(OutboxKind.CARD, "ticket:T-9001")
            changed.ring()
            while not desk.items:  # noqa: ASYNC110  the outbox polls a database
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert len(desk.items) == 1


async def test_what_another_outbox_posted_and_changed_since_is_redrawn_there_and_not_posted_again(
    store: Store, clock: Any, put: Any
) -> None:
    """Two outboxes read one due card; one posts it, it changes, and the other comes to it late."""
    await put(OutboxKind.CARD, "question:q1")
    async with store.read() as tx:
        (read_early,) = await rows.due(tx, clock.now())
    await Outbox(store, Desk(), clock, Signal(), nobody_waits).deliver_due()
    await put(OutboxKind.CARD, "question:q1")
    async with store.write() as tx:
        taken = await rows.take(tx, read_early, clock.now())
    assert taken is not None
    assert (taken.version, taken.receipt is None) == (2, False)


@pytest.mark.parametrize(
    ("key", "delivered_before", "told"),
    [("question:q1", False, [("q1", "channel_not_found")]), ("question:q1", True, []), ("ticket:T-9001", False, [])],
)
async def test_a_questions_first_card_that_can_never_be_posted_is_told_at_once(
    store: Store, clock: Any, put: Any, key: str, delivered_before: bool, told: list[tuple[str, str]]
) -> None:
    said: list[tuple[str, str]] = []

    async def undeliverable(tx: Tx, question_id: str, why: str) -> None:
        said.append((question_id, why))

    await put(OutboxKind.CARD, key)
    if delivered_before:
        await Outbox(store, Desk(), clock, Signal(), undeliverable).deliver_due()
        await put(OutboxKind.CARD, key)
    box = Outbox(store, Desk(Undelivered("ratelimited")), clock, Signal(), undeliverable)
    await box.deliver_due()
    assert said == [], "one that is tried again is not lost"
    clock.move(minutes=2)
    await Outbox(store, Desk(Undelivered("channel_not_found", final=True)), clock, Signal(), undeliverable).deliver_due()
    assert said == told
