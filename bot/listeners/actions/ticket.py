"""The ticket card's buttons: Work this, Work with documents…, Stop, Whole text."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids, modals
from bot.cards.modals import View
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button, on_opening
from bot.listeners.payload import Click
from host.types import Actor
from host.views import TicketView


def register(app: AsyncApp, edge: Edge) -> None:
    on_button(app, edge, ids.TICKET_WORK, work)
    on_button(app, edge, ids.TICKET_STOP, stop)
    on_opening(app, edge, ids.TICKET_WORK_WITH, "Work with documents", work_with)
    on_opening(app, edge, ids.TICKET_WHOLE, "Whole text", whole)


async def work(edge: Edge, click: Click, actor: Actor) -> None:
    said = await edge.host.work(click.value, actor)
    await edge.tell(click, said.words)


async def stop(edge: Edge, click: Click, actor: Actor) -> None:
    said = await edge.host.stop(actor, click.value)
    await edge.tell(click, said.words)


async def work_with(edge: Edge, click: Click, _chooser: Actor) -> View:
    """The choice decides nothing: who may work a ticket is judged at the submit."""
    return modals.work_with(click.value, await edge.host.resources())


async def whole(edge: Edge, click: Click, _reader: Actor) -> View:
    card = await edge.host.card(f"ticket:{click.value}")
    if not isinstance(card, TicketView):
        return modals.words("Whole text", "This ticket is no longer here.")
    return modals.whole("Whole text", card.ticket.body)
