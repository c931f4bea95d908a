"""The journal outside the database: what is exported verifies, whatever was done to it is named, and each day has its head."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from host import journal
from host.errors import NotFound
from host.records import FORMAT, check_all, check_file, close_days, export
from host.store import outbox
from host.store.engine import Store
from host.types import StopReason

pytestmark = pytest.mark.anyio


async def write(store: Store, clock: Any, *words: str, ticket_id: str = "T-9001") -> None:
    async with store.write() as tx:
        for one in words:
            entry = journal.Stopped(reason=StopReason.FAILED, words=one)
            await journal.append(tx, ticket_id, "run-1", clock.now(), entry)


async def exported(store: Store, clock: Any) -> dict[str, Any]:
    await write(store, clock, "one", "two", "three")
    return await export(store, "T-9001", clock.now())


def said(read: Any) -> str:
    """What verifying says of an export: how it is broken, or "" when it holds."""
    data = read if isinstance(read, bytes) else json.dumps(read).encode()
    try:
        return check_file(data).broken
    except ValueError as error:
        return str(error)


# -- export and verify ------------------------------------------------------------------------------------------------------


async def test_an_export_holds_the_whole_chain_and_verifies(store: Store, clock) -> None:
    read = await exported(store, clock)
    assert (read["format"], read["ticket"], [link["seq"] for link in read["links"]]) == (FORMAT, "T-9001", [1, 2, 3])
    assert json.loads(read["links"][1]["body"])["words"] == "two"
    checked = check_file(json.dumps(read, indent=1).encode())
    assert (checked.ticket_id, checked.entries, checked.erased, checked.broken) == ("T-9001", 3, 0, "")
    assert checked.head == read["links"][-1]["hash"]


async def test_an_unknown_ticket_has_nothing_to_export(store: Store, clock) -> None:
    with pytest.raises(NotFound, match="no journal of T-9999"):
        await export(store, "T-9999", clock.now())


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a body": (lambda r: r["links"][1].update(body=r["links"][1]["body"].replace("two", "2")), "entry 2 (stopped) was changed"),
    "a salt": (lambda r: r["links"][1].update(salt="0" * 32), "entry 2 (stopped) was changed"),
    "a time": (lambda r: r["links"][0].update(at="2026-01-01T00:00:00.000000+00:00"), "entry 1 (stopped) breaks the chain"),
    "a kind": (lambda r: r["links"][0].update(kind="drafted"), "entry 1 (drafted) breaks the chain"),
    "a run": (lambda r: r["links"][2].update(run_id="run-2"), "entry 3 (stopped) breaks the chain"),
    "a hash": (lambda r: r["links"][2].update(hash="0" * 64), "entry 3 (stopped) breaks the chain"),
    "the ticket": (lambda r: r.update(ticket="T-9002"), "entry 1 (stopped) breaks the chain"),
    "an entry taken out": (lambda r: r["links"].pop(1), "entry 2 is missing"),
    "the first taken out": (lambda r: r["links"].pop(0), "entry 1 is missing"),
    "an entry twice": (lambda r: r["links"].insert(1, r["links"][0]), "entry 2 is missing"),
    "the order": (lambda r: r["links"].reverse(), "entry 1 is missing"),
    "the first taken out, renumbered": (
        lambda r: (r["links"].pop(0), [link.update(seq=i) for i, link in enumerate(r["links"], 1)]),
        "entry 1 (stopped) breaks the chain",
    ),
    "content taken out": (lambda r: r["links"][1].update(body=None, salt=None), "no entry says that they were erased"),
    "a body without its salt": (lambda r: r["links"][1].update(salt=None), "a body without its salt"),
    "a salt without its body": (lambda r: r["links"][1].update(body=None), "a salt without a body"),
    "a key more": (lambda r: r["links"][1].update(note="approved"), "'note', which no export has"),
    "a key more on top": (lambda r: r.update(verified=True), "'verified', which no export has"),
    "a key less": (lambda r: r["links"][1].pop("digest"), 'place 2 lacks "digest"'),
    "a number as text": (lambda r: r["links"][1].update(seq="2"), '"seq" is no number'),
    "a yes as a number": (lambda r: r["links"][0].update(seq=True), '"seq" is no number'),
    "a body that is an object": (lambda r: r["links"][1].update(body={"words": "2"}), '"body" is neither text nor null'),
    "half a character": (lambda r: r["links"][1].update(body="\ud800"), "half a character"),
    "no entries": (lambda r: r.update(links=[]), "holds no entry"),
    "entries that are none": (lambda r: r.update(links=[1, 2]), "place 1 is no JSON object"),
    "another format": (lambda r: r.update(format="deskhand-journal/9"), "verifies 'deskhand-journal/1'"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_what_was_done_to_an_export_is_named(store: Store, clock, change: str) -> None:
    read = await exported(store, clock)
    assert said(read) == ""
    act, words = CHANGES[change]
    act(read)
    assert words in said(read)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"), (b"  \n", "it is empty"), (b"not json", "no JSON, or cut off (line 1"), (b"[]", "no JSON object"),
        (b"null", "no JSON object"), (b"\xff\xfe{}", "not UTF-8"), (b"{}", "lacks"), (b'{"format": NaN}', "no JSON"),
        (b"[" * 100_000, "nested too deeply"), (b'{"a": 1, "a": 2}', "a key twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no export"),
        (b" " * 64_000_001, "larger than 64,000,000 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_export_is_told_in_words(data: bytes, words: str) -> None:
    assert words in said(data)


async def test_an_export_cut_off_anywhere_never_verifies(store: Store, clock) -> None:
    data = json.dumps(await exported(store, clock)).encode()
    for end in range(0, len(data), 7):
        assert said(data[:end]), end


async def test_a_key_given_twice_is_refused_though_the_last_one_would_verify(store: Store, clock) -> None:
    text = json.dumps(await exported(store, clock))
    assert "a key twice" in said(text.replace('"kind": "stopped"', '"kind": "drafted", "kind": "stopped"', 1).encode())


ONE_CHANGE = st.tuples(
    st.integers(0, 2), st.sampled_from(["seq", "run_id", "kind", "at", "digest", "hash", "salt", "body"]), st.text(max_size=8)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=st.lists(ONE_CHANGE, min_size=1, max_size=3))
async def test_no_edit_of_any_field_verifies(read_once: dict[str, Any], changes: list[tuple[int, str, str]]) -> None:
    read = json.loads(json.dumps(read_once))
    for place, key, text in changes:
        read["links"][place][key] = text
    if read != read_once:
        assert said(read)


@pytest.fixture
async def read_once(store: Store, clock) -> dict[str, Any]:
    return await exported(store, clock)


# -- the day's head ---------------------------------------------------------------------------------------------------------


async def house(store: Store) -> list[journal.DayClosed]:
    async with store.read() as tx:
        found = [noted.entry for noted in await journal.entries(tx, journal.HOUSE)]
    assert all(isinstance(entry, journal.DayClosed) for entry in found)
    return found  # type: ignore[return-value]


async def notice(store: Store, day: str) -> str:
    async with store.read() as tx:
        found = await outbox.by_key(tx, f"head:{day}")
    assert found is not None
    return str(found[0].payload["text"])


async def test_a_day_is_closed_once_and_its_head_is_put_out(store: Store, clock) -> None:
    await write(store, clock, "one")
    await write(store, clock, "two", ticket_id="T-9002")
    clock.move(days=1)
    assert [await close_days(store, clock, UTC) for _ in range(3)] == [1, 0, 0]
    [closed] = await house(store)
    assert (closed.day, closed.chains) == ("2026-06-02", 2)
    assert await notice(store, "2026-06-02") == f"The journal's head of 2026-06-02, over 2 chains: {closed.head}."
    clock.move(days=1)
    assert await close_days(store, clock, UTC) == 1
    assert [one.day for one in await house(store)] == ["2026-06-02", "2026-06-03"]
    assert (await check_all(store)).sound


async def test_nothing_is_closed_while_nothing_was_written(store: Store, clock) -> None:
    clock.move(days=3)
    assert await close_days(store, clock, UTC) == 0
    assert await house(store) == []


async def test_days_that_were_missed_are_closed_by_one_head_that_says_so(store: Store, clock) -> None:
    await write(store, clock, "one")
    clock.move(days=1)
    await close_days(store, clock, UTC)
    clock.move(days=4)
    assert await close_days(store, clock, UTC) == 1
    assert [one.day for one in await house(store)] == ["2026-06-02", "2026-06-06"]
    assert "No day was closed since 2026-06-02" in await notice(store, "2026-06-06")


async def test_a_day_turns_in_the_configured_zone(store: Store, clock) -> None:
    await write(store, clock, "one")
    clock.moment = datetime(2026, 6, 2, 22, 30, tzinfo=UTC)
    assert await close_days(store, clock, UTC) == 0, "it is still the first day"
    assert await close_days(store, clock, ZoneInfo("Europe/Berlin")) == 1
    assert [one.day for one in await house(store)] == ["2026-06-02"]


async def test_what_is_written_in_the_last_moment_counts_for_the_next_day(store: Store, clock) -> None:
    """An entry made before the turn may be committed after it: the head must still come out."""
    await write(store, clock, "one")
    made = clock.moment = datetime(2026, 6, 2, 23, 59, 59, tzinfo=UTC)
    clock.moment = datetime(2026, 6, 3, 0, 0, 10, tzinfo=UTC)
    await close_days(store, clock, UTC)
    clock.moment = made
    await write(store, clock, "late")
    assert (await check_all(store)).sound


# -- the whole database -----------------------------------------------------------------------------------------------------


async def two_days(store: Store, clock: Any) -> None:
    await write(store, clock, "one", "two")
    await write(store, clock, "three", ticket_id="T-9002")
    clock.move(days=1)
    await close_days(store, clock, UTC)
    await write(store, clock, "four", ticket_id="T-9003")


async def test_a_sound_database_verifies_with_its_heads(store: Store, clock) -> None:
    await two_days(store, clock)
    found = await check_all(store)
    assert (found.sound, found.days) == (True, 1)
    assert {one.ticket_id: one.entries for one in found.chains} == {"": 1, "T-9001": 2, "T-9002": 1, "T-9003": 1}


@pytest.mark.parametrize(
    ("statement", "chain", "day"),
    [
        ("delete from journal where ticket_id = 'T-9002'", False, True),
        ("delete from journal where ticket_id = 'T-9001' and seq = 2", False, True),
        ("update payloads set body = replace(body, 'one', '1') where ticket_id = 'T-9001'", True, False),
        ("update journal set kind = 'drafted' where ticket_id = 'T-9003'", True, False),
        ("delete from payloads where ticket_id = 'T-9001' and seq = 1", True, False),
        ("delete from payloads where ticket_id = ''", True, True),
    ],
)
async def test_what_was_done_to_the_database_is_found(store: Store, clock, statement: str, chain: bool, day: bool) -> None:
    await two_days(store, clock)
    async with store.write() as tx:
        await tx.exec_driver_sql(statement)
    found = await check_all(store)
    assert not found.sound
    assert (any(one.broken for one in found.chains), bool(found.broken_days)) == (chain, day)
