"""Slash commands."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.listeners.commands import deskhand
from bot.listeners.edge import Edge


def register(app: AsyncApp, edge: Edge) -> None:
    deskhand.register(app, edge)
