"""A refund above the limit, from ticket to sign-off: two people, one requested refund, whatever they answer and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from host.config import ActionClaim, HostConfig, PolicyRule, ReviewConfig
from host.types import Action, Answer, NotTaken, QuestionKind, QuestionState, StopReason, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]
ASKING = {"policy": (PolicyRule(tool="rounds.*", decision="ask"),)}


def words(result: Any) -> str:
    assert isinstance(result, NotTaken)
    return result.words


async def test_a_refund_above_the_limit_takes_two_people_and_is_requested_once(open_office: Opening) -> None:
    async with open_office(variant="clean") as office:
        await office.work("T-0004")
        consent = await office.open("T-0004")
        assert consent.kind is QuestionKind.CONSENT
        assert consent.payload["headline"].startswith("Refund 343.49 EUR on order O-1145 · over the shop's limit")
        assert office.refunds() == []

        assert isinstance(await office.approve("T-0004"), Taken)
        asked = await office.open("T-0004")
        assert asked.kind is QuestionKind.INPUT_REQUEST
        assert asked.roles == ("lead",)
        assert [row["status"] for row in office.refunds()] == ["held"]

        assert isinstance(await office.release("T-0004"), Taken)
        draft = await office.open("T-0004")
        assert draft.kind is QuestionKind.SIGN_OFF
        assert draft.payload["flags"] == []

        assert isinstance(await office.answer(draft, office.staff, Answer("send")), Taken)
        await office.settle()
        (row,) = office.refunds()
        assert (row["status"], row["amount_cents"]) == ("requested", 34349)
        assert (row["requested_by"], row["released_by"]) == ("staff-0007", "staff-0007")
        assert [item.kind.value for item in office.desk.items].count("mail") == 1
        assert (await office.result("T-0004")).stop_reason is StopReason.ANSWERED
        assert await office.verified("T-0004") == ""


async def test_staff_decline_reaches_the_model_with_its_reason_and_nothing_reaches_the_shop(open_office: Opening) -> None:
    asked = ActionClaim(name="refund", words="refunded", tools=("shop.issue_refund",), asked="(?i)refund the whole")

    def reviewed(config: HostConfig) -> HostConfig:
        return config.model_copy(update={"review": ReviewConfig(actions=(asked,))})

    async with open_office(change=reviewed) as office:
        await office.work("T-0004")
        await office.answer(await office.open("T-0004"), office.staff, Answer("decline", reason="he must send photos first"))
        await office.settle()
        assert await office.outcomes("T-0004") == [("shop.quote_refund", "result"), ("shop.issue_refund", "declined")]
        assert "he must send photos first" in office.told()
        assert office.refunds() == []
        assert (await office.result("T-0004")).stop_reason is StopReason.NEEDS_PERSON


async def test_a_lead_who_does_not_release_leaves_it_held_and_the_servers_word_reaches_the_model(open_office: Opening) -> None:
    async with open_office() as office:
        for number, (ticket, action) in enumerate((("T-0004", "decline"), ("T-0025", "cancel")), 1):
            await office.work(ticket)
            await office.approve(ticket)
            assert "Only a lead" in words(await office.release(ticket, office.staff2))
            await office.answer(await office.open(ticket), office.lead, Answer(cast(Action, action), reason="not today"))
            await office.settle()
            assert ("shop.issue_refund", "tool_error") in await office.outcomes(ticket)
            assert "the API still holds R-" in office.told()
            assert [row["status"] for row in office.refunds()] == ["held"] * number


async def test_a_release_that_nobody_gives_is_told_as_expired_and_leaves_it_held(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004")
        question = await office.open("T-0004", QuestionKind.INPUT_REQUEST)
        office.clock.move(hours=24)
        assert "expired" in words(await office.answer(question, office.lead, Answer("accept")))
        assert await office.host_expires() == 1
        await office.settle()
        assert ("shop.issue_refund", "expired") in await office.outcomes("T-0004")
        assert "Nobody answered in time" in office.told()
        assert "declined" not in office.told()
        assert "expired" in words(await office.answer(question, office.lead, Answer("accept")))
        assert [row["status"] for row in office.refunds()] == ["held"]


async def test_nobody_releases_what_they_approved(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004", office.both)
        assert "another person" in words(await office.release("T-0004", office.both))
        assert isinstance(await office.release("T-0004", office.lead), Taken)
        assert [row["status"] for row in office.refunds()] == ["requested"]


async def test_freezing_a_server_while_its_own_question_waits_sends_no_answer(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004")
        await office.host.freeze("shop", office.admin)
        await office.release("T-0004")
        assert ("shop.issue_refund", "refused") in await office.outcomes("T-0004")
        assert [row["status"] for row in office.refunds()] == ["held"]


# --- one question, many people; the server does not matter --------------------------------------------------------------------


async def test_of_two_open_questions_only_the_one_that_was_answered_is_decided(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        one, other = await office.tries(9001, "plain amount 1"), await office.tries(9002, "plain amount 2")
        first, second = await office.open(one), await office.open(other)
        assert isinstance(await office.answer(second, office.staff, Answer("approve")), Taken)
        await office.settle()
        assert (await office.open(one)).id == first.id
        assert [call["arguments"]["amount"] for call in office.wire()] == [2]

        office.clock.move(hours=25)
        await office.host_expires()
        third = await office.open(await office.tries(9003, "plain amount 3"))
        stale = words(await office.answer(first, office.staff, Answer("approve")))
        assert "expired" in stale
        assert "Nothing ran" in stale
        assert (await office.open("T-9003")).id == third.id
        assert len(office.wire()) == 1


async def test_a_second_answer_loses_and_is_told_who_won(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        question = await office.open(await office.tries(9001, "plain"))
        await office.answer(question, office.staff, Answer("decline", reason="no"))
        late = words(await office.answer(question, office.staff2, Answer("approve")))
        assert "Scripted staff" in late
        assert "decline" in late
        await office.settle()
        assert office.wire() == []


async def test_who_may_answer_is_decided_by_role(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        consent = await office.open(await office.tries(9001, "form"))
        for actor in (office.admin, office.stranger):
            assert "Only support staff or a lead may decide this" in words(await office.answer(consent, actor, Answer("approve")))
            assert (await office.open("T-9001")).state is QuestionState.OPEN
        assert isinstance(await office.answer(consent, office.lead, Answer("approve")), Taken)
        other = await office.open(await office.tries(9002, "form"))
        assert isinstance(await office.answer(other, office.staff, Answer("approve")), Taken)
    async with open_rounds(server={"input_roles": ()}) as office:
        nobodys = await office.open(await office.tries(9003, "form"))
        assert "nobody" in words(await office.answer(nobodys, office.lead, Answer("accept", content={"yes": True})))


async def test_freezing_a_server_counts_until_the_last_look(open_rounds: Opening) -> None:
    """Frozen and thawed again while the question waits, nothing is lost."""
    async with open_rounds(**ASKING) as office:
        one, other = await office.tries(9001, "plain"), await office.tries(9002, "plain")
        assert (await office.host.freeze("rounds", office.admin)).ok
        await office.approve(one)
        record = await office.call(one)
        assert (record.outcome.value, "frozen" in record.note) == ("refused", True)
        assert office.wire() == []
        await office.host.unfreeze("rounds", office.admin)
        await office.approve(other)
        assert (await office.call(other)).outcome.value == "result"


async def test_stopping_while_a_question_waits_cancels_it_and_the_run(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        consent = await office.open(await office.tries(9001, "form"))
        release = await office.tries(9002, "form")
        await office.approve(release)
        for question in (consent, await office.open(release)):
            assert (await office.host.stop(office.admin, question.ticket_id)).ok
            await office.settle()
            assert (await office.call(question.ticket_id)).outcome.value == "cancelled"
            assert (await office.result(question.ticket_id)).stop_reason is StopReason.CANCELLED
            assert "stopped by Deskhand" in words(await office.answer(question, office.lead, Answer("approve")))
            assert [q.state for q in await office.questions(question.ticket_id) if q.id == question.id] == [
                QuestionState.CANCELLED
            ]
        assert len(office.wire()) == 1
