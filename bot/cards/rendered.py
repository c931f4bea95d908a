"""A drawn card, and the check that Slack would take it: 50 blocks, lengths, unique ids, 12,000 characters in all (spec B9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from bot.cards.elements import Block, line, rich, t, weight
from bot.cards.text import size

MOST_BLOCKS = 50
MOST_CHARACTERS = 12_000
MOST_TEXT = 3_000  # `text` may be 4,000 in an update; it is only the fallback, so we stay well under
_HEADER_COST = 100  # measured by others: a header counts for about 100 more


@dataclass(frozen=True, slots=True)
class Rendered:
    """What is posted. `text` is the fallback for notifications, escaped; `broadcast` shows a reply in the channel as well."""

    text: str
    blocks: tuple[Block, ...]
    broadcast: bool = False


def stamp(card: Rendered, version: int) -> Rendered:
    """The card with block ids that differ from every other version's, so that Slack never keeps an old block's state."""
    return replace(card, blocks=tuple({**block, "block_id": f"v{version}.{n}"} for n, block in enumerate(card.blocks)))


def bare(card: Rendered) -> Rendered:
    """What is shown when a card breaks a limit after all: its words, and no button that decides anything."""
    words = card.text[:2000].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    note = "This card could not be drawn whole, so it can't be decided here. The log names the reason."
    return Rendered(words, (rich(line(t(words))), rich(line(t(note, bold=True)))))


def validate(card: Rendered) -> list[str]:
    """Everything that Slack would refuse, in words; empty when the card may go."""
    found = list(_whole(card))
    for n, block in enumerate(card.blocks):
        found += [f"block {n}: {what}" for what in _block(block)]
    return found


def _whole(card: Rendered) -> Iterator[str]:
    if not card.text:
        yield "no text for notifications"
    if len(card.text) > MOST_TEXT:
        yield f"text has {len(card.text)} characters, {MOST_TEXT} are allowed"
    if not 1 <= len(card.blocks) <= MOST_BLOCKS:
        yield f"{len(card.blocks)} blocks, 1 to {MOST_BLOCKS} are allowed"
    total = weight(list(card.blocks)) + _HEADER_COST * sum(block["type"] == "header" for block in card.blocks)
    if total > MOST_CHARACTERS:
        yield f"{total} characters in all, {MOST_CHARACTERS} are allowed"
    ids = [block["block_id"] for block in card.blocks if "block_id" in block]
    if len(ids) != len(set(ids)):
        yield "two blocks have one block_id"
    pressed = [element["action_id"] for element in _buttons(card)]
    if len(pressed) != len(set(pressed)):
        yield "two buttons have one action_id"


def _block(block: Block) -> Iterator[str]:
    match block["type"]:
        case "header":
            yield from _text(block["text"], 150)
        case "section":
            yield from _text(block["text"], 3000)
        case "context":
            if not 1 <= len(block["elements"]) <= 10:
                yield "a context has 1 to 10 elements"
            for element in block["elements"]:
                yield from _text(element, 3000)
        case "actions":
            if not 1 <= len(block["elements"]) <= 25:
                yield "actions have 1 to 25 elements"
            for element in block["elements"]:
                yield from _button(element)
        case "rich_text":
            yield from _rich(block)
        case "divider":
            pass
        case other:
            yield f"type {other} is not one that cards use"


def _button(element: dict[str, Any]) -> Iterator[str]:
    yield from _text(element["text"], 75)
    if len(element["value"]) > 2000:
        yield "a button's value is too long"
    for part, most in (("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)):
        if "confirm" in element:
            yield from _text(element["confirm"][part], most)


def _rich(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _rich(item)
    elif isinstance(value, dict):
        if value.get("type") == "text" and not 1 <= size(value["text"]) <= 3000:
            yield f"a rich text element has {size(value['text'])} characters"
        yield from _rich(value.get("elements", []))


def _text(value: dict[str, Any], most: int) -> Iterator[str]:
    length = len(value["text"]) if value["type"] == "mrkdwn" else size(value["text"])
    if not 1 <= length <= most:
        yield f"a text has {length} characters, 1 to {most} are allowed"
    if value["type"] == "mrkdwn" and value.get("verbatim") is not True:
        yield "a mrkdwn text is not verbatim"
    if value["type"] == "plain_text" and value.get("emoji") is not False:
        yield "a plain text allows emoji"


def _buttons(card: Rendered) -> Iterator[dict[str, Any]]:
    for block in card.blocks:
        if block["type"] == "actions":
            yield from block["elements"]
