"""A customer erased everywhere in the database, while every chain still verifies (spec H31).

Finds whose tickets they are, refuses while something of theirs is under way, and writes in each chain that it was done. An erased
ticket stays behind as a stub under its id and intake key: what was erased is refused like any ticket that is known already, and
does not come in again with the next look at an inbox. What the customer writes later is a new ticket.
Refuses to know files, Slack and mail: what stands there is for the caller to erase, or to tell.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from host import journal
from host.port import Clock
from host.store import erasure as rows
from host.store import outbox
from host.store import questions as question_rows
from host.store.engine import Store, Tx
from host.types import OutboxKind, QuestionState


@dataclass(frozen=True, slots=True)
class Customer:
    """Everything that is known as one customer's: tickets, ids of the record, and lower-case mail addresses."""

    tickets: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    mails: tuple[str, ...] = ()

    def owns(self, ticket_id: str, customer_id: str | None, mail: str) -> bool:
        """A ticket of a known id is that customer's alone; one without is its sender's."""
        if ticket_id in self.tickets or (customer_id is not None and customer_id in self.ids):
            return True
        return customer_id is None and mail.casefold() in self.mails


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased. `elsewhere` are tickets of others in which an id or address of theirs still stands, "" the house's."""

    customer: Customer
    entries: int
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotErased:
    """Nothing was erased; `words` say why and what to do."""

    words: str


async def find(store: Store, customer: str) -> Customer:
    """Whose tickets are meant, by customer id or sender's mail address; nothing but the words given when there are none."""
    async with store.read() as tx:
        return await _find(tx, customer)


async def hindrance(store: Store, customer: Customer) -> str:
    """In words why a customer can't be erased just now; empty when nothing hinders."""
    async with store.read() as tx:
        return await _hindrance(tx, customer)


async def erase(store: Store, clock: Clock, customer: str, by: str) -> Erasure | NotErased:
    """Erase in one transaction. `by` is who did it, for the journal."""
    async with store.write() as tx:
        found = await _find(tx, customer)
        why = await _hindrance(tx, found)
        if why:
            return NotErased(why)
        entries = 0
        for ticket_id in found.tickets:
            entries += await _erase(tx, clock, ticket_id, by)
        elsewhere = await rows.mentioning(tx, (*found.ids, *found.mails))
    return Erasure(found, entries, elsewhere)


async def _find(tx: Tx, customer: str) -> Customer:
    """Their own tickets, and those of no known customer that came from one of their addresses."""
    wanted = customer.strip()
    if not wanted:
        return Customer()
    everyone = await rows.held(tx)
    if "@" in wanted:
        ids = {one.customer_id for one in everyone if one.customer_id and one.mail.casefold() == wanted.casefold()}
        mails = {wanted.casefold()}
    else:
        ids, mails = {wanted}, set()
    mails |= {one.mail.casefold() for one in everyone if one.customer_id in ids and one.mail}
    found = Customer((), tuple(sorted(ids)), tuple(sorted(mails)))
    return replace(found, tickets=tuple(one.id for one in everyone if found.owns(one.id, one.customer_id, one.mail)))


async def _hindrance(tx: Tx, customer: Customer) -> str:
    if len(customer.ids) > 1:
        return f"this is the address of {_listed(customer.ids)}: erase them one by one, by their ids"
    if busy := await rows.under_way(tx, customer.tickets):
        return f"a run of {_listed(busy)} is under way: stop it first (/deskhand stop), then erase"
    if leaving := await rows.being_sent(tx, customer.tickets):
        return f"a reply to {_listed(leaving)} is on its way: wait until its card says what became of it, then erase"
    return ""


async def _erase(tx: Tx, clock: Clock, ticket_id: str, by: str) -> int:
    now = clock.now()
    waiting = [one for one in await question_rows.of_ticket(tx, ticket_id) if one.state is QuestionState.OPEN]
    for question in waiting:
        await question_rows.close(tx, question.id, QuestionState.CANCELLED, now, note=rows.ERASED)
    entries = await rows.erase_journal(tx, ticket_id)
    closed = [
        journal.Closed(
            question_id=question.id,
            question_kind=question.kind,
            call_id=question.call_id,
            state=QuestionState.CANCELLED,
            reason="the customer was erased",
        )
        for question in waiting
    ]
    await journal.append(tx, ticket_id, "", now, *closed, journal.Erased(by=by, entries=entries))
    await rows.erase_ticket(tx, ticket_id)
    await rows.erase_questions(tx, ticket_id)
    for key in await rows.erase_outbox(tx, ticket_id):
        await outbox.put(tx, OutboxKind.CARD, key, ticket_id, now)
    return entries


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
