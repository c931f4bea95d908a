"""A refund above the limit, from ticket to sign-off: two people, one requested refund, whatever they answer and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from host.config import ActionClaim, HostConfig, ReviewConfig
from host.types import Action, Answer, NotTaken, QuestionKind, QuestionState, StopReason, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]


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


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_lead_who_does_not_release_leaves_it_held_and_the_servers_word_reaches_the_model(
    open_office: Opening, action: str
) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004")
        await office.answer(await office.open("T-0004"), office.lead, Answer(cast(Action, action), reason="not today"))
        await office.settle()
        assert ("shop.issue_refund", "tool_error") in await office.outcomes("T-0004")
        assert "the API still holds R-" in office.told()
        assert [row["status"] for row in office.refunds()] == ["held"]


@pytest.mark.parametrize("kind", [QuestionKind.CONSENT, QuestionKind.INPUT_REQUEST])
async def test_a_question_that_expires_is_told_as_expired_and_never_as_declined(open_office: Opening, kind: QuestionKind) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        if kind is QuestionKind.INPUT_REQUEST:
            await office.approve("T-0004")
        question = await office.open("T-0004", kind)
        office.clock.move(hours=24)
        late = await office.answer(question, office.lead, Answer("approve" if kind is QuestionKind.CONSENT else "accept"))
        assert isinstance(late, NotTaken)
        assert "expired" in late.words
        assert await office.host_expires() == 1
        await office.settle()
        assert ("shop.issue_refund", "expired") in await office.outcomes("T-0004")
        assert "Nobody answered in time" in office.told()
        assert "declined" not in office.told()
        stale = await office.answer(question, office.lead, Answer("approve" if kind is QuestionKind.CONSENT else "accept"))
        assert isinstance(stale, NotTaken)
        assert "expired" in stale.words
        assert [row["status"] for row in office.refunds()] == ([] if kind is QuestionKind.CONSENT else ["held"])


async def test_of_two_open_questions_only_the_one_that_was_answered_is_decided(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004", "T-0025")
        first, second = await office.open("T-0004"), await office.open("T-0025")
        assert isinstance(await office.answer(second, office.staff, Answer("approve")), Taken)
        await office.settle()
        assert (await office.open("T-0004")).id == first.id
        assert [row["order_id"] for row in office.refunds()] == ["O-2289"]


async def test_a_second_answer_loses_and_is_told_who_won(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        question = await office.open("T-0004")
        await office.answer(question, office.staff, Answer("decline", reason="no"))
        late = await office.answer(question, office.staff2, Answer("approve"))
        assert isinstance(late, NotTaken)
        assert "Scripted staff" in late.words
        assert "decline" in late.words
        await office.settle()
        assert office.refunds() == []


@pytest.mark.parametrize("who", ["lead", "admin", "stranger", "staff"])
async def test_who_may_answer_is_decided_by_role(open_office: Opening, who: str) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        consent = await office.open("T-0004")
        result = await office.answer(consent, getattr(office, who), Answer("approve"))
        assert isinstance(result, Taken) is (who in ("lead", "staff"))
        if isinstance(result, NotTaken):
            assert "Only support staff or a lead may decide this" in result.words
            assert (await office.open("T-0004")).state is QuestionState.OPEN


async def test_staff_may_not_release(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004")
        refused = await office.release("T-0004", office.staff2)
        assert isinstance(refused, NotTaken)
        assert "Only a lead" in refused.words
        assert [row["status"] for row in office.refunds()] == ["held"]


async def test_nobody_releases_what_they_approved(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004", office.both)
        refused = await office.release("T-0004", office.both)
        assert isinstance(refused, NotTaken)
        assert "another person" in refused.words
        assert isinstance(await office.release("T-0004", office.lead), Taken)
        assert [row["status"] for row in office.refunds()] == ["requested"]


async def test_an_input_request_without_roles_is_answered_by_nobody(open_office: Opening) -> None:
    def nobody(config: Any) -> Any:
        shop = config.servers["shop"].model_copy(update={"input_roles": ()})
        return config.model_copy(update={"servers": {**config.servers, "shop": shop}})

    async with open_office(change=nobody) as office:
        await office.work("T-0004")
        await office.approve("T-0004")
        refused = await office.release("T-0004")
        assert isinstance(refused, NotTaken)
        assert "nobody" in refused.words


async def test_freezing_a_server_while_a_question_waits_refuses_at_the_last_look(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        assert (await office.host.freeze("shop", office.admin)).ok
        await office.approve("T-0004")
        result = await office.result("T-0004")
        assert (result.calls[-1].outcome.value, "frozen" in result.calls[-1].note) == ("refused", True)
        assert office.refunds() == []


async def test_freezing_a_server_while_its_own_question_waits_sends_no_answer(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.approve("T-0004")
        await office.host.freeze("shop", office.admin)
        await office.release("T-0004")
        assert ("shop.issue_refund", "refused") in await office.outcomes("T-0004")
        assert [row["status"] for row in office.refunds()] == ["held"]


async def test_a_changed_mind_of_the_operator_counts_until_the_last_moment(open_office: Opening) -> None:
    """Frozen and thawed again while the question waits: nothing is lost."""
    async with open_office() as office:
        await office.work("T-0004")
        await office.host.freeze("shop", office.admin)
        await office.host.unfreeze("shop", office.admin)
        await office.approve("T-0004")
        assert [row["status"] for row in office.refunds()] == ["held"]


@pytest.mark.parametrize("kind", [QuestionKind.CONSENT, QuestionKind.INPUT_REQUEST])
async def test_stopping_while_a_question_waits_cancels_it_and_the_run(open_office: Opening, kind: QuestionKind) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        if kind is QuestionKind.INPUT_REQUEST:
            await office.approve("T-0004")
        question = await office.open("T-0004", kind)
        assert (await office.host.stop(office.admin)).ok
        await office.settle()
        assert ("shop.issue_refund", "cancelled") in await office.outcomes("T-0004")
        assert (await office.result("T-0004")).stop_reason is StopReason.CANCELLED
        stale = await office.answer(question, office.lead, Answer("approve"))
        assert isinstance(stale, NotTaken)
        assert "stopped by Deskhand" in stale.words
        assert QuestionState.CANCELLED in [q.state for q in await office.questions("T-0004") if q.id == question.id]
