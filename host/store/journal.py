"""The journal's rows: the chain, the payloads beside it, and a plain log of calls for figures (spec H31)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import and_, delete, func, insert, or_, select

from host.store.engine import Tx
from host.store.tables import calls, journal, payloads


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of a ticket's chain. `body` and `salt` are None once erased."""

    ticket_id: str
    seq: int
    run_id: str
    kind: str
    at: str
    digest: str
    hash: str
    salt: str | None
    body: str | None


async def last(tx: Tx, ticket_id: str) -> tuple[int, str]:
    """The newest entry's number and hash; (0, "") for an empty chain."""
    query = select(journal.c.seq, journal.c.hash).where(journal.c.ticket_id == ticket_id).order_by(journal.c.seq.desc()).limit(1)
    row = (await tx.execute(query)).first()
    return (row.seq, row.hash) if row else (0, "")


async def add(tx: Tx, link: Link) -> None:
    """Append-only: a second entry of the same number is refused by the key."""
    await tx.execute(
        insert(journal).values(
            ticket_id=link.ticket_id,
            seq=link.seq,
            run_id=link.run_id,
            kind=link.kind,
            at=link.at,
            digest=link.digest,
            hash=link.hash,
        )
    )
    await tx.execute(insert(payloads).values(ticket_id=link.ticket_id, seq=link.seq, salt=link.salt, body=link.body))


async def chain(tx: Tx, ticket_id: str) -> tuple[Link, ...]:
    same = (payloads.c.ticket_id == journal.c.ticket_id) & (payloads.c.seq == journal.c.seq)
    query = (
        select(journal, payloads.c.salt, payloads.c.body)
        .select_from(journal.outerjoin(payloads, same))
        .where(journal.c.ticket_id == ticket_id)
        .order_by(journal.c.seq)
    )
    return tuple(Link(**row._mapping) for row in await tx.execute(query))


BEGUN = "begun"
"""The outcome of a call whose intent is written and whose end is not known yet."""
_COUNT = ("result", "may_have_run")


async def log_call(tx: Tx, row: Mapping[str, object]) -> None:
    """Keys: call_id, ticket_id, run_id, tool, outcome, ms, at, amount. The end of a call replaces its beginning."""
    await tx.execute(delete(calls).where(calls.c.call_id == row["call_id"]))
    await tx.execute(insert(calls).values(**row))


async def ran_since(tx: Tx, since: str, but: str = "") -> tuple[dict[str, int], Decimal]:
    """What ran since a moment: calls by tool, and the money they moved (spec H8). Counted in doubt: what is under way, since
    whenever, or may have run too; the call `but` is left out."""
    recent = and_(calls.c.at >= since, calls.c.outcome.in_(_COUNT))
    counted = (or_(recent, calls.c.outcome == BEGUN), calls.c.call_id != but)
    counts: dict[str, int] = {}
    amount = Decimal(0)
    for row in await tx.execute(select(calls.c.tool, calls.c.amount).where(*counted)):
        counts[row.tool] = counts.get(row.tool, 0) + 1
        amount += Decimal(row.amount or 0)
    return counts, amount


async def count_outcomes(tx: Tx, run_ids: tuple[str, ...]) -> dict[str, int]:
    """Calls that ended, by outcome."""
    ended = (calls.c.run_id.in_(run_ids), calls.c.outcome != BEGUN)
    query = select(calls.c.outcome, func.count()).where(*ended).group_by(calls.c.outcome)
    return {row[0]: row[1] for row in await tx.execute(query)}
