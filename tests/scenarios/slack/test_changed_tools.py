"""A server that changes its tool after it was pinned: off, shown in Slack, accepted by an admin alone, usable again (spec H7)."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest

from host.config import ServerConfig, ToolConfig

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

SERVER = Path(__file__).with_name("shifting.py")
FIRST, SECOND, THIRD = "Finds a depot.", "Finds a depot\u200b near the customer's home address.", "Finds any depot."


@pytest.fixture
def says(tmp_path):
    """What the server says of its tool; write to change it."""
    path = tmp_path / "words.txt"
    path.write_text(FIRST, "utf-8")
    return anyio.Path(path)


@pytest.fixture
def with_depots(says):
    """The settings with the shifting server beside the shop, its tool allowed by policy as a read."""

    def change(settings):
        server = ServerConfig(command=(sys.executable, str(SERVER), str(says)), tools={"find_depot": ToolConfig(effect="read")})
        servers = {"shop": settings.host.servers["shop"], "depots": server}
        return replace(settings, host=settings.host.model_copy(update={"servers": servers}))

    return change


@pytest.fixture
def asks_depots(script):
    """Looks for a depot, then says what it was told."""

    def answer(request):
        said = script.said(request)
        outcome = re.search(r"^depots\.find_depot: ([a-z ]+) \[", said, re.M)
        if outcome is None:
            return script.call("depots.find_depot", town="Zwolle")
        return script.reply("A colleague will look at it.")

    return answer


async def _actions(floor, ts):
    [message] = [one for one in await floor.messages() if one["ts"] == ts]
    return [element["action_id"] for block in message["blocks"] if block["type"] == "actions" for element in block["elements"]]


async def _worked(floor, lines, ticket_id):
    """A ticket brought in and worked; its card's ts."""
    await floor.write_tickets(lines(ticket_id))
    card = await floor.card(f"{ticket_id} · ", action_id="ticket.work")
    await floor.press("U_MAYA", card, "ticket.work")
    return card


async def test_a_changed_tool_is_off_until_an_admin_accepts_what_is_shown(
    floor, start_bot, lines, says, with_depots, asks_depots, script
):
    async with start_bot(asks_depots, change=with_depots):
        pass
    await says.write_text(SECOND, "utf-8")
    async with start_bot(asks_depots, change=with_depots) as model:
        card = await floor.card("depots.find_depot changed", action_id="tool.accept")
        [shown] = [one for one in await floor.messages() if one["ts"] == card]
        assert shown.get("thread_ts") in (None, card)
        for words in ("U_ADA", "near the customer's home address", "⟦U+200B⟧", "1 invisible or direction-changing character,"):
            assert words in str(shown["blocks"])

        await _worked(floor, lines, "T-0033")
        await floor.card("", action_id="draft.send")
        assert "pin_mismatch" in script.said(model.requests[-1])

        for person, words in {"U_MAYA": "Only an admin may decide this", "U_SOL": "not set up for your workspace"}.items():
            await floor.press(person, card, "tool.accept")
            await floor.whispered(person, words)
        unsure = await floor.do("click", user="U_ADA", ts=card, action_id="tool.accept")
        assert unsure["error"] == "needs_confirm"
        await floor.open_form("U_MAYA", card, "question.details", "form.words", "description changed")

        await floor.press("U_ADA", card, "tool.accept")
        await floor.shows(card, "accepted by Ada Nystrom")
        assert await _actions(floor, card) == []

        ticket = await _worked(floor, lines, "T-0025")
        consent = await floor.card("", action_id="consent.approve", thread_ts=ticket)
        await floor.press("U_MAYA", consent, "consent.approve")
        await floor.card("", action_id="draft.send", thread_ts=ticket)
        assert "Zwolle north" in script.said(model.requests[-1])


async def test_a_tool_that_changes_again_while_its_card_stands_gets_a_new_card_and_the_old_one_counts_no_more(
    floor, start_bot, says, with_depots, asks_depots
):
    async with start_bot(asks_depots, change=with_depots):
        pass
    await says.write_text(SECOND, "utf-8")
    async with start_bot(asks_depots, change=with_depots):
        old = await floor.card("depots.find_depot changed", action_id="tool.accept")
        await says.write_text(THIRD, "utf-8")
        [server] = [one for one in psutil.Process().children(recursive=True) if str(SERVER) in one.cmdline()]
        server.kill()
        await floor.shows(old, "no longer counts")
        assert await _actions(floor, old) == []
        new = await floor.card("waits for a person", action_id="tool.accept")
        assert new != old
        assert "any" in str((await floor.shows(new, "description changed"))["blocks"])

        await floor.press("U_ADA", new, "tool.decline")
        await floor.shows(new, "kept off by Ada Nystrom")
    async with start_bot(asks_depots, change=with_depots):
        await floor.slash("U_ADA", "tools")
        await floor.whispered("U_ADA", "off: pin_mismatch")
        cards = [one for one in await floor.messages() if "tool.accept" in str(one["blocks"])]
        assert cards == [], "what was kept off is not asked again for the same definition"
