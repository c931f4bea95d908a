"""A person looked at the server and says whether a lost call ran (spec H13)."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.cards import ids
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_button
from bot.listeners.payload import Click
from host.types import Actor, Answer


def register(app: AsyncApp, edge: Edge) -> None:
    on_button(app, edge, ids.IT_RAN, it_ran)
    on_button(app, edge, ids.IT_DID_NOT_RUN, it_did_not_run)


async def it_ran(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("it_ran"))


async def it_did_not_run(edge: Edge, click: Click, actor: Actor) -> None:
    await edge.answer(click, actor, Answer("it_did_not_run"))
