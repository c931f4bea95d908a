"""A changed tool's buttons: Accept, Keep it off (spec H7)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button
from bot.listeners.payload import Click
from host.types import Actor, Answer


def register(app: AsyncApp, edge: Edge) -> None:
    on_button(app, edge, ids.TOOL_ACCEPT, accept)
    on_button(app, edge, ids.TOOL_DECLINE, keep_off)


async def accept(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("accept"))


async def keep_off(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("decline"))
