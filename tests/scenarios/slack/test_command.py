"""`/deskhand` typed by an admin and by others."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.anyio


async def test_an_admin_runs_two_tickets_then_all_of_them_and_stops(floor, start_bot, lines):
    async with start_bot():
        await floor.write_tickets(*(lines(one) for one in ("T-0004", "T-0025", "T-0048")))
        for one in ("T-0004", "T-0025", "T-0048"):
            await floor.card(f"{one} · ", action_id="ticket.work")
        for person in ("U_MAYA", "U_LEA", "U_GUS"):
            await floor.slash(person, "run all")
            await floor.whispered(person, "Only an admin may start a queue run.")
        await floor.slash("U_ADA", "run 2")
        await floor.whispered("U_ADA", "Working 2 ticket(s)")
        progress = await floor.card("2 waiting for people", action_id="progress.stop")
        await floor.slash("U_TOM", "status")
        status = await floor.whispered("U_TOM", "Open questions")
        assert re.search(r"0 of 2 worked, 2 waiting", str(status["blocks"]))
        assert "shop" in str(status["blocks"])

        await floor.slash("U_ADA", "run all")
        await floor.whispered("U_ADA", "Working 1 ticket(s)")
        await floor.slash("U_ADA", "run 1")
        await floor.whispered("U_ADA", "No ticket is waiting to be worked.")
        await floor.slash("U_MAYA", "stop")
        await floor.whispered("U_MAYA", "Only an admin may stop runs.")
        await floor.press("U_TOM", progress, "progress.stop")
        await floor.whispered("U_TOM", "Only an admin may stop runs.")
        await floor.slash("U_ADA", "stop")
        await floor.whispered("U_ADA", "Stopped 3 run(s).")
        stopped = await floor.shows(progress, "stopped by Ada Nystrom")
        assert "actions" not in [block["type"] for block in stopped["blocks"]]
        assert floor.refunds() == []


async def test_one_ticket_is_stopped_while_the_others_go_on_waiting(floor, start_bot, lines):
    async with start_bot():
        cards = {}
        for one in ("T-0004", "T-0025"):
            cards[one], _ = await floor.asked(one)
            await floor.shows(cards[one], "Waiting for consent", action_id="ticket.stop")
        await floor.slash("U_TOM", "stop T-0004")
        await floor.whispered("U_TOM", "Only an admin may stop runs.")
        await floor.press("U_TOM", cards["T-0004"], "ticket.stop")
        await floor.slash("U_ADA", "stop T-0004")
        await floor.whispered("U_ADA", "Stopped 1 run(s).")
        await floor.shows(cards["T-0004"], "", action_id="ticket.work")
        await floor.shows(cards["T-0025"], "Waiting for consent")
        await floor.press("U_ADA", cards["T-0025"], "ticket.stop")
        await floor.shows(cards["T-0025"], "", action_id="ticket.work")
        await floor.slash("U_ADA", "stop T-0025")
        await floor.whispered("U_ADA", "Nothing is running.")
        assert floor.refunds() == []


async def test_help_one_ticket_and_what_is_no_command(floor, start_bot, lines):
    async with start_bot():
        await floor.write_tickets(lines("T-0025"))
        card = await floor.card("T-0025 · ", action_id="ticket.work")
        await floor.slash("U_GUS", "help")
        await floor.whispered("U_GUS", "/deskhand run [n | all | T-0009]")
        await floor.slash("U_TOM", "dance")
        await floor.whispered("U_TOM", "“dance” is not a command: /deskhand help lists them.")
        await floor.slash("U_TOM", "run T-9999")
        await floor.whispered("U_TOM", "T-9999")
        await floor.slash("U_SOL", "run T-0025")
        await floor.whispered("U_SOL", "not set up for your workspace")
        await floor.slash("U_TOM", "run T-0025")
        await floor.card("Refund 180.00 EUR on order O-2289", action_id="consent.approve", thread_ts=card)
