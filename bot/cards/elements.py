"""The few block shapes that cards are made of, as plain dicts.

Foreign text goes through `t`, `code`, `quote`, `pre` or `plain` and through nothing else; `own` is for our own words. Refuses to
know what a card means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.cards.text import cut, esc, one_line, pieces, size

Block = dict[str, Any]
Part = dict[str, Any]

BUTTON_TEXT = 75
HEADER_TEXT = 150
CONFIRM_TITLE, CONFIRM_TEXT, CONFIRM_BUTTON = 100, 300, 30
TITLE_TEXT = 24
_ELEMENT = 2900


def t(text: str, budget: int = 3000, *, bold: bool = False, italic: bool = False) -> Part:
    """A literal piece of rich text: never parsed, so no mention, link or format can come from it."""
    part: Part = {"type": "text", "text": cut(text, budget) or " "}
    style = {name: True for name, wanted in (("bold", bold), ("italic", italic)) if wanted}
    return {**part, "style": style} if style else part


def code(text: str, budget: int = 300) -> Part:
    return {"type": "text", "text": cut(text, budget) or " ", "style": {"code": True}}


def user(user_id: str) -> Part:
    return {"type": "user", "user_id": user_id}


def when(moment: datetime) -> Part:
    """A moment, in the reader's own time zone where Slack draws it."""
    stamp = int(moment.timestamp())
    return {"type": "date", "timestamp": stamp, "format": "{date_short_pretty} {time}", "fallback": utc(moment)}


def utc(moment: datetime) -> str:
    """The same in words, for `text` fields."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def line(*parts: Part) -> Part:
    return {"type": "rich_text_section", "elements": list(parts)}


def quote(text: str, budget: int) -> Part:
    return {"type": "rich_text_quote", "elements": _split(text, budget)}


def pre(text: str, budget: int) -> Part:
    return {"type": "rich_text_preformatted", "elements": _split(text, budget)}


def _split(text: str, budget: int) -> list[Part]:
    """One element holds 3,000 escaped characters; a longer text is several that read on without a seam."""
    return [t(piece) for piece in pieces(cut(text, budget), _ELEMENT)] or [t(" ")]


def bullets(lines: Iterable[Sequence[Part]]) -> Part:
    return {"type": "rich_text_list", "style": "bullet", "elements": [line(*parts) for parts in lines]}


def rich(*elements: Part) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def plain(text: str, budget: int) -> Part:
    """A plain_text object: not parsed, no emoji; never empty, as Slack refuses empty ones."""
    return {"type": "plain_text", "text": one_line(text, budget) or "-", "emoji": False}


def header(text: str) -> Block:
    return {"type": "header", "text": plain(text, HEADER_TEXT)}


def own(words: str) -> Block:
    """A small line of our own words. Not for foreign text: format characters can't be escaped."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": esc(words), "verbatim": True}]}


def button(
    text: str, action_id: str, value: str, *, style: str | None = None, confirm: Part | None = None, label: str | None = None
) -> Part:
    """A button. `value` is an opaque id; `label` is read out by screen readers."""
    made: Part = {"type": "button", "action_id": action_id, "text": plain(text, BUTTON_TEXT), "value": value}
    extra = {"style": style, "confirm": confirm, "accessibility_label": one_line(label, BUTTON_TEXT) if label else None}
    return {**made, **{key: what for key, what in extra.items() if what is not None}}


def confirm(title: str, text: str, yes: str, no: str = "Not yet", *, danger: bool = False) -> Part:
    asked: Part = {
        "title": plain(title, CONFIRM_TITLE),
        "text": plain(text, CONFIRM_TEXT),
        "confirm": plain(yes, CONFIRM_BUTTON),
        "deny": plain(no, CONFIRM_BUTTON),
    }
    return {**asked, "style": "danger" if danger else "primary"}


def actions(*buttons: Part) -> Block:
    return {"type": "actions", "elements": list(buttons)}


def weight(value: object) -> int:
    """Characters of all texts in blocks, after escaping: what counts towards the size of a message."""
    if isinstance(value, list | tuple):
        return sum(weight(item) for item in value)
    if not isinstance(value, dict):
        return 0
    mine = value.get("text")
    already = value.get("type") == "mrkdwn"
    counted = (len(mine) if already else size(mine)) if isinstance(mine, str) else 0
    return counted + sum(weight(item) for item in value.values())
