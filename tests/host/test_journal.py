"""The journal's chain: what breaks it is named, what is erased leaves it whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from host import journal
from host.store import journal as rows
from host.store.engine import Store
from host.store.tables import metadata
from host.types import StopReason

pytestmark = pytest.mark.anyio


async def _three(store: Store, clock) -> tuple[rows.Link, ...]:
    async with store.write() as tx:
        for words in ("one", "two", "three"):
            entry = journal.Stopped(reason=StopReason.FAILED, words=words)
            await journal.append(tx, "T-9001", "run-1", clock.now(), entry)
    async with store.read() as tx:
        return await rows.chain(tx, "T-9001")


async def test_entries_come_back_in_order(store: Store, clock) -> None:
    await _three(store, clock)
    async with store.read() as tx:
        entries = await journal.entries(tx, "T-9001")
    assert [noted.entry.words for noted in entries] == ["one", "two", "three"]


async def test_an_untouched_chain_verifies(store: Store, clock) -> None:
    assert journal.verify(await _three(store, clock)) == ""


async def test_a_changed_payload_is_named_by_its_entry(store: Store, clock) -> None:
    chain = list(await _three(store, clock))
    chain[1] = replace(chain[1], body=str(chain[1].body).replace("two", "2"))
    assert "entry 2" in journal.verify(chain)


async def test_a_removed_entry_is_noticed(store: Store, clock) -> None:
    chain = await _three(store, clock)
    assert "entry 2 is missing" in journal.verify((chain[0], chain[2]))


async def test_a_changed_time_breaks_the_chain(store: Store, clock) -> None:
    chain = list(await _three(store, clock))
    chain[0] = replace(chain[0], at="2026-01-01T00:00:00.000000+00:00")
    assert "entry 1" in journal.verify(chain)


async def test_an_erased_payload_leaves_the_chain_whole(store: Store, clock) -> None:
    chain = [replace(link, body=None, salt=None) for link in await _three(store, clock)]
    assert journal.verify(chain) == ""


async def test_the_database_of_the_migrations_is_the_one_the_code_expects(store: Store) -> None:

    async with store.write() as tx:
        difference = await tx.run_sync(lambda c: compare_metadata(MigrationContext.configure(c), metadata))
    assert difference == []
