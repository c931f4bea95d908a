"""The draft card's buttons: Send, Edit and send…, Reject…, Work again…, Call log (spec H27)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.modals import View
from bot.cards.resources import choice
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button, on_opening
from bot.listeners.payload import Click
from host.types import Actor, Answer
from host.views import DraftView

_GONE = "This draft is no longer here."


def register(app: AsyncApp, edge: Edge) -> None:
    on_button(app, edge, ids.DRAFT_SEND, send)
    on_button(app, edge, ids.DRAFT_SEND_CONFIRMED, send_confirmed)
    on_opening(app, edge, ids.DRAFT_EDIT, "Edit and send", edit)
    on_opening(app, edge, ids.DRAFT_REJECT, "Reject", reject)
    on_opening(app, edge, ids.DRAFT_AGAIN, "Work again", again)
    on_opening(app, edge, ids.DRAFT_LOG, "Call log", call_log)


async def send(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("send"))


async def send_confirmed(edge: Edge, click: Click, actor: Actor) -> None:
    """The button whose dialog said that the reply is flagged; whether that is enough, the host decides (spec H25)."""
    await edge.answer(click, actor, Answer("send", content={"confirmed": True}))


async def edit(edge: Edge, click: Click, actor: Actor) -> View:
    may = await edge.host.may_answer(click.value, actor)
    if not may.ok:
        return modals.words("Edit and send", may.words)
    card = await edge.host.card(f"question:{click.value}")
    return modals.edit_reply(click.value, card.text) if isinstance(card, DraftView) else modals.words("Edit and send", _GONE)


async def reject(edge: Edge, click: Click, actor: Actor) -> View:
    may = await edge.host.may_answer(click.value, actor)
    if not may.ok:
        return modals.words("Reject", may.words)
    hint = "Kept with the ticket; the customer does not see it."
    return modals.reason("Reject", ids.FORM_DRAFT_REJECT, click.value, "What is wrong with it?", hint, "Reject")


async def again(edge: Edge, click: Click, actor: Actor) -> View:
    may = await edge.host.may_answer(click.value, actor)
    if not may.ok:
        return modals.words("Work again", may.words)
    hint = "The model reads this beside the ticket. It can't change what is allowed."
    title, label = "Work again", "A hint for the model"
    documents = choice(await edge.host.resources(), optional=True)
    return modals.reason(title, ids.FORM_DRAFT_AGAIN, click.value, label, hint, title, required=False, further=documents)


async def call_log(edge: Edge, click: Click, _reader: Actor) -> View:
    card = await edge.host.card(f"question:{click.value}")
    return modals.call_log(card.calls) if isinstance(card, DraftView) else modals.words("Call log", _GONE)
