"""Decline with a reason; approve with edited arguments (spec H21)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import forms, ids, modals
from bot.cards.consent import may_edit
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_submit, words_of
from bot.listeners.payload import Click
from bot.listeners.views.fields import needs_words, typed
from host.types import Actor, Answer
from host.views import QuestionView


def register(app: AsyncApp, edge: Edge) -> None:
    on_submit(app, edge, ids.FORM_CONSENT_DECLINE, "Decline", declined, needs_words)
    on_submit(app, edge, ids.FORM_CONSENT_EDIT, "Edit and approve", edited)


async def declined(edge: Edge, click: Click, actor: Actor) -> View:
    result = await edge.host.answer(click.value, actor, Answer("decline", reason=typed(click)))
    return words_of("Decline", result, kept=typed(click))


async def edited(edge: Edge, click: Click, actor: Actor) -> View:
    """What was changed goes as the answer's content; the host sends the edited call through the whole checkpoint again."""
    card = await edge.host.card(f"question:{click.value}")
    if not isinstance(card, QuestionView):
        return modals.words("Edit and approve", "This question is no longer here.")
    schema = {"properties": {name: {"type": "string"} for name in may_edit(card.question)}}
    content = forms.read(schema, click.values or {}, ids.FIELD).content
    return words_of("Edit and approve", await edge.host.answer(click.value, actor, Answer("approve", content=content)))
