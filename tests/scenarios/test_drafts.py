"""A draft is a claim: corrected once, flagged, refused, edited, sent once, worked again (spec H25-H27)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from host.config import ActionClaim, ReviewConfig
from host.types import Answer, NotTaken, QuestionKind, QuestionState, StopReason, Taken, Ticket

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

LIE = "I have refunded EUR 25.00 to your card."
TRUTH = "Thank you for writing to us."
REFUND = ActionClaim(name="refund", words="refund(ed)?", tools=("shop.issue_refund",), asked="(?i)refund the whole")


REVIEW = ReviewConfig(actions=(REFUND,))


async def test_a_draft_that_nothing_supports_goes_back_once_with_the_reason(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(LIE), script.reply(TRUTH)), review=REVIEW) as office:
        await office.work("T-0005")
        assert "25.00" in office.told()
        assert len(office.model.requests) == 2
        draft = await office.open("T-0005", QuestionKind.SIGN_OFF)
        assert TRUTH in draft.payload["text"]
        assert draft.payload["flags"] == []


async def test_a_draft_that_still_lies_is_flagged_and_not_sent(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(LIE)), review=REVIEW) as office:
        await office.work("T-0005")
        assert len(office.model.requests) == 2, "one corrective turn, not two"
        draft = await office.open("T-0005", QuestionKind.SIGN_OFF)
        assert [flag["sentence"] for flag in draft.payload["flags"]]
        refused = await office.answer(draft, office.staff, Answer("send"))
        assert isinstance(refused, NotTaken)
        assert "Not sent" in refused.words
        lying_edit = await office.answer(draft, office.staff, Answer("edit_and_send", text=f"Dear you,\n\n{LIE}"))
        assert isinstance(lying_edit, NotTaken)
        empty = await office.answer(draft, office.staff, Answer("edit_and_send", text="  \n"))
        assert isinstance(empty, NotTaken)
        assert (await office.open("T-0005")).state is QuestionState.OPEN
        await office.settle()
        assert not [item for item in office.desk.items if item.kind.value == "mail"]

        honest = await office.answer(draft, office.staff, Answer("edit_and_send", text=TRUTH))
        assert isinstance(honest, Taken)
        await office.settle()
        (mail,) = [item for item in office.desk.items if item.kind.value == "mail"]
        assert mail.payload["text"] == TRUTH


async def test_two_people_sending_at_once_send_one_reply(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(TRUTH))) as office:
        await office.work("T-0005")
        draft = await office.open("T-0005")
        assert isinstance(await office.answer(draft, office.staff, Answer("send")), Taken)
        second = await office.answer(draft, office.staff2, Answer("edit_and_send", text="Another text."))
        assert isinstance(second, NotTaken)
        assert "Already decided by Scripted staff" in second.words
        await office.settle()
        assert [item.kind.value for item in office.desk.items].count("mail") == 1
        assert (await office.host.card("ticket:T-0005")).state.value == "waiting_for_customer"


async def test_only_staff_and_leads_sign_off(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(TRUTH))) as office:
        await office.work("T-0005")
        draft = await office.open("T-0005")
        for actor in (office.admin, office.stranger):
            assert isinstance(await office.answer(draft, actor, Answer("send")), NotTaken)
        assert isinstance(await office.answer(draft, office.staff, Answer("approve")), NotTaken), "that button is another card's"
        assert isinstance(await office.answer(draft, office.lead, Answer("reject", reason="too short")), Taken)
        await office.settle()
        assert (await office.host.card("ticket:T-0005")).state.value == "waiting_for_us"


async def test_work_again_starts_a_run_with_the_hint_and_the_old_card_says_so(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(TRUTH))) as office:
        await office.work("T-0005")
        draft = await office.open("T-0005")
        assert isinstance(await office.answer(draft, office.staff, Answer("work_again", reason="mention the bird feeder")), Taken)
        await office.settle()
        assert "mention the bird feeder" in office.told()
        newer = await office.open("T-0005")
        assert newer.id != draft.id
        assert isinstance(await office.answer(draft, office.staff, Answer("send")), NotTaken)


async def test_working_a_ticket_anew_cancels_the_draft_that_waits(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(TRUTH))) as office:
        await office.work("T-0005")
        draft = await office.open("T-0005")
        await office.work("T-0005")
        stale = await office.answer(draft, office.staff, Answer("send"))
        assert isinstance(stale, NotTaken)
        assert "worked again" in stale.words
        assert (await office.open("T-0005")).id != draft.id


async def test_a_ticket_whose_request_was_not_met_needs_a_person_whatever_the_draft_says(
    open_rounds: Opening, script: Any
) -> None:
    async with open_rounds(script=script.turns(script.reply(TRUTH)), review=REVIEW) as office:
        await office.work("T-0004")
        assert (await office.result("T-0004")).stop_reason is StopReason.NEEDS_PERSON


async def test_a_ticket_that_comes_twice_is_one_ticket(open_rounds: Opening, script: Any) -> None:
    async with open_rounds(script=script.turns(script.reply(TRUTH))) as office:
        ticket: Ticket = next(one for one in office.tickets() if one.id == "T-0005")
        assert await office.host.intake(ticket) is True
        assert await office.host.intake(ticket) is False
        assert await office.host.intake(replace(ticket, id="T-9005")) is False, "the intake key decides"
