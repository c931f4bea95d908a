"""A server's form, filled in: errors beside the fields where we know the form, and the host's judgement always (spec H22)."""

from __future__ import annotations

from collections.abc import Mapping

from slack_bolt.async_app import AsyncApp

from bot.cards import forms, ids, modals
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_submit, words_of
from bot.listeners.payload import Click
from host.types import Actor, Answer, NotTaken
from host.views import QuestionView


def register(app: AsyncApp, edge: Edge) -> None:
    on_submit(app, edge, ids.FORM_INPUT, "Answer", answered, check)


def check(edge: Edge, click: Click) -> Mapping[str, str]:
    """Only where this process opened the form; after a restart the form is judged in `answered`."""
    schema = edge.schemas.get(click.value)
    if schema is None:
        return {}
    return forms.errors_by_block(schema, forms.read(schema, click.values or {}, ids.FIELD).errors)


async def answered(edge: Edge, click: Click, actor: Actor) -> View:
    card = await edge.host.card(f"question:{click.value}")
    if not isinstance(card, QuestionView):
        return modals.words("Answer", "This question is no longer here.")
    schema = card.question.payload.get("schema") or {}
    read = forms.read(schema, click.values or {}, ids.FIELD)
    if read.errors:
        return modals.input_form(card, read.content, _in_words(read.errors))
    result = await edge.host.answer(click.value, actor, Answer("accept", content=read.content))
    if isinstance(result, NotTaken) and result.fields:
        return modals.input_form(card, read.content, f"{result.words} {_in_words(result.fields)}")
    return words_of("Answer", result)


def _in_words(errors: Mapping[str, str]) -> str:
    return " ".join(f"{name}: {why}" for name, why in errors.items())
