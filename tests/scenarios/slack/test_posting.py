"""What stands in Slack is what the record says: one message per card, whatever Slack answers and whoever deletes it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


def _key(message):
    return message["metadata"]["event_payload"]["key"]


async def test_a_lost_answer_and_a_slow_slack_make_one_message_each(floor, start_bot, lines):
    await floor.do("fault", kind="ratelimited", method="chat.postMessage", times=1, seconds=1)
    async with start_bot():
        await floor.write_tickets(lines("T-0004"), lines("T-0001"))
        card = await floor.card("T-0004 · ", action_id="ticket.work")
        await floor.card("T-0001 · ", action_id="ticket.work")
        await floor.card("Nothing typed in this thread", thread_ts=card)
        await floor.do("fault", kind="drop_after", method="chat.postMessage", times=1)
        await floor.press("U_MAYA", card, "ticket.work")
        consent = await floor.card("Refund 343.49", action_id="consent.approve", thread_ts=card)
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.card("Release it?", action_id="input.answer", thread_ts=card)
        await floor.shows(consent, "Approved")
        assert (await floor.everything())["faults"] == []
        keys = [_key(message) for message in await floor.messages()]
        assert len(keys) == len(set(keys)), keys


async def test_cards_deleted_in_slack_come_back_at_their_next_change(floor, start_bot):
    async with start_bot():
        card, consent = await floor.asked("T-0004")
        await floor.do("delete", user="U_ADA", ts=consent)
        await floor.do("delete", user="U_ADA", ts=card)
        await floor.slash("U_ADA", "stop")
        await floor.whispered("U_ADA", "Stopped 1 run")
        again = await floor.card("T-0004 · Mixer dead", action_id="ticket.work")
        assert again != card
        await floor.card("Nothing typed in this thread", thread_ts=again)
        gone = await floor.card("Refund 343.49 EUR on order O-1145", thread_ts=again)
        assert "Cancelled" in str((await floor.shows(gone, "stopped by Ada"))["blocks"])
