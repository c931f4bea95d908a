"""Arguments that a person edits before approval: judged anew at the click, bound exactly, and told to the model (spec H21)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from host.config import PolicyRule
from host.types import Answer, NotTaken, QuestionKind, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

ASKING = {"policy": (PolicyRule(tool="rounds.*", decision="ask"),), "tool": {"may_edit": ("amount", "order_id", "count")}}


def edited(**content: Any) -> Answer:
    return Answer("approve", content=content)


async def test_an_edit_that_the_checkpoint_refuses_comes_back_beside_its_field_and_nothing_is_decided(
    open_rounds: Opening,
) -> None:
    deny = PolicyRule(tool="rounds.plain", decision="deny", when={"amount": "> 500"}, why="too much for one person")
    asking = {**ASKING, "policy": (*ASKING["policy"], deny)}
    async with open_rounds(**asking) as office:
        ticket = await office.tries(9001, "plain amount 20")
        question = await office.open(ticket)
        cases = (
            ({"order_id": "O-9999"}, "order_id", "not known in this ticket"),
            ({"amount": 501}, "amount", "too much for one person"),
            ({"amount": "2.614"}, "amount", "2.614"),
            ({"amount": "6,95"}, "amount", "6,95"),
            ({"amount": "79,00"}, "amount", "79,00"),
            ({"amount": "many"}, "amount", "many"),
            ({"count": "2.614"}, "count", "2.614"),
            ({"count": "two"}, "count", "two"),
            ({"amount": [5]}, "amount", "amount"),
        )
        for content, field, why in cases:
            refused = await office.answer(question, office.staff, edited(**content))
            assert isinstance(refused, NotTaken), content
            assert list(refused.fields) == [field], content
            assert why in refused.words, content
        refused = await office.answer(question, office.staff, edited(quote_id="Q-0123456789"))
        assert isinstance(refused, NotTaken)
        assert "quote_id may not be edited" in refused.words
        refused = await office.answer(question, office.stranger, edited(amount=19))
        assert isinstance(refused, NotTaken)
        assert "Only support staff" in refused.words
        assert (await office.open(ticket)).id == question.id
        assert office.wire() == []


async def test_an_edit_that_holds_runs_exactly_so_and_the_model_is_told(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        ticket = await office.tries(9001, "plain amount 20")
        taken = await office.answer(
            await office.open(ticket), office.staff, edited(amount="1,019.50", order_id="o1145", count="2")
        )
        assert isinstance(taken, Taken)
        await office.settle()
        assert [call["arguments"] for call in office.wire()] == [{"amount": 1019.5, "order_id": "O-1145", "count": 2}]
        record = await office.call(ticket)
        assert (record.outcome.value, record.arguments) == ("result", {"amount": 1019.5, "order_id": "O-1145", "count": 2})
        assert "a person changed the arguments" in record.note
        assert "with edited arguments" in record.allowed_by
        assert "a person changed the arguments before it ran" in office.told()
        assert '"amount":1019.5' in office.told()
        assert len(await office.questions(ticket)) == 2, "asked once, and the draft"


async def test_an_edit_made_before_a_change_counts_for_nothing_while_the_tool_is_off(open_rounds: Opening, offered: Any) -> None:
    """The tool's definition changes between the approval and the call: the approval does not count."""
    offered(plain="Tests plain.")
    async with open_rounds("2025", **ASKING) as office:
        ticket = await office.tries(9001, "plain amount 20")
        assert isinstance(await office.answer(await office.open(ticket), office.staff, edited(amount=19)), Taken)
        await office.change_tools(plain="Tests plain, in another way.")
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "refused"
        assert "pin_mismatch" in (await office.call(ticket)).note
        assert office.wire() == []


async def test_what_was_approved_and_is_accepted_anew_is_asked_with_the_edited_arguments(
    open_rounds: Opening, offered: Any
) -> None:
    offered(plain="Tests plain.")
    async with open_rounds("2025", **ASKING) as office:
        ticket = await office.tries(9001, "plain amount 20")
        await office.answer(await office.open(ticket), office.staff, edited(amount=19))
        await office.change_tools(plain="Tests plain, in another way.")
        (changed,) = await office.house_questions()
        assert isinstance(await office.answer(changed, office.admin, Answer("accept")), Taken)
        await office.settle()
        again = await office.open(ticket, QuestionKind.CONSENT)
        assert again.payload["arguments"] == {"amount": 19, "order_id": "O-1145"}
        await office.approve(ticket)
        assert [call["arguments"] for call in office.wire()] == [{"amount": 19, "order_id": "O-1145"}]
        assert "a person changed the arguments" in (await office.call(ticket)).note


async def test_an_edit_that_takes_more_people_is_asked_of_them_as_edited(open_rounds: Opening) -> None:
    asking = {**ASKING, "tool": {"may_edit": ("amount",), "amount": "amount", "two_leads_over": 100}}
    async with open_rounds(**asking) as office:
        ticket = await office.tries(9001, "plain amount 20")
        await office.answer(await office.open(ticket), office.staff, edited(amount=200))
        await office.settle()
        assert office.wire() == []
        again = await office.open(ticket, QuestionKind.CONSENT)
        assert (again.needed, again.roles, again.payload["arguments"]["amount"]) == (2, ("lead",), 200)
        assert again.payload["may_edit"] == [], "who approves second would approve what the first did not see"
        refused = await office.answer(again, office.lead, edited(amount=300))
        assert isinstance(refused, NotTaken)
        await office.approve(ticket, office.lead)
        await office.approve(ticket, office.lead2)
        assert [call["arguments"]["amount"] for call in office.wire()] == [200]
