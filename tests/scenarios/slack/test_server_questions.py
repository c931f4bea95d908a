"""A server's own questions in Slack: an address to open, a form whose call stays open, an answer that did not count."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from host.config import ServerConfig, ToolConfig

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

SERVER = Path(__file__).resolve().parents[2] / "host/servers/rounds.py"
PAGE = "https://xn--shp-uma.example.com/sign-in?next=%2F"


@pytest.fixture
def asking():
    """The settings with a server that asks beside the shop; "2026" or "2025" is its protocol."""

    def of(era):
        def change(settings):
            tools = {name: ToolConfig(effect="read") for name in ("form", "address", "forgetful")}
            rounds = ServerConfig(command=(sys.executable, str(SERVER)), env={"ERA": era}, tools=tools)
            servers = {"shop": settings.host.servers["shop"], "rounds": rounds}
            return replace(settings, host=settings.host.model_copy(update={"servers": servers}))

        return change

    return of


@pytest.fixture
def calls(script):
    """Calls one tool of that server, then says that a colleague looks at it."""

    def of(tool):
        def answer(request):
            if re.search(rf"^rounds\.{tool}: ", script.said(request), re.M):
                return script.reply("A colleague will look at it.")
            return script.call(f"rounds.{tool}", amount=5)

        return answer

    return of


async def _asked(floor, action_id):
    """The ticket's card, and the server's question, once staff have let the call go."""
    card, consent = await floor.asked("T-0033")
    await floor.press("U_MAYA", consent, "consent.approve")
    return card, await floor.card("", action_id=action_id, thread_ts=card)


def _elements(value):
    if isinstance(value, list):
        return [found for one in value for found in _elements(one)]
    return [value, *(found for one in value.values() for found in _elements(one))] if isinstance(value, dict) else []


@pytest.mark.parametrize("era", ["2026", "2025"])
async def test_an_address_is_text_with_its_domain_and_a_warning_and_a_lead_agrees(floor, start_bot, asking, calls, script, era):
    async with start_bot(calls("address"), change=asking(era)) as model:
        card, asked = await _asked(floor, "input.open")
        shown = await floor.shows(asked, PAGE)
        words = str(shown["blocks"])
        for part in (
            "rounds asks a lead to open a web address",
            "xn--shp-uma.example.com",
            "Warning: ",
            "Sign in first",
            "U_LEA",
        ):
            assert part in words, part
        assert not [one for one in _elements(shown["blocks"]) if one.get("type") == "link" or "url" in one]
        assert ("does not survive a restart" in words) == (era == "2025")
        await floor.press("U_MAYA", asked, "input.open")
        await floor.whispered("U_MAYA", "Only a lead may decide this")
        assert (await floor.do("click", user="U_LEA", ts=asked, action_id="input.open"))["error"] == "needs_confirm"
        await floor.press("U_LEA", asked, "input.open")
        await floor.shows(asked, "agreed to be opened by Lea Brandt")
        await floor.card("", action_id="draft.send", thread_ts=card)
        assert "accept" in script.said(model.requests[-1])


async def test_a_form_whose_call_stayed_open_says_that_a_restart_lost_it(floor, start_bot, asking, calls):
    async with start_bot(calls("form"), change=asking("2025")):
        _, asked = await _asked(floor, "input.answer")
        await floor.shows(asked, "does not survive a restart")
    async with start_bot(calls("form"), change=asking("2025")):
        lost = await floor.shows(asked, "no longer counts")
        assert "started again" in str(lost["blocks"])
        assert "actions" not in [block["type"] for block in lost["blocks"]]


async def test_an_answer_that_its_server_had_forgotten_did_not_count_and_says_whose_it_was(floor, start_bot, asking, calls):
    async with start_bot(calls("forgetful"), change=asking("2026")):
        card, asked = await _asked(floor, "input.answer")
        form = await floor.open_form("U_LEA", asked, "input.answer", "form.input")
        assert (await floor.submit("U_LEA", form["id"], field="true"))["ok"]
        shown = await floor.shows(asked, "answered by Lea Brandt, but that did not count")
        assert "no longer knew what this answered" in str(shown["blocks"])
        again = await floor.card("", action_id="input.answer", thread_ts=card)
        assert again != asked
        form = await floor.open_form("U_LEA", again, "input.answer", "form.input")
        assert (await floor.submit("U_LEA", form["id"], field="true"))["ok"]
        await floor.card("", action_id="draft.send", thread_ts=card)
