"""SIGKILL of the bot's process while people are asked: the next process goes on, and the old buttons count (spec H15)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import open_process

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _bot_process(floor, ending: signal.Signals) -> AsyncIterator[None]:
    """The bot as a process; when the block ends, the whole process group is ended by this signal."""
    command = [sys.executable, str(Path(__file__).with_name("driver.py")), f"{floor.url}/api/", str(floor.state), "C_SUPPORT"]
    tokens = {"SLACK_BOT_TOKEN": "xoxb-local", "SLACK_APP_TOKEN": "xapp-local"}
    process = await open_process(
        command, env={**os.environ, **tokens}, stdout=subprocess.DEVNULL, stderr=None, start_new_session=True
    )
    try:
        await floor.wait(what="connected")
        yield
    finally:
        if ending is signal.SIGTERM:
            process.terminate()
            assert await process.wait() == 0
        else:
            os.killpg(process.pid, signal.SIGKILL)
            assert await process.wait() == -signal.SIGKILL
        await floor.wait(what="connected", gone=True)


async def test_killed_at_consent_and_at_the_input_request_the_old_buttons_work_and_one_refund_is_requested(floor):
    async with _bot_process(floor, signal.SIGKILL):
        card, consent = await floor.asked("T-0004")
    nobody = await floor.do("click", user="U_MAYA", ts=consent, action_id="consent.approve", confirmed=True)
    assert nobody["error"] == "undelivered"
    assert floor.refunds() == []

    async with _bot_process(floor, signal.SIGKILL):
        await floor.press("U_MAYA", consent, "consent.approve")
        asked = await floor.card("Release it?", action_id="input.answer", thread_ts=card)
        await floor.shows(consent, "Approved")
        form = await floor.open_form("U_LEA", asked, "input.answer", "form.input")
    assert [row["status"] for row in floor.refunds()] == ["held"]

    async with _bot_process(floor, signal.SIGTERM):
        assert (await floor.submit("U_LEA", form["id"], field="true"))["ok"]
        draft = await floor.card("has been requested", action_id="draft.send", thread_ts=card)
        await floor.press("U_MAYA", draft, "draft.send")
        await floor.shows(draft, "Delivered to the customer")
    assert [row["status"] for row in floor.refunds()] == ["requested"]
    assert len(floor.sent()) == 1
    keys = [message["metadata"]["event_payload"]["key"] for message in await floor.messages()]
    assert len(keys) == len(set(keys)) == 5, keys
