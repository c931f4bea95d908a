"""What no handler knows, such as a button of an older version: acknowledged and answered in words (spec B8)."""

from __future__ import annotations

import re

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.cards import modals
from bot.listeners.edge import Edge
from bot.listeners.payload import Body, click_from

ANYTHING = re.compile(r"(?s).*")
WORDS = "This version of Deskhand does not know this control, so nothing was done. Please use the newest card in the thread."


def register(app: AsyncApp, edge: Edge) -> None:
    """Must be registered last: Bolt takes the first listener that matches."""

    async def told(ack: AsyncAck, body: Body) -> None:
        await ack()
        edge.background.start(edge.tell(click_from(body), WORDS), "stray")

    async def submitted(ack: AsyncAck) -> None:
        await ack(response_action="update", view=modals.words("Not known", WORDS))

    async def heard(ack: AsyncAck) -> None:
        await ack()

    app.action(ANYTHING)(told)
    app.shortcut(ANYTHING)(told)
    app.command(ANYTHING)(told)
    app.view(ANYTHING)(submitted)
    app.view_closed(ANYTHING)(heard)
    app.event(ANYTHING)(heard)
