"""Details: everything about a question, whole. Reading decides nothing, so everybody of the workspace may."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_opening
from bot.listeners.payload import Click
from host.types import Actor
from host.views import QuestionView, ToolView


def register(app: AsyncApp, edge: Edge) -> None:
    on_opening(app, edge, ids.QUESTION_DETAILS, "Details", details)


async def details(edge: Edge, click: Click, _reader: Actor) -> View:
    card = await edge.host.card(f"question:{click.value}")
    if not isinstance(card, QuestionView | ToolView):
        return modals.words("Details", "This question is no longer here.")
    return modals.details(card)
