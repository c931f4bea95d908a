"""Sign-off forms: the edited reply, why it is rejected, a hint for another run (spec H26, H27)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.forms import block_id
from bot.cards.modals import View
from bot.cards.resources import chosen
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_submit, words_of
from bot.listeners.payload import Click
from bot.listeners.views.fields import needs_words, typed
from host.types import Actor, Answer, NotTaken
from host.views import DraftView


def register(app: AsyncApp, edge: Edge) -> None:
    on_submit(app, edge, ids.FORM_DRAFT_EDIT, "Edit and send", edited, not_empty)
    on_submit(app, edge, ids.FORM_DRAFT_REJECT, "Reject", rejected, needs_words)
    on_submit(app, edge, ids.FORM_DRAFT_AGAIN, "Work again", again)


def not_empty(edge: Edge, click: Click) -> dict[str, str]:
    del edge
    return {} if modals.joined(click.values or {}).strip() else {block_id(0): "An empty reply can't be sent."}


async def edited(edge: Edge, click: Click, actor: Actor) -> View:
    """A text that does not pass comes back as it was typed, with what is wrong (spec H26)."""
    values = click.values or {}
    text = modals.joined(values)
    content = {"confirmed": True} if modals.ticked(values) else {}
    result = await edge.host.answer(click.value, actor, Answer("edit_and_send", text=text, content=content))
    if isinstance(result, NotTaken) and result.fields:
        card = await edge.host.card(f"question:{click.value}")
        may_confirm = isinstance(card, DraftView) and card.on_flag == "confirm"
        return modals.edit_reply(click.value, text, result.words, may_confirm)
    return words_of("Edit and send", result, kept=text)


async def rejected(edge: Edge, click: Click, actor: Actor) -> View:
    result = await edge.host.answer(click.value, actor, Answer("reject", reason=typed(click)))
    return words_of("Reject", result, kept=typed(click))


async def again(edge: Edge, click: Click, actor: Actor) -> View:
    """The chosen documents go as the answer's content: {"resources": [address, …]} (spec H23)."""
    try:
        resources = chosen(await edge.host.resources(), click.values or {})
    except ValueError as error:
        return modals.words("Work again", str(error), kept=typed(click))
    content = {"resources": list(resources)} if resources else {}
    result = await edge.host.answer(click.value, actor, Answer("work_again", reason=typed(click), content=content))
    return words_of("Work again", result, kept=typed(click))
