"""Reminders in Slack: once each, to those who may decide, also when Slack drops the connection; then words on an old press."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


def _shop_alone(settings):
    return replace(settings, host=settings.host.model_copy(update={"servers": {"shop": settings.host.servers["shop"]}}))


def _keys(messages):
    return [(message.get("metadata") or {}).get("event_payload", {}).get("key", "") for message in messages]


async def test_a_waiting_question_is_reminded_of_twice_then_expires_and_an_old_press_gets_words(floor, start_bot, running_clock):
    """Spec H20; Slack takes the first reminder and then drops the connection, and holds back the last update."""
    async with start_bot(change=_shop_alone):
        card, consent = await floor.asked("T-0004")
        await floor.do("fault", kind="drop_after", method="chat.postMessage")
        running_clock.move(hours=12, minutes=1)
        await floor.look_at_the_clock()
        first = await floor.card("Reminder: T-0004", thread_ts=card)
        for person in ("U_MAYA", "U_TOM", "U_LEA", "U_IVO"):
            assert person in json.dumps((await floor.shows(first, "Reminder"))["blocks"])
        running_clock.move(hours=7, minutes=15)
        await floor.look_at_the_clock()
        last = await floor.shows(await floor.card("Last reminder: T-0004", thread_ts=card), "Last reminder")
        assert last["subtype"] == "thread_broadcast"

        await floor.do("fault", kind="ratelimited", method="chat.update", times=4, seconds=1)
        running_clock.move(hours=5)
        await floor.look_at_the_clock()
        await floor.card("", action_id="draft.send", thread_ts=card)
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.whispered("U_MAYA", "This expired: nobody answered in time")
        await floor.shows(consent, "Expired")
        reminders = [key for key in _keys(await floor.messages()) if key.startswith("reminder:")]
        assert len(reminders) == len(set(reminders)) == 2
        assert floor.refunds() == []
