"""All chains at once, as rows: which there are, and where each stood at a moment (spec H31)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, func, or_, select

from host.store.codec import iso
from host.store.engine import Tx
from host.store.tables import journal, payloads


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain stood: the number and hash of its last entry."""

    ticket_id: str
    seq: int
    hash: str


async def chain_ids(tx: Tx) -> tuple[str, ...]:
    """Every chain, the house's own included."""
    return tuple((await tx.execute(select(journal.c.ticket_id).distinct().order_by(journal.c.ticket_id))).scalars())


async def heads(tx: Tx, until: datetime) -> tuple[Head, ...]:
    """Each chain up to its first entry of `until` or later; one that began later is left out."""
    late = (
        select(journal.c.ticket_id, func.min(journal.c.seq).label("first"))
        .where(journal.c.at >= iso(until))
        .group_by(journal.c.ticket_id)
        .subquery()
    )
    ends = (
        select(journal.c.ticket_id, func.max(journal.c.seq).label("seq"))
        .select_from(journal.outerjoin(late, journal.c.ticket_id == late.c.ticket_id))
        .where(or_(late.c.first.is_(None), journal.c.seq < late.c.first))
        .group_by(journal.c.ticket_id)
        .subquery()
    )
    same = and_(journal.c.ticket_id == ends.c.ticket_id, journal.c.seq == ends.c.seq)
    found = await tx.execute(select(journal.c.ticket_id, journal.c.seq, journal.c.hash).select_from(journal.join(ends, same)))
    return tuple(Head(row.ticket_id, row.seq, row.hash) for row in found)


async def newest(tx: Tx, ticket_id: str, kind: str) -> str | None:
    """The content of a chain's newest entry of a kind; None when there is none."""
    same = and_(payloads.c.ticket_id == journal.c.ticket_id, payloads.c.seq == journal.c.seq)
    query = (
        select(payloads.c.body)
        .select_from(journal.join(payloads, same))
        .where(journal.c.ticket_id == ticket_id, journal.c.kind == kind)
        .order_by(journal.c.seq.desc())
        .limit(1)
    )
    found: str | None = (await tx.execute(query)).scalar()
    return found
