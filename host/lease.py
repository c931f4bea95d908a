"""A worker's writes: each begins by making sure that the run is still its own, and prolongs the lease (spec H30)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from host.port import Clock
from host.store import tickets
from host.store.engine import Store, Tx
from host.types import Run

LEASE = timedelta(seconds=120)


@asynccontextmanager
async def writing(store: Store, run: Run, clock: Clock) -> AsyncIterator[Tx]:
    """A write transaction of whoever leased `run`. Raises `StaleLease` when another holds it: nothing is written then."""
    async with store.write() as tx:
        await tickets.guard(tx, run, clock.now() + LEASE)
        yield tx
