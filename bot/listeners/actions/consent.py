"""The consent card's buttons: Approve, Decline…, Edit…."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.consent import may_edit
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button, on_opening
from bot.listeners.payload import Click
from host.types import Actor, Answer
from host.views import QuestionView


def register(app: AsyncApp, edge: Edge) -> None:
    on_button(app, edge, ids.CONSENT_APPROVE, approve)
    on_opening(app, edge, ids.CONSENT_DECLINE, "Decline", decline)
    on_opening(app, edge, ids.CONSENT_EDIT, "Edit and approve", edit)


async def approve(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("approve"))


async def decline(edge: Edge, click: Click, actor: Actor) -> View:
    """The form only for somebody who may answer; checked again at submit."""
    may = await edge.host.may_answer(click.value, actor, declining=True)
    if not may.ok:
        return modals.words("Decline", may.words)
    hint = "The model reads this and tells the customer accordingly."
    return modals.reason("Decline", ids.FORM_CONSENT_DECLINE, click.value, "Why not?", hint, "Decline")


async def edit(edge: Edge, click: Click, actor: Actor) -> View:
    may = await edge.host.may_answer(click.value, actor)
    if not may.ok:
        return modals.words("Edit and approve", may.words)
    card = await edge.host.card(f"question:{click.value}")
    if not isinstance(card, QuestionView) or not may_edit(card.question):
        return modals.words("Edit and approve", "The policy lets nobody change this call's arguments: approve or decline it.")
    arguments = card.question.payload.get("arguments") or {}
    edge.remember_schema(click.value, modals.edit_schema(modals.shown_arguments(arguments, may_edit(card.question))))
    return modals.edit_arguments(click.value, arguments, may_edit(card.question))
