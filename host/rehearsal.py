"""What a call would be judged by, gathered without running anything: for `deskhand policy check` (spec B12, M7).

Reads a ticket's journal as the loop does. Refuses to know servers and people, and writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from host import grounding, history, journal
from host.config import HostConfig
from host.policy import History
from host.store import journal as journal_rows
from host.store import tickets
from host.store.codec import iso
from host.store.engine import Store
from host.types import Fact, OutcomeKind, Ticket


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a ticket when its next call is judged."""

    ticket: Ticket
    facts: tuple[Fact, ...]
    history: History


async def of_ticket(store: Store, config: HostConfig, now: datetime, ticket_id: str) -> Known:
    """Everything grounded so far in a ticket, and what ran in it and today. Raises `NotFound`."""
    zone = ZoneInfo(config.hours.zone if config.hours else "UTC")
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    async with store.read() as tx:
        ticket, _ = await tickets.ticket(tx, ticket_id)
        records = history.records(history.runs(await journal.entries(tx, ticket_id)))
        today, amount = await journal_rows.ran_since(tx, iso(midnight))
    facts = list(grounding.facts_from_ticket(ticket, config.grounding))
    ran: dict[str, int] = {"calls": len(records)}
    for record in records:
        server = config.servers.get(record.server)
        facts.extend(grounding.facts_from_result(record, server is not None and server.trusted, config.grounding))
        if record.ok or record.outcome is OutcomeKind.MAY_HAVE_RUN:
            ran[record.name] = ran.get(record.name, 0) + 1
    return Known(ticket, tuple(facts), History(ticket=ran, today={**today, "amount": amount}))
