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
        note = (await floor.wait(what="message", thread_ts=card, text="Nothing typed in this thread"))["message"]
        await floor.press("U_MAYA", card, "ticket.work")
        await floor.whispered("U_MAYA", "T-0004 is being worked.")

        consent = await floor.card("Refund 343.49 EUR on order O-1145", action_id="consent.approve", thread_ts=card)
        assert [m["ts"] for m in await floor.messages(card)][0] == note["ts"]
        await floor.shows(card, "Waiting for consent")
        for person, words in {
            "U_GUS": "Guests can't decide anything here",
            "U_SOL": "not set up for your workspace",
            "U_ADA": "Only support staff or a lead may decide this",
        }.items():
            await floor.press(person, consent, "consent.approve")
            told = await floor.whispered(person, words)
            assert told["to"] == person
        assert floor.refunds() == []

        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.shows(consent, "Approved")
        asked = await floor.card("343.49", action_id="input.answer", thread_ts=card)
        assert [row["status"] for row in floor.refunds()] == ["held"]
        await floor.shows(asked, "May decide")
        form = await floor.open_form("U_MAYA", asked, "input.answer", "form.words")
        assert "Only a lead" in str(form)

        await floor.open_form("U_LEA", asked, "input.answer", "form.input")
        modals = (await floor.everything())["modals"]["U_LEA"]
        print(modals)
        (field,) = [block for block in modals[-1]["blocks"] if block["type"] == "input"]
        print(field)
        answer = await floor.submit("U_LEA", **{field["element"]["action_id"]: "true"})
        print(answer)
        await floor.form("U_LEA", "form.words")
        draft = await floor.card("Draft reply", action_id="draft.send", thread_ts=card)
        (row,) = floor.refunds()
        assert (row["status"], row["amount_cents"]) == ("requested", 34349)
        await floor.press("U_TOM", draft, "draft.send")
        await floor.shows(draft, "Delivered to the customer")
        await floor.shows(card, "Answered")
        print(floor.sent())
        for m in await floor.messages():
            import json

            print(json.dumps(m, indent=1)[:6000])
        assert 0
