"""Decline with a reason; approve with edited arguments (spec H21)."""

from __future__ import annotations

from collections.abc import Mapping

from slack_bolt.async_app import AsyncApp

from bot.cards import forms, ids, modals
from bot.cards.consent import may_edit
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_submit, words_of
from bot.listeners.payload import Click
from bot.listeners.views.fields import needs_words, typed
from host.types import Actor, Answer, NotTaken
from host.views import QuestionView


def register(app: AsyncApp, edge: Edge) -> None:
    on_submit(app, edge, ids.FORM_CONSENT_DECLINE, "Decline", declined, needs_words)
    on_submit(app, edge, ids.FORM_CONSENT_EDIT, "Edit and approve", edited, needs_values)


async def declined(edge: Edge, click: Click, actor: Actor) -> View:
    result = await edge.host.answer(click.value, actor, Answer("decline", reason=typed(click)))
    return words_of("Decline", result, kept=typed(click))


def needs_values(edge: Edge, click: Click) -> Mapping[str, str]:
    """An emptied field is no edit. Only where this process opened the form; else it is judged in `edited`."""
    schema = edge.schemas.get(click.value)
    return forms.errors_by_block(schema, forms.read(schema, click.values or {}, ids.FIELD).errors) if schema else {}


async def edited(edge: Edge, click: Click, actor: Actor) -> View:
    """What was changed goes as the answer's content, as it was typed: the host reads numbers, and sends the edited call through
    the whole checkpoint again. What it does not take comes back with the reason beside its field (spec H21)."""
    card = await edge.host.card(f"question:{click.value}")
    if not isinstance(card, QuestionView):
        return modals.words("Edit and approve", "This question is no longer here.")
    arguments, editable = card.question.payload.get("arguments") or {}, may_edit(card.question)
    shown = modals.shown_arguments(arguments, editable)
    read = forms.read(modals.edit_schema(shown), click.values or {}, ids.FIELD)
    typed_in = {name: str(value) for name, value in read.content.items()}
    if read.errors:
        return modals.edit_arguments(click.value, arguments, editable, typed_in, read.errors)
    content = {name: value for name, value in typed_in.items() if value != shown[name]}
    result = await edge.host.answer(click.value, actor, Answer("approve", content=content))
    if isinstance(result, NotTaken) and result.fields:
        return modals.edit_arguments(click.value, arguments, editable, typed_in, result.fields, result.words)
    return words_of("Edit and approve", result)
