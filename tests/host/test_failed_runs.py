"""A run that an error of ours ends leaves nothing behind that nobody knows of (spec H13, H28)."""

from __future__ import annotations

from typing import Any

import pytest

from host import history, journal
from host.catalog import Catalog
from host.config import HostConfig
from host.dispatch import Dispatcher
from host.loop import Loop
from host.open_calls import OpenCalls
from host.questions import Questions
from host.sessions import Sessions
from host.signal import Signal
from host.store import journal as journal_rows
from host.store import tickets
from host.store.codec import iso
from host.store.engine import Store
from host.store.servers import ServerMemory
from host.types import SERVICE, Effect, Run, RunState, Ticket
from models.port import Sampling
from models.scripted import ScriptedModel

pytestmark = pytest.mark.anyio
RUN = Run("run-1", "T-9001", RunState.READY, SERVICE, None)  # type: ignore[arg-type]  # its start is nothing here


def begun(call_id: str, effect: Effect) -> journal.Intended:
    return journal.Intended(
        call_id=call_id,
        tool="shop.issue_refund",
        server="shop",
        arguments={"quote_id": "Q-0123456789"},
        effect=effect,
        definition="d",
        allowed_by="staff-0007",
        acting="staff-0007",
        amount="25.00",
    )


@pytest.mark.parametrize(("effect", "outcome", "counted"), [("effect", "may_have_run", 1), ("read", "failed", 0)])
async def test_a_call_that_was_begun_gets_an_outcome_and_counts_as_what_it_is(
    store: Store, clock: Any, ticket: Ticket, effect: Effect, outcome: str, counted: int
) -> None:
    config, memory, changed = HostConfig(servers={}), ServerMemory(store), Signal()
    written = journal.CallWritten(id="run-1.c1", name="shop.issue_refund", arguments={})
    replied = journal.Replied(raw="", text="", calls=(written,))
    started = journal.Started(by="staff-0007", user="U7", model="scripted", tools=(), prompt_digest="d")
    async with Sessions({}, memory) as sessions, OpenCalls() as open_calls:
        catalog = Catalog(sessions, memory, {})
        questions = Questions(store, config, clock, changed, lambda _: "")
        dispatcher = Dispatcher(store, sessions, open_calls, catalog, questions, config, clock)
        loop = Loop(store, ScriptedModel([]), catalog, dispatcher, questions, config, clock, Sampling())
        async with store.write() as tx:
            await tickets.add_ticket(tx, ticket)
            await journal.append(tx, ticket.id, "run-1", clock.now(), started, replied, begun("run-1.c1", effect))
        async with store.write() as tx:
            await loop.leave_calls(tx, RUN)
        async with store.read() as tx:
            (record,) = history.records(history.runs(await journal.entries(tx, ticket.id)))
            counts, amount = await journal_rows.ran_since(tx, iso(clock.now()))
    assert (record.outcome.value, record.allowed_by) == (outcome, "staff-0007")
    assert (counts.get("shop.issue_refund", 0), float(amount)) == (counted, 25.0 * counted)
