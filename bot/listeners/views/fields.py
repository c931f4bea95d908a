"""Reading what was typed into a form with one field."""

from __future__ import annotations

from bot.cards import ids
from bot.cards.forms import block_id
from bot.listeners.edge import Edge
from bot.listeners.payload import Click


def typed(click: Click) -> str:
    """The one field's text, "" when it is empty."""
    return str((((click.values or {}).get(block_id(0)) or {}).get(ids.FIELD) or {}).get("value") or "").strip()


def needs_words(edge: Edge, click: Click) -> dict[str, str]:
    """Blanks are no reason."""
    del edge
    return {} if typed(click) else {block_id(0): "Please write a few words."}
