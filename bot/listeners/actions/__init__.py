"""Buttons.  Each file holds one handler or one family of them."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.listeners.actions import consent, details, draft, input_request, may_have_run, progress, ticket, tool
from bot.listeners.edge import Edge


def register(app: AsyncApp, edge: Edge) -> None:
    for handler in (ticket, consent, details, input_request, draft, tool, may_have_run, progress):
        handler.register(app, edge)
