"""What starts work, what ends it, and what a prompt holds besides the ticket (spec H14, H23, H24, H28)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from host.config import PolicyRule
from host.errors import ConfigError
from host.types import Answer, HostAnswer, NotTaken, QuestionKind, StopReason
from models.port import Reply, Request
from models.scripted import ScriptedModel

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

ASKING = {"policy": (PolicyRule(tool="rounds.*", decision="ask"),)}
TERMS, LONG = "rounds://terms", "rounds://long"
READING = {"read_resources": True}
PERIOD = "You can return it within 45 days."


# --- modes --------------------------------------------------------------------------------------------------------------------


async def test_a_ticket_is_worked_as_it_comes_only_where_the_mode_says_so(open_rounds: Opening, script: Any) -> None:
    thanks = script.turns(script.reply("Thank you for writing."))
    async with open_rounds(script=thanks, mode="on_arrival") as office:
        one = next(ticket for ticket in office.tickets() if ticket.id == "T-0005")
        assert await office.host.intake(one) is True
        await office.settle()
        assert (await office.open(one.id)).kind is QuestionKind.SIGN_OFF
        (started,) = [n.entry for n in await office.entries(one.id) if n.entry.kind == "started"]
        assert started.by == "service"
        assert await office.host.intake(one) is False
        await office.settle()
        assert len(office.model.requests) == 1, "one that comes again is not worked again"
    async with open_rounds(script=thanks, mode="manual") as office:
        other = replace(one, id="T-9005", intake_key="test:9005")
        await office.host.intake(other)
        await office.settle()
        assert office.model.requests == []
        assert (await office.host.card("ticket:T-9005")).line == "New: nobody has worked this yet."
        await office.again("T-9005")
        assert len(office.model.requests) == 1


async def test_a_pilot_reads_and_drafts_and_neither_acts_nor_sends(open_rounds: Opening) -> None:
    """Also what was approved before the mode was set, and what waits for its server."""
    async with open_rounds(**ASKING) as office:
        approved, begun = await office.tries(9001, "plain"), await office.tries(9002, "form")
        await office.approve(begun)
        release = await office.open(begun)
        await office.answer(await office.open(approved), office.staff, Answer("approve"))
        assert len(office.wire()) == 1
    async with open_rounds(mode="pilot", **ASKING) as office:
        await office.answer(release, office.lead, Answer("accept", content={"yes": True}))
        await office.settle()
        new = await office.tries(9003, "plain")
        for ticket in (approved, begun, new):
            record = await office.call(ticket)
            assert (record.outcome.value, "pilot" in record.note) == ("refused", True), ticket
            draft = await office.open(ticket, QuestionKind.SIGN_OFF)
            for answer in (Answer("send"), Answer("edit_and_send", text="Thank you.")):
                refused = await office.answer(draft, office.staff, answer)
                assert isinstance(refused, NotTaken)
                assert "pilot" in refused.words
        assert len(office.wire()) == 1
        await office.settle()
        assert not [item for item in office.desk.items if item.kind.value == "mail"]
    async with open_rounds(effect="read", mode="pilot", **ASKING) as office:
        reads = await office.tries(9004, "plain")
        await office.approve(reads)
        assert (await office.call(reads)).outcome.value == "result"


# --- what a run gives ---------------------------------------------------------------------------------------------------------


async def test_a_run_gives_its_words_why_it_ended_and_every_call(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        ticket = await office.tries(9001, "plain")
        assert await office.host.answer_of(ticket) is None, "it waits for a person"
        assert await office.host.answer_of("T-0000") is None
        await office.approve(ticket)
        given = await office.host.answer_of(ticket)
        assert isinstance(given, HostAnswer)
        assert (given.text, given.stop_reason) == ("Thank you for writing.", StopReason.ANSWERED)
        (record,) = given.calls
        assert (record.name, record.arguments, record.ok) == ("rounds.plain", {"order_id": "O-1145"}, True)
        assert record.duration_ms >= 0
        office.clock.move(minutes=1)
        await office.host.work(ticket, office.staff)
        assert await office.host.answer_of(ticket) is None, "worked again"
        await office.host.stop(office.admin, ticket)
        await office.settle()
        given = await office.host.answer_of(ticket)
        assert (given.text, given.stop_reason, given.calls) == ("", StopReason.CANCELLED, ())


async def test_the_deadline_cuts_a_model_that_does_not_come_back(open_rounds: Opening) -> None:
    class Silent(ScriptedModel):
        async def reply(self, request: Request) -> Reply:
            await anyio.sleep_forever()
            raise AssertionError("cut before")

    async with open_rounds(limits={"deadline_seconds": 0.3}, make_model=Silent) as office:
        with anyio.fail_after(20):
            ticket = await office.tries(9001, "plain")
        given = await office.host.answer_of(ticket)
        assert given.stop_reason is StopReason.DEADLINE
        assert "longer than 0 seconds" in (await office.host.card(f"ticket:{ticket}")).line
        assert await office.verified(ticket) == ""


# --- resources ----------------------------------------------------------------------------------------------------------------


def resources_of(request: Request) -> list[str]:
    return [m.content for m in request.messages if m.role == "user" and m.content.startswith("Resource ")]


async def test_a_person_adds_a_listed_resource_for_one_ticket(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(PERIOD))) as office:
        await office.take("T-0005")
        await office.settle()
        assert resources_of(office.model.requests[-1]) == []
        flags = (await office.open("T-0005")).payload["flags"]
        assert [flag["sentence"] for flag in flags] == [PERIOD], "nothing says so"

        assert set(await office.host.resources()) == {TERMS, LONG, "rounds://endless", "rounds://gone"}
        refused = await office.host.work("T-0005", office.staff, resources=("file:///etc/passwd",))
        assert (refused.ok, "no server lists" in refused.words) == (False, True)
        assert (await office.host.work("T-0005", office.staff, resources=(TERMS,))).ok
        await office.settle()
        request = office.model.requests[-1]
        (shown,) = resources_of(request)
        assert "Returns are taken within 45 days" in shown
        places = [m.content.partition(" ")[0] for m in request.messages if m.content.startswith(("Resource ", "Ticket:"))]
        assert places[-2:] == ["Resource", "Ticket:"], "after what all tickets share, before the ticket"
        assert (await office.open("T-0005")).payload["flags"] == [], "the resource says so"

        await office.work("T-0004")
        assert resources_of(office.model.requests[-1]) == [], "for that ticket alone"


async def test_an_added_resource_is_cut_to_its_size_and_one_that_cannot_be_read_is_said_to_be_so(
    open_rounds: Opening, script: Any
) -> None:
    async with open_rounds(script=script.turns(script.reply("Thank you for writing."))) as office:
        one = next(ticket for ticket in office.tickets() if ticket.id == "T-0005")
        await office.host.intake(one)
        assert (await office.host.work("T-0005", office.staff, resources=(LONG, "rounds://endless", "rounds://gone"))).ok
        await office.settle()
        (shown,) = resources_of(office.model.requests[-1])
        assert 4_000 < len(shown) < 5_000
        assert "[cut after 4000 of" in shown
        assert shown.count("could not be read") == 2
        assert (await office.host.answer_of("T-0005")).stop_reason is StopReason.ANSWERED


async def test_the_model_reads_listed_resources_only_where_their_server_is_configured_so(
    open_rounds: Opening, script: Any
) -> None:
    """What it reads grounds nothing, and supports what it says as a resource does."""
    turns = (
        script.batch(script.call("desk.read_resource", uri=TERMS), script.call("rounds.plain", order_id="O-2222")),
        script.reply(PERIOD),
    )
    async with open_rounds(script=script.turns(*turns)) as office:
        await office.work("T-0005")
        assert await office.outcomes("T-0005") == [("desk.read_resource", "unknown_tool"), ("rounds.plain", "refused")]
        assert "desk.read_resource" not in [tool.name for tool in office.model.requests[0].tools]
    async with open_rounds(script=script.turns(*turns), server=READING) as office:
        await office.work("T-0004")
        read, guessed = (await office.result("T-0004")).calls
        assert (read.outcome.value, "within 45 days" in read.text) == ("result", True)
        assert (guessed.outcome.value, "O-2222" in guessed.note) == ("refused", True), "a resource grounds nothing"
        assert "desk.read_resource" in [offer.name for offer in office.model.requests[0].offers]
        assert (await office.open("T-0004")).payload["flags"] == []
        assert office.wire() == []


async def test_a_resource_is_read_through_the_checkpoint(open_rounds: Opening, script: Any) -> None:
    def reading(uri: str) -> Any:
        def model(request: Request) -> Reply:
            thanks: Reply = script.reply("Thank you for writing.")
            look: Reply = script.call("desk.read_resource", uri=uri)
            return thanks if script.said(request) else look

        return model

    async with open_rounds(script=reading(LONG), server=READING) as office:
        await office.work("T-0005")
        assert "[cut after 6000 of" in office.told()
        await office.host.freeze("rounds", office.admin)
        await office.again("T-0005")
        assert (await office.result("T-0005")).calls[-1].outcome.value == "refused"
        assert "frozen" in office.told()
        await office.host.unfreeze("rounds", office.admin)
    for uri, outcome, why in (
        ("rounds://endless", "failed", "more than 200,000 characters"),
        ("file:///etc/passwd", "refused", "not valid"),
    ):
        async with open_rounds(script=reading(uri), server=READING) as office:
            await office.again("T-0005")
            record = (await office.result("T-0005")).calls[-1]
            assert (record.outcome.value, why in record.note) == (outcome, True), uri
    for decision, outcome in (("deny", "refused"), ("ask", "declined")):
        rule = PolicyRule(tool="desk.read_resource", decision=decision, why="look it up yourselves")
        async with open_rounds(script=reading(TERMS), server=READING, policy=(rule,)) as office:
            await office.again("T-0005")
            if decision == "ask":
                consent = await office.open("T-0005", QuestionKind.CONSENT)
                await office.answer(consent, office.staff, office.declined("no"))
                await office.settle()
            assert (await office.result("T-0005")).calls[-1].outcome.value == outcome


async def test_a_rule_about_reading_starts_while_its_server_is_down_and_not_where_nothing_may_be_read(
    open_rounds: Opening,
) -> None:
    rule = (PolicyRule(tool="desk.read_resource", decision="ask", when={"uri": f"== {TERMS}"}),)
    async with open_rounds(server={**READING, "command": ("/nonexistent/server",)}, policy=rule) as office:
        assert [one.state for one in (await office.host.status()).servers] == ["down"]
    with pytest.raises(ExceptionGroup) as refused:
        async with open_rounds(policy=rule):
            pass
    assert refused.group_contains(ConfigError, match=r"no tool matches .desk\.read_resource.")


async def test_the_prompt_of_a_run_keeps_every_byte_while_what_it_holds_changes(open_rounds: Opening, offered: Any) -> None:
    """Attached and added resources, and the tools: as they were when the run began, over a restart (spec H24)."""
    offered(plain="Tests plain.")
    attached = {"server": {"resources": (LONG,)}}
    async with open_rounds("2025", **attached, **ASKING) as office:
        one = next(ticket for ticket in office.tickets() if ticket.id == "T-0004")
        await office.host.intake(replace(one, body="O-1145: try plain"))
        await office.host.work("T-0004", office.staff, resources=(TERMS,))
        await office.settle()
        before = office.model.requests[-1]
        assert len(resources_of(before)) == 2
        (office.state / "terms").write_text("Returns are taken within 10 days.")
        await office.change_tools(plain="Tests plain.", form="Tests form.")
    async with open_rounds("2025", **ASKING) as office:
        await office.approve("T-0004")
        after = office.model.requests[-1]
        assert after.messages[: len(before.messages)] == before.messages
        assert after.tools == before.tools
        digests = {n.entry.prompt_digest for n in await office.entries("T-0004") if n.entry.kind == "started"}
        assert len(digests) == 1
