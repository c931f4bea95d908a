"""What must reach the outside at most once: takes due rows, hands them to the desk, keeps what became of them (spec B10, H27).

A card may be delivered again (it is redrawn in place); a mail never is: it is marked before it goes out, and an unknown outcome
stays unknown until a person looks.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

import anyio

from host import journal
from host.errors import where
from host.port import Clock, DeliveryUnknown, Desk, Undelivered
from host.signal import Signal
from host.store import outbox as rows
from host.store import tickets
from host.store.codec import moment
from host.store.engine import Store, Tx
from host.types import Json, OutboxItem, OutboxKind, TicketState

logger = logging.getLogger(__name__)

MAX_BACKOFF = 60.0


class Outbox:
    """Delivers one item at a time, oldest first, so that order within a thread is kept."""

    def __init__(
        self,
        store: Store,
        desk: Desk,
        clock: Clock,
        changed: Signal,
        undeliverable: Callable[[Tx, str, str], Awaitable[None]],
        poll_seconds: float = 2.0,
    ) -> None:
        """`undeliverable` is told of a question whose card can't be brought to anybody: its id, and why (spec H12)."""
        self._store, self._desk, self._clock = store, desk, clock
        self._undeliverable = undeliverable
        self._changed, self._poll = changed, poll_seconds

    async def serve(self) -> None:
        """Runs until cancelled. What the last process was sending when it died becomes unknown, never sent again."""
        await self.recover()
        while True:
            try:
                pause = 0.0 if await self.deliver_due() else await self._pause()
            except Exception as error:  # noqa: BLE001  the process's edge: a database that is busy now is not busy for ever
                logger.error("nothing was delivered: %s at %s", type(error).__name__, where(error))
                pause = self._poll
            if pause:
                await self._changed.wait(pause)

    async def recover(self) -> None:
        async with self._store.write() as tx:
            for item in await rows.interrupted(tx):
                why = "the program stopped while it was being sent"
                if item.kind is OutboxKind.MAIL:
                    await rows.give_up(tx, item, "unknown", why)
                    await self._delivered(tx, item, "unknown", {}, why)
                else:
                    await rows.retry(tx, item, self._clock.now(), why, uncertain=True)

    async def deliver_due(self) -> int:
        """One pass over what is due; returns how many were tried."""
        async with self._store.read() as tx:
            due = await rows.due(tx, self._clock.now())
        for item in due:
            await self._deliver(item)
        return len(due)

    async def _deliver(self, seen: OutboxItem) -> None:
        async with self._store.write() as tx:
            item = await rows.take(tx, seen, self._clock.now())
        if item is None:
            return  # another process took it
        try:
            receipt = await self._desk.deliver(item)
        except Undelivered as error:
            await self._not_arrived(item, error)
        except DeliveryUnknown as error:
            await self._unknown(item, str(error))
        except Exception as error:  # noqa: BLE001  the process's edge: one bad delivery never stops the others
            logger.error("delivery failed: %s key=%s at %s", type(error).__name__, item.key.partition(":")[0], where(error))
            await self._unknown(item, f"an error of the program ({type(error).__name__})")
        else:
            async with self._store.write() as tx:
                await rows.done(tx, item, receipt)
                if item.kind is OutboxKind.MAIL:
                    await self._delivered(tx, item, "sent", receipt, "")

    async def _not_arrived(self, item: OutboxItem, error: Undelivered) -> None:
        logger.warning("not delivered: key=%s attempt=%d why=%s", item.key.partition(":")[0], item.attempts + 1, error)
        async with self._store.write() as tx:
            if error.final:
                await rows.give_up(tx, item, "failed", str(error))
                if item.kind is OutboxKind.MAIL:
                    await self._delivered(tx, item, "failed", {}, str(error))
                elif item.key.startswith("question:") and item.receipt is None:
                    await self._undeliverable(tx, item.key.partition(":")[2], str(error))
            else:
                pause = min(MAX_BACKOFF, error.retry_after * 2 ** min(item.attempts, 5))
                await rows.retry(tx, item, self._clock.now() + timedelta(seconds=pause), str(error), uncertain=False)

    async def _unknown(self, item: OutboxItem, why: str) -> None:
        async with self._store.write() as tx:
            if item.kind is OutboxKind.MAIL:
                await rows.give_up(tx, item, "unknown", why)
                await self._delivered(tx, item, "unknown", {}, why)
            else:
                pause = min(MAX_BACKOFF, 1.0 * 2 ** min(item.attempts, 6))
                await rows.retry(tx, item, self._clock.now() + timedelta(seconds=pause), why, uncertain=True)

    async def _delivered(self, tx: Tx, item: OutboxItem, state: str, receipt: Mapping[str, Json], why: str) -> None:
        """A reply's end: in the journal, on its draft card, and in the ticket's state."""
        question_id, run_id = item.payload["question_id"], item.payload["run_id"]
        now = self._clock.now()
        entry = journal.Delivered(question_id=question_id, state=state, receipt=receipt, why=why)
        await journal.append(tx, item.ticket_id, run_id, now, entry)
        if state == "sent":
            await tickets.set_ticket_state(tx, item.ticket_id, TicketState.WAITING_FOR_CUSTOMER)
        for key in (f"question:{question_id}", f"ticket:{item.ticket_id}"):
            await rows.put(tx, OutboxKind.CARD, key, item.ticket_id, now)

    async def _pause(self) -> float:
        async with self._store.read() as tx:
            oldest = await rows.oldest_due(tx)
        return self._poll if oldest is None else _until(moment(oldest), self._clock.now(), self._poll)


def _until(then: datetime, now: datetime, most: float) -> float:
    return min(most, max(0.05, (then - now).total_seconds()))


async def drain(outbox: Outbox, seconds: float) -> None:
    """Deliver what is due before the program ends, for `seconds` at most."""
    with anyio.move_on_after(seconds):
        while await outbox.deliver_due():
            pass
