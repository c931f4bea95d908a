"""The outbox as rows: one row a key, a version that rises with every change, and what is known of each delivery (spec B10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Row, and_, insert, select, update

from host.store.codec import dumps, iso
from host.store.engine import Tx
from host.store.tables import outbox
from host.types import Json, OutboxItem, OutboxKind


def _item(row: Row[tuple[object, ...]]) -> OutboxItem:
    return OutboxItem(
        id=row.id,
        kind=OutboxKind(row.kind),
        key=row.key,
        ticket_id=row.ticket_id,
        payload=json.loads(row.payload),
        version=row.version,
        receipt=json.loads(row.receipt) if row.receipt else None,
        attempts=row.attempts,
        uncertain=row.uncertain,
    )


async def put(
    tx: Tx, kind: OutboxKind, key: str, ticket_id: str, now: datetime, payload: Mapping[str, Json] | None = None
) -> bool:
    """Ask for a delivery, or for a newer version of a card. A mail or notice of a known key is never put twice (False).

    A card that is being delivered stays "trying", and `done` asks for the newer version: if the process dies, it may be there.
    """
    known = select(outbox.c.id, outbox.c.version, outbox.c.state, outbox.c.attempts, outbox.c.not_before)
    row = (await tx.execute(known.where(outbox.c.key == key))).first()
    if row is None:
        values = {"kind": kind.value, "key": key, "ticket_id": ticket_id, "payload": dumps(payload or {}), "version": 1}
        rest = {"delivered": 0, "attempts": 0, "uncertain": False, "not_before": iso(now), "state": "due", "why": ""}
        await tx.execute(insert(outbox).values(**values, **rest))
        return True
    if kind is not OutboxKind.CARD:
        return False
    state = "trying" if row.state == "trying" else "due"
    newer = {"version": row.version + 1, "state": state}
    if not (row.state == "due" and row.attempts):  # it was told to wait: a newer version waits as long
        newer |= {"not_before": iso(now), "attempts": 0}
    await tx.execute(update(outbox).where(outbox.c.id == row.id).values(**newer))
    return True


async def due(tx: Tx, now: datetime, limit: int = 20) -> tuple[OutboxItem, ...]:
    query = select(outbox).where(outbox.c.state == "due", outbox.c.not_before <= iso(now)).order_by(outbox.c.id).limit(limit)
    return tuple(_item(row) for row in await tx.execute(query))


async def by_key(tx: Tx, key: str) -> tuple[OutboxItem, str, str] | None:
    """The item, its state ("due", "trying", "done", "unknown", "failed") and why."""
    row = (await tx.execute(select(outbox).where(outbox.c.key == key))).first()
    return (_item(row), row.state, row.why) if row else None


async def take(tx: Tx, item: OutboxItem, now: datetime) -> OutboxItem | None:
    """Written before a mail goes out, so that a crash leaves "unknown" and not a second mail (spec H27). For one caller the item
    as it stands now: another process may have posted it, or changed it, since it was read. None for every other."""
    due_now = and_(outbox.c.id == item.id, outbox.c.state == "due", outbox.c.not_before <= iso(now))
    done = await tx.execute(update(outbox).where(due_now).values(state="trying", attempts=outbox.c.attempts + 1))
    if done.rowcount != 1:
        return None
    taken = _item((await tx.execute(select(outbox).where(outbox.c.id == item.id))).one())
    return replace(taken, attempts=taken.attempts - 1)


async def interrupted(tx: Tx) -> tuple[OutboxItem, ...]:
    """What the last process was sending when it died."""
    return tuple(_item(row) for row in await tx.execute(select(outbox).where(outbox.c.state == "trying")))


async def done(tx: Tx, item: OutboxItem, receipt: Mapping[str, Json]) -> None:
    """Delivered; stays due when a newer version was asked for meanwhile."""
    row = (await tx.execute(select(outbox.c.version).where(outbox.c.id == item.id))).one()
    values = {"delivered": item.version, "receipt": dumps(receipt), "uncertain": False, "attempts": 0, "why": ""}
    await tx.execute(
        update(outbox).where(outbox.c.id == item.id).values(**values, state="done" if row.version == item.version else "due")
    )


async def retry(tx: Tx, item: OutboxItem, at: datetime, why: str, uncertain: bool) -> None:
    values = {"state": "due", "not_before": iso(at), "attempts": item.attempts + 1, "why": why}
    await tx.execute(update(outbox).where(outbox.c.id == item.id).values(**values, uncertain=uncertain or item.uncertain))


async def give_up(tx: Tx, item: OutboxItem, state: str, why: str) -> None:
    """`state` is "unknown" (it may have arrived) or "failed" (it certainly did not)."""
    await tx.execute(update(outbox).where(outbox.c.id == item.id).values(state=state, why=why))


async def oldest_due(tx: Tx) -> str | None:
    """The earliest moment at which something is due, as ISO text."""
    query = select(outbox.c.not_before).where(outbox.c.state == "due").order_by(outbox.c.not_before).limit(1)
    return (await tx.execute(query)).scalar()
