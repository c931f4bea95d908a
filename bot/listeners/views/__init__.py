"""Submitted forms.  The form was offered to somebody who might answer; at submit everything is judged again."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.listeners.edge import Edge
from bot.listeners.views import consent, draft, input_request, ticket


def register(app: AsyncApp, edge: Edge) -> None:
    for handler in (ticket, consent, input_request, draft):
        handler.register(app, edge)
