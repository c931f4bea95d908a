"""The progress message's Stop button; the host says who may (spec B6)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button
from bot.listeners.payload import Click
from host.types import Actor


def register(app: AsyncApp, edge: Edge) -> None:
    on_button(app, edge, ids.PROGRESS_STOP, stop)


async def stop(edge: Edge, click: Click, actor: Actor) -> None:
    said = await edge.host.stop(actor)
    await edge.tell(click, said.words)
