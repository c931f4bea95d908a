"""Sign-off in Slack: a lying draft is not sent, edited text is read again, rejected and worked again."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio

LIE = "I have issued a refund of 25.00 EUR to your card."
HINT = "ask for a photo"


@pytest.fixture
def lying(script):
    """Says that it refunded what it did not, unless a hint says what to do."""

    def answer(request):
        return script.reply("Could you send us a photo?" if HINT in str(request.messages) else LIE)

    return answer


async def _draft(floor, lines, ticket_id):
    await floor.write_tickets(lines(ticket_id))
    card = await floor.card(f"{ticket_id} · ", action_id="ticket.work")
    await floor.press("U_MAYA", card, "ticket.work")
    return card, await floor.card("", action_id="draft.send", thread_ts=card)


async def test_a_flagged_draft_is_refused_edited_text_is_read_again_and_the_good_one_is_sent(floor, start_bot, lines, lying):
    async with start_bot(lying):
        card, draft = await _draft(floor, lines, "T-0033")
        shown = await floor.shows(draft, "1 sentence flagged")
        assert "Nothing ran." in str(shown["blocks"])
        await floor.press("U_MAYA", draft, "draft.send")
        assert LIE in (await floor.whispered("U_MAYA", "Not sent"))["text"]

        await floor.open_form("U_ADA", draft, "draft.edit", "form.words", "Only support staff or a lead")
        form = await floor.open_form("U_MAYA", draft, "draft.edit", "form.draft.edit", "")
        typed = "Hello, we have refunded 12.00 EUR to you."
        assert (await floor.submit("U_MAYA", field=typed))["ok"]
        again = await floor.form("U_MAYA", "form.draft.edit", "Not sent")
        assert again["id"] == form["id"]
        (field,) = [block["element"] for block in again["blocks"] if block["type"] == "input"]
        assert field["initial_value"] == typed
        assert floor.sent() == []

        good = "Hello, a colleague is looking at your order."
        assert (await floor.submit("U_MAYA", field=good))["ok"]
        await floor.shows(draft, "Delivered to the customer")
        (letter,) = floor.sent()
        assert letter["body"] == good
        assert good in str((await floor.shows(draft, "Edited and signed off"))["blocks"])
        await floor.shows(card, "Answered")


async def test_a_draft_is_rejected_with_a_reason_and_worked_again_with_a_hint(floor, start_bot, lines, lying):
    async with start_bot(lying):
        card, draft = await _draft(floor, lines, "T-0033")
        await floor.open_form("U_TOM", draft, "draft.again", "form.draft.again")
        assert (await floor.submit("U_TOM", field=HINT))["ok"]
        better = await floor.card("Could you send us a photo?", action_id="draft.send", thread_ts=card)
        assert HINT in str((await floor.shows(draft, "worked again"))["blocks"])

        await floor.open_form("U_LEA", better, "draft.reject", "form.draft.reject")
        assert (await floor.submit("U_LEA", field="they sent one already"))["ok"]
        shown = await floor.shows(better, "Rejected")
        assert "they sent one already" in str(shown["blocks"])
        await floor.shows(card, "Needs a person")
        assert floor.sent() == []
