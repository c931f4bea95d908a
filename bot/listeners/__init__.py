"""Presses, forms and commands, one file per handler.  A new button: an id in `cards.ids`, a file here, a line in its folder."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.listeners import actions, commands, strays, views
from bot.listeners.edge import Edge


def register(app: AsyncApp, edge: Edge) -> None:
    """Registers every handler; what no handler knows is answered last (spec B8)."""
    for room in (actions, views, commands, strays):
        room.register(app, edge)
