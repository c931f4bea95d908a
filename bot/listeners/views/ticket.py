"""A ticket worked with documents that a person chose for it alone (spec H23); the host says who may."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.modals import View
from bot.cards.resources import chosen
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_submit
from bot.listeners.payload import Click
from host.types import Actor


def register(app: AsyncApp, edge: Edge) -> None:
    on_submit(app, edge, ids.FORM_TICKET_WORK, "Work with documents", work_with)


async def work_with(edge: Edge, click: Click, actor: Actor) -> View:
    try:
        resources = chosen(await edge.host.resources(), click.values or {})
    except ValueError as error:
        return modals.words("Work with documents", str(error))
    said = await edge.host.work(click.value, actor, resources)
    return modals.words("Work with documents", said.words)
