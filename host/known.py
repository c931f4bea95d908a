"""What is known when a call is judged: everything grounded so far, and what ran in this ticket and today (spec H8, H9).

Read from the journal, by the loop for the model, by the checkpoint for the policy, and by `deskhand policy check`
for a person who only wants to know. Refuses to know servers and people, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from host import grounding, history, journal
from host.config import HostConfig
from host.policy import History
from host.store import journal as journal_rows
from host.store import tickets
from host.store.codec import iso
from host.store.engine import Store, Tx
from host.types import Fact, OutcomeKind, Ticket, ToolCallRecord


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a ticket when its next call is judged."""

    ticket: Ticket
    facts: tuple[Fact, ...]
    history: History


async def of_ticket(store: Store, config: HostConfig, now: datetime, ticket_id: str) -> Known:
    """Everything grounded so far in a ticket, and what ran in it and today. Raises `NotFound`."""
    async with store.read() as tx:
        ticket, _ = await tickets.ticket(tx, ticket_id)
        records = history.records(history.runs(await journal.entries(tx, ticket_id)))
        return Known(ticket, facts(ticket, records, config), await what_ran(tx, records, config, now))


def facts(ticket: Ticket, records: Sequence[ToolCallRecord], config: HostConfig) -> tuple[Fact, ...]:
    """Everything grounded so far: the ticket's words, and successful results of any run of it (spec H9)."""
    found = list(grounding.facts_from_ticket(ticket, config.grounding))
    for record in records:
        server = config.servers.get(record.server)
        found.extend(grounding.facts_from_result(record, server is not None and server.trusted, config.grounding))
    return tuple(found)


async def what_ran(tx: Tx, records: Sequence[ToolCallRecord], config: HostConfig, now: datetime, but: str = "") -> History:
    """What ran in this ticket (`records`), and today in all, from midnight in the configured zone. What may have run counts.

    The call `but` is not counted against itself.
    """
    zone = ZoneInfo(config.hours.zone) if config.hours else UTC
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    today, amount = await journal_rows.ran_since(tx, iso(midnight), but)
    ticket = {"calls": len(records)}
    for record in records:
        if record.ok or record.outcome is OutcomeKind.MAY_HAVE_RUN:
            ticket[record.name] = ticket.get(record.name, 0) + 1
    return History(ticket=ticket, today={**today, "amount": amount})
