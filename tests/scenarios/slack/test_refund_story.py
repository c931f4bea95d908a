"""A refund above the limit, pressed through Slack by two people: ticket file in, one requested refund and one reply out."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = pytest.mark.anyio


def _gus_is_listed(settings):
    """A guest whom somebody put on the list all the same."""
    return replace(settings, roles=settings.roles.model_copy(update={"staff": (*settings.roles.staff, "U_GUS")}))


async def test_a_refund_above_the_limit_from_ticket_file_to_sent_reply(floor, start_bot, lines):
    async with start_bot(change=_gus_is_listed):
        await floor.write_tickets(lines("T-0004"))
        card = await floor.card("T-0004 · Mixer dead", action_id="ticket.work")
        note = await floor.card("Nothing typed in this thread", thread_ts=card)
        await floor.press("U_MAYA", card, "ticket.work")
        await floor.whispered("U_MAYA", "T-0004 is being worked.")
        consent = await floor.card("Refund 343.49 EUR on order O-1145", action_id="consent.approve", thread_ts=card)
        assert (await floor.messages(card))[0]["ts"] == note
        await floor.shows(card, "Waiting for consent")

        for person, words in {
            "U_GUS": "Guests can't decide anything here",
            "U_SOL": "not set up for your workspace",
            "U_ADA": "Only support staff or a lead may decide this",
        }.items():
            await floor.press(person, consent, "consent.approve")
            assert (await floor.whispered(person, words))["to"] == person
        unsure = await floor.do("click", user="U_MAYA", ts=consent, action_id="consent.approve")
        assert unsure["error"] == "needs_confirm"
        assert "343.49 EUR" in str(unsure["confirm"])
        assert floor.refunds() == []

        await floor.press("U_MAYA", consent, "consent.approve")
        asked = await floor.card("Release it?", action_id="input.answer", thread_ts=card)
        assert [row["status"] for row in floor.refunds()] == ["held"]
        shown = await floor.shows(consent, "Approved")
        assert "actions" not in [block["type"] for block in shown["blocks"]]
        mentioned = str((await floor.shows(asked, "May decide"))["blocks"])
        assert "U_LEA" in mentioned
        assert "U_IVO" in mentioned
        await floor.open_form("U_MAYA", asked, "input.answer", "form.words", "Only a lead")

        form = await floor.open_form("U_LEA", asked, "input.answer", "form.input", "Release it?")
        assert (await floor.submit("U_LEA"))["error"] == "fields"
        assert (await floor.submit("U_LEA", field="true", view_id=form["id"]))["ok"]
        draft = await floor.card("has been requested", action_id="draft.send", thread_ts=card)
        (row,) = floor.refunds()
        assert (row["status"], row["amount_cents"], row["requested_by"]) == ("requested", 34349, "staff-0007")
        logged = await floor.shows(draft, "What really ran")
        assert "shop.quote_refund" in str(logged["blocks"])
        assert "shop.issue_refund" in str(logged["blocks"])

        await floor.press("U_TOM", draft, "draft.send")
        sent = await floor.shows(draft, "Delivered to the customer")
        (letter,) = floor.sent()
        assert letter["receipt"] in str(sent["blocks"])
        assert letter["to"] == "tom.ashworth@example.com"
        assert "343.49" in letter["body"]
        answered = await floor.shows(card, "Answered")
        assert "actions" not in [block["type"] for block in answered["blocks"]]
        assert len(floor.refunds()) == 1
