"""An input request's buttons: Answer… opens the server's form, “I agree to open it” is all the answer that an address needs;
Decline and Cancel go to the server as such (spec B4, H22)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button, on_opening
from bot.listeners.payload import Click
from host.types import Actor, Answer
from host.views import QuestionView


def register(app: AsyncApp, edge: Edge) -> None:
    on_opening(app, edge, ids.INPUT_ANSWER, "Answer", form)
    on_button(app, edge, ids.INPUT_OPEN, agree)
    on_button(app, edge, ids.INPUT_DECLINE, decline)
    on_button(app, edge, ids.INPUT_CANCEL, cancel)


async def form(edge: Edge, click: Click, actor: Actor) -> View:
    may = await edge.host.may_answer(click.value, actor)
    if not may.ok:
        return modals.words("Answer", may.words)
    card = await edge.host.card(f"question:{click.value}")
    if not isinstance(card, QuestionView):
        return modals.words("Answer", "This question is no longer here.")
    edge.remember_schema(click.value, card.question.payload.get("schema") or {})
    return modals.input_form(card)


async def agree(edge: Edge, click: Click, actor: Actor) -> None:
    """Consent that the address be opened; nothing here opens it."""
    await edge.answer(click, actor, Answer("accept"))


async def decline(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("decline"))


async def cancel(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("cancel"))
