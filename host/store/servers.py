"""What is remembered of servers: the probe's result, pins, freezes (spec H2, H7, H28)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import delete, insert, select, update

from host.store.codec import dumps
from host.store.engine import Store, Tx
from host.store.tables import pins, servers
from host.types import Pin


class ServerMemory:
    """Fills `sessions.DiscoverMemory` and `catalog.PinStore` from the database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load_discovered(self, prefix: str, config_digest: str) -> str | None:
        async with self._store.read() as tx:
            same = (servers.c.prefix == prefix) & (servers.c.config_digest == config_digest)
            found: str | None = (await tx.execute(select(servers.c.discovered).where(same))).scalar()
            return found

    async def save_discovered(self, prefix: str, config_digest: str, value: str | None) -> None:
        async with self._store.write() as tx:
            await _ensure(tx, prefix)
            changed = update(servers).where(servers.c.prefix == prefix)
            await tx.execute(changed.values(config_digest=config_digest, discovered=value))

    async def load_pins(self, server: str) -> Mapping[str, Pin]:
        async with self._store.read() as tx:
            rows = await tx.execute(select(pins).where(pins.c.server == server))
            return {row.tool: Pin(row.digest, json.loads(row.definition), row.accepted, row.why) for row in rows}

    async def save_pins(self, server: str, made: Mapping[str, Pin]) -> None:
        """All or none: whoever finds some of a first listing's pins would take its other tools for new ones."""
        async with self._store.write() as tx:
            for tool, pin in made.items():
                await tx.execute(delete(pins).where(pins.c.server == server, pins.c.tool == tool))
                values = {"server": server, "tool": tool, "digest": pin.digest, "definition": dumps(pin.definition)}
                await tx.execute(insert(pins).values(**values, accepted=pin.accepted, why=pin.why))


async def _ensure(tx: Tx, prefix: str) -> None:
    if (await tx.execute(select(servers.c.prefix).where(servers.c.prefix == prefix))).first() is None:
        await tx.execute(insert(servers).values(prefix=prefix, config_digest="", frozen_by=""))


async def freeze(tx: Tx, prefix: str, by: str) -> None:
    """`by` names who froze it; empty thaws."""
    await _ensure(tx, prefix)
    await tx.execute(update(servers).where(servers.c.prefix == prefix).values(frozen_by=by))


async def frozen(tx: Tx) -> dict[str, str]:
    """Frozen servers and who froze them."""
    rows = await tx.execute(select(servers.c.prefix, servers.c.frozen_by).where(servers.c.frozen_by != ""))
    return {row[0]: row[1] for row in rows}
