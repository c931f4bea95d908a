"""Consent that takes two people, in Slack: noted, open for the others, never twice by one, both named (spec H19, H32)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


def _two_leads(settings):
    """Refunds over 300.00 take two different leads, and a third one releases them."""
    shop = settings.host.servers["shop"]
    refund = shop.tools["issue_refund"].model_copy(update={"amount": "quote_id.amount", "two_leads_over": Decimal(300)})
    changed = shop.model_copy(update={"tools": {**shop.tools, "issue_refund": refund}})
    roles = settings.roles.model_copy(update={"lead": (*settings.roles.lead, "U_TOM")})
    return replace(settings, roles=roles, host=settings.host.model_copy(update={"servers": {"shop": changed}}))


def _only_lea(settings):
    return replace(settings, roles=settings.roles.model_copy(update={"lead": ("U_LEA",)}))


def _shown(message):
    return str(message["blocks"])


async def test_two_different_leads_approve_a_large_refund_and_a_third_person_releases_it(floor, start_bot, lines):
    async with start_bot(change=_two_leads):
        card, consent = await floor.asked("T-0004")
        first = await floor.shows(consent, "0 of 2 approvals")
        assert "two different leads have to approve it" in _shown(first)
        assert "first of 2 approvals" in _shown(first)
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.whispered("U_MAYA", "Only a lead may decide this")

        await floor.press("U_LEA", consent, "consent.approve")
        noted = await floor.shows(consent, "1 of 2 approvals")
        assert "approved by Lea Brandt at" in _shown(noted)
        assert "U_LEA" not in _shown(noted)
        assert floor.refunds() == []
        await floor.press("U_LEA", consent, "consent.approve")
        await floor.whispered("U_LEA", "it needs 2 different people")

        await floor.press("U_IVO", consent, "consent.approve")
        decided = await floor.shows(consent, "approved by Lea Brandt and Ivo Petrov")
        assert "Ivo Petrov" in _shown(decided)
        asked = await floor.card("Release it?", action_id="input.answer", thread_ts=card)
        await floor.open_form("U_LEA", asked, "input.answer", "form.words", "another person has to release it")
        assert [row["status"] for row in floor.refunds()] == ["held"]
        form = await floor.open_form("U_TOM", asked, "input.answer", "form.input")
        assert (await floor.submit("U_TOM", field="true", view_id=form["id"]))["ok"]
        draft = await floor.card("has been requested", action_id="draft.send", thread_ts=card)
        assert "Lea Brandt and Ivo Petrov" in _shown(await floor.shows(draft, "What really ran"))
        assert [row["status"] for row in floor.refunds()] == ["requested"]


async def test_where_the_only_lead_approved_the_release_says_loudly_that_nobody_can_give_it(floor, start_bot):
    async with start_bot(change=_only_lea):
        card, consent = await floor.asked("T-0004")
        await floor.press("U_LEA", consent, "consent.approve")
        asked = await floor.card("Release it?", action_id="input.answer", thread_ts=card)
        shown = await floor.shows(asked, "Nobody can decide this")
        assert "no lead is configured besides those who approved" in _shown(shown)
        assert "[roles] in deskhand.toml" in _shown(shown)


async def test_a_refund_of_an_unverified_sender_takes_two_people(floor, start_bot, lines, script):
    async with start_bot() as model:
        stranger = {**lines("T-0025"), "sender_verified": False}
        await floor.write_tickets(stranger)
        card = await floor.card("T-0025 · ", action_id="ticket.work")
        await floor.press("U_MAYA", card, "ticket.work")
        consent = await floor.card("", action_id="consent.approve", thread_ts=card)
        loud = _shown(await floor.shows(consent, "0 of 2 approvals"))
        assert "sender NOT verified" in loud
        assert "two different people have to approve it" in loud
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.shows(consent, "approved by Maya Okafor")
        assert floor.refunds() == []
        await floor.open_form("U_TOM", consent, "consent.decline", "form.consent.decline")
        assert (await floor.submit("U_TOM", field="call the customer back first"))["ok"]
        declined = _shown(await floor.shows(consent, "Declined"))
        assert "Tom Hallberg" in declined
        assert "Approved before by Maya Okafor" in declined
        await floor.card("", action_id="draft.send", thread_ts=card)
        assert "call the customer back first" in script.said(model.requests[-1])
        assert floor.refunds() == []
