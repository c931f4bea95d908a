"""Consent pressed in Slack: declined with a reason, by two at once, on an old card, twice delivered; each answered in words."""

from __future__ import annotations

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def test_a_decline_carries_its_reason_to_the_model_and_shows_on_the_card(floor, start_bot, script):
    async with start_bot() as model:
        card, consent = await floor.asked("T-0004")
        await floor.open_form("U_TOM", consent, "consent.decline", "form.consent.decline")
        blank = await floor.submit("U_TOM", field="   ")
        assert blank["error"] == "fields"
        assert (await floor.submit("U_TOM", field="photos of the mixer first"))["ok"]
        shown = await floor.shows(consent, "Declined")
        assert "photos of the mixer first" in str(shown["blocks"])
        assert "Tom Hallberg" in str(shown["blocks"])
        await floor.card("", action_id="draft.send", thread_ts=card)
        assert "photos of the mixer first" in script.said(model.requests[-1])
        assert floor.refunds() == []


async def test_of_two_people_at_once_one_decides_and_the_other_is_told_who(floor, start_bot):
    async with start_bot():
        _, consent = await floor.asked("T-0004")
        async with anyio.create_task_group() as both:
            for person in ("U_MAYA", "U_LEA"):
                both.start_soon(floor.press, person, consent, "consent.approve")
        await floor.shows(consent, "Approved")
        told = (await floor.wait(what="ephemeral", text="Already decided"))["message"]
        winner = {"U_MAYA": "Lea Brandt", "U_LEA": "Maya Okafor"}[told["to"]]
        assert winner in told["text"]
        assert winner in str((await floor.shows(consent, "Approved"))["blocks"])
        await floor.card("Release it?", action_id="input.answer")
        assert len(floor.refunds()) == 1


async def test_an_old_card_says_who_decided_while_slack_asks_us_to_slow_down(floor, start_bot):
    """Slack answers 429 to the update, so the card still has its buttons; it is redrawn when Slack lets us."""
    async with start_bot():
        _, consent = await floor.asked("T-0004")
        await floor.do("fault", kind="ratelimited", method="chat.update", times=4, seconds=1)
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.card("", action_id="input.answer")
        await floor.press("U_TOM", consent, "consent.approve")
        await floor.whispered("U_TOM", "Maya Okafor")
        await floor.shows(consent, "Approved")
        assert len(floor.refunds()) == 1


async def test_an_envelope_that_comes_twice_decides_once(floor, start_bot):
    async with start_bot():
        card, consent = await floor.asked("T-0004")
        await floor.do("fault", kind="duplicate_envelope")
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.card("", action_id="input.answer", thread_ts=card)
        await floor.whispered("U_MAYA", "Already decided")
        assert [row["status"] for row in floor.refunds()] == ["held"]
        questions = [m for m in await floor.messages(card) if "Release it?" in str(m["blocks"])]
        assert len(questions) == 1
