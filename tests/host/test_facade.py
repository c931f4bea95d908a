"""The front door: who may do what, in words, with no server behind it (spec H19, B8).  What cards show is in tests/scenarios."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from typing import Any

import pytest

from host.catalog import Catalog
from host.config import HostConfig
from host.dispatch import Dispatcher
from host.errors import NotFound
from host.facade import Host
from host.loop import Loop
from host.open_calls import OpenCalls
from host.questions import Questions
from host.queue import Queue
from host.sessions import Sessions
from host.signal import Signal
from host.store.engine import Store
from host.store.servers import ServerMemory
from host.types import Actor, Answer, RoleName, RunState, Ticket
from host.views import TicketView
from models.port import Sampling
from models.scripted import ScriptedModel, call

pytestmark = pytest.mark.anyio

STAFF = Actor("staff-0007", "U7", "Noor Bakker", frozenset({"staff"}))
ADMIN = Actor("admin-0001", "U1", "Ada Lind", frozenset({"admin"}))
GUEST = Actor("", "U9", "A guest")


class Nobody:
    """Implements `host.port.People`: no role has anybody."""

    async def holding(self, roles: Collection[RoleName]) -> frozenset[str] | None:
        return frozenset()


@pytest.fixture
async def host(store: Store, clock: Any) -> AsyncIterator[Host]:
    config, changed, memory = HostConfig(servers={}), Signal(), ServerMemory(store)
    model = ScriptedModel([call("desk.reply", text="Thank you for writing.")] * 3)
    async with Sessions({}, memory) as sessions, OpenCalls() as open_calls:
        catalog = Catalog(sessions, memory, {})
        questions = Questions(store, config, clock, changed, lambda _: "")
        dispatcher = Dispatcher(store, sessions, open_calls, catalog, questions, config, clock)
        loop = Loop(store, model, catalog, dispatcher, questions, config, clock, Sampling())
        queue = Queue(store, loop, catalog, questions, config, clock, changed)
        yield Host(
            store=store,
            queue=queue,
            loop=loop,
            questions=questions,
            catalog=catalog,
            servers_health=sessions.health,
            config=config,
            clock=clock,
            changed=changed,
            model=model,
            people=Nobody(),
        )


async def test_a_ticket_is_taken_once_and_worked_by_people_with_a_role_alone(host: Host, ticket: Ticket) -> None:
    assert await host.intake(ticket) is True
    assert await host.intake(ticket) is False
    refused = await host.work(ticket.id, GUEST)
    assert (refused.ok, "Only support staff" in refused.words) == (False, True)
    assert (await host.work(ticket.id, STAFF)).ok is True
    again = await host.work(ticket.id, STAFF)
    assert (again.ok, "under way already" in again.words) == (False, True)


async def test_runs_stops_and_freezes_are_for_admins(host: Host, ticket: Ticket) -> None:
    await host.intake(ticket)
    for actor in (STAFF, GUEST):
        said = [await host.run_queue(actor, None), await host.stop(actor), await host.freeze("shop", actor)]
        assert [one.ok for one in said] == [False, False, False]
        assert all("Only an admin" in one.words for one in said)
    assert (await host.run_queue(ADMIN, None)).ok is True
    assert (await host.run_queue(ADMIN, None)).words == "No ticket is waiting to be worked."
    assert (await host.stop(ADMIN)).words == "Stopped 1 run(s)."


async def test_a_server_that_does_not_exist_cannot_be_frozen(host: Host) -> None:
    said = await host.freeze("shpo", ADMIN)
    assert (said.ok, "There is no server 'shpo'" in said.words) == (False, True)


async def test_a_card_of_a_ticket_is_made_of_the_database_alone(host: Host, ticket: Ticket) -> None:
    await host.intake(ticket)
    card = await host.card(f"ticket:{ticket.id}")
    assert isinstance(card, TicketView)
    assert (card.ticket, card.run, card.line) == (ticket, None, "New: nobody has worked this yet.")
    await host.work(ticket.id, STAFF)
    card = await host.card(f"ticket:{ticket.id}")
    assert isinstance(card, TicketView)
    assert card.run is not None
    assert card.run.state is RunState.READY


@pytest.mark.parametrize("key", ["ticket:T-0000", "question:q0", "progress:queue-0", "nonsense", ""])
async def test_a_card_that_does_not_exist_says_so(host: Host, key: str) -> None:
    with pytest.raises(NotFound):
        await host.card(key)


async def test_an_answer_to_a_question_of_another_installation_says_so(host: Host) -> None:
    with pytest.raises(NotFound, match="not known here"):
        await host.answer("q0", STAFF, Answer("approve"))


async def test_card_numbers_are_masked_whichever_way_a_ticket_comes_in(host: Host, ticket: Ticket) -> None:
    paid = replace(ticket, body="I paid with 4111 1111 1111 1111.", subject="4111111111111111", sender_name="Ines \ud800")
    assert await host.intake(paid)
    card = await host.card("ticket:T-9001")
    assert isinstance(card, TicketView)
    assert "card number ending in 1111" in card.ticket.body
    assert "411111" not in card.ticket.subject + card.ticket.body
    assert card.ticket.sender_name == "Ines \\ud800"


async def test_of_a_mail_beyond_all_measure_the_beginning_is_kept_in_words(host: Host, ticket: Ticket) -> None:
    assert await host.intake(replace(ticket, body="x" * 250_000))
    card = await host.card("ticket:T-9001")
    assert isinstance(card, TicketView)
    assert card.ticket.body.endswith("[… 150,000 more characters came and were left out]")
    assert len(card.ticket.body) < 100_100
