"""Tools that change under a running host: asked of an admin once, superseded, accepted, declined (spec H7, H24)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from host.config import PolicyRule
from host.types import Answer, NotTaken, QuestionKind, QuestionState, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

ACCEPT, DECLINE = Answer("accept"), Answer("decline", reason="it does something else now")
FIRST, SECOND, THIRD = "Tests plain.", "Tests plain, in another way.", "Tests plain, in a third way."


async def off(office: Any, name: str = "rounds.plain") -> str:
    return str(next(tool.off for tool in await office.host.tools() if tool.name == name))


async def states(office: Any) -> list[str]:
    return [question.state.value for question in await office.house_questions()]


async def open_change(office: Any) -> Any:
    (found,) = [q for q in await office.house_questions() if q.state is QuestionState.OPEN]
    return found


@pytest.fixture
def open_changed(open_rounds: Opening, offered: Any) -> Opening:
    """An office whose server offered `FIRST` at its first connection."""
    offered(plain=FIRST)
    return partial(open_rounds, "2025", policy=(PolicyRule(tool="rounds.plain", decision="allow"),))


async def test_a_changed_tool_is_asked_of_admins_once_and_used_again_when_one_accepts(open_changed: Opening) -> None:
    async with open_changed() as office:
        assert await off(office) == ""
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        assert "pin_mismatch: its description changed" in await off(office)
        question = await open_change(office)
        assert (question.kind, question.roles, question.server) == (QuestionKind.CHANGED_TOOL, ("admin",), "rounds")
        assert (question.payload["before"]["description"], question.payload["after"]["description"]) == (FIRST, SECOND)
        await office.settle()
        await office.running.queue.recover()
        assert await states(office) == ["open"], "asked once, however often it is looked at"
        assert len([item for item in office.desk.items if item.key == f"question:{question.id}"]) == 1

        for actor in (office.staff, office.lead, office.both, office.stranger):
            refused = await office.answer(question, actor, ACCEPT)
            assert isinstance(refused, NotTaken)
            assert "Only an admin" in refused.words
        assert await off(office)
        assert isinstance(await office.answer(question, office.admin, ACCEPT), Taken)
        assert await off(office) == ""
        ticket = await office.tries(9001, "plain")
        assert (await office.call(ticket)).outcome.value == "result"
        assert await office.verified("") == ""
    async with open_changed() as office:
        assert await off(office) == "", "also for the next process"


async def test_a_question_about_a_definition_that_is_no_longer_the_servers_is_superseded(open_changed: Opening) -> None:
    async with open_changed() as office:
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        second = await open_change(office)
        office.clock.move(minutes=1)
        await office.change_tools(plain=THIRD)
        third = await open_change(office)
        assert third.payload["after"]["description"] == THIRD
        stale = await office.answer(second, office.admin, ACCEPT)
        assert isinstance(stale, NotTaken)
        assert "no longer as it was shown" in stale.words
        assert "pin_mismatch" in await off(office)

        office.clock.move(minutes=1)
        await office.change_tools(plain=FIRST)
        assert await states(office) == ["superseded", "superseded"], "it is as it was accepted: nothing is asked"
        assert await off(office) == ""


async def test_what_was_declined_stays_off_and_is_not_asked_again_but_another_change_is(open_changed: Opening) -> None:
    async with open_changed() as office:
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        assert isinstance(await office.answer(await open_change(office), office.admin, DECLINE), Taken)
        await office.settle()
        await office.running.queue.recover()
        assert await states(office) == ["answered"]
        assert await off(office)
    async with open_changed() as office:
        office.clock.move(minutes=1)
        await office.change_tools(plain=THIRD)
        assert (await open_change(office)).payload["after"]["description"] == THIRD
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        assert "open" not in await states(office)
        assert "pin_mismatch" in await off(office)


async def test_a_definition_that_was_accepted_and_left_and_comes_back_is_asked_about_again(open_changed: Opening) -> None:
    async with open_changed() as office:
        for description in (SECOND, THIRD):
            office.clock.move(minutes=1)
            await office.change_tools(plain=description)
            assert isinstance(await office.answer(await open_change(office), office.admin, ACCEPT), Taken)
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        question = await open_change(office)
        assert (question.payload["before"]["description"], question.payload["after"]["description"]) == (THIRD, SECOND)


async def test_one_that_nobody_answered_is_asked_once_more(open_changed: Opening) -> None:
    async with open_changed() as office:
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        await office.settle()
        office.clock.move(hours=25)
        assert await office.host_expires() == 1
        await office.settle()
        assert await states(office) == ["expired", "open"]


async def test_one_that_reached_nobody_is_not_asked_again_and_again(open_changed: Opening) -> None:
    async with open_changed() as office:
        office.desk.refused = lambda item: item.key.startswith("question:")
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        await office.settle()
        assert await states(office) == ["undeliverable"]
        office.desk.refused = lambda _: False
        office.clock.move(hours=24)
        await office.settle()
        assert await states(office) == ["undeliverable", "open"], "a day later, once"


async def test_accepting_in_the_terminal_closes_the_card(open_changed: Opening) -> None:
    async with open_changed() as office:
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND)
        (change,) = await office.host.changed_tools()
        assert not (await office.host.accept_tool(change, office.lead)).ok
        assert (await office.host.accept_tool(change, office.admin)).ok
        assert await off(office) == ""
        await office.settle()
        assert await states(office) == ["superseded"]


async def test_an_accepted_tool_is_offered_in_the_next_run_and_not_inside_one_that_began_before(open_changed: Opening) -> None:
    """The run waits for consent while the tool changes and a new one comes: its prompt keeps every byte (spec H24)."""
    async with open_changed(policy=()) as office:
        ticket = await office.tries(9001, "plain")
        before = office.model.requests[-1]
        office.clock.move(minutes=1)
        await office.change_tools(plain=SECOND, form="Tests form.")
        assert {q.payload["tool"] for q in await office.house_questions()} == {"rounds.plain", "rounds.form"}
        for question in await office.house_questions():
            assert isinstance(await office.answer(question, office.admin, ACCEPT), Taken)
        assert (await off(office), await off(office, "rounds.form")) == ("", "")

        asked = await office.open(ticket, QuestionKind.CONSENT)
        refused = await office.answer(asked, office.staff, Answer("approve"))
        assert isinstance(refused, NotTaken)
        assert "definition changed after this was asked" in refused.words
        await office.settle()
        again = await office.open(ticket, QuestionKind.CONSENT)
        assert again.definition != asked.definition
        await office.approve(ticket)
        after = office.model.requests[-1]
        assert after.tools == before.tools
        assert after.messages[: len(before.messages)] == before.messages
        assert [offer.name for offer in after.offers] == ["desk.reply"], "what changed is not offered inside the run"

        await office.tries(9002, "plain")
        request = office.model.requests[-1]
        assert [tool.name for tool in request.tools] == ["rounds.form", "rounds.plain", "desk.reply"]
        assert SECOND in [tool.description for tool in request.tools]


async def test_a_tool_that_is_gone_and_returns_as_it_was_needs_nobody(open_changed: Opening) -> None:
    async with open_changed() as office:
        await office.change_tools(form="Tests form.")
        assert "no longer offers it" in await off(office)
        await office.change_tools(plain=FIRST)
        assert await off(office) == ""
        assert {q.payload["tool"] for q in await office.house_questions()} == {"rounds.form"}
