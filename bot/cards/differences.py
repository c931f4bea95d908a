"""Two definitions of a tool compared: what differs, in words, with both sides as they are (spec H7).

Pure. Refuses to know cards and terminals: `bot.cards.changed_tool` and the commands show what is found here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bot.cards.text import visible
from host.types import Json

_FIELDS: Mapping[str, str] = {
    "name": "name",
    "title": "title",
    "description": "description",
    "inputSchema": "arguments",
    "outputSchema": "result",
    "annotations": "what it says of itself",
}
_PARTS: Mapping[str, str] = {"inputSchema": "argument", "outputSchema": "result field", "annotations": "annotation"}
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: `what` in words ("argument email: description"), and both sides' text; `was` or `now` is None where
    there was or is nothing."""

    what: str
    was: str | None
    now: str | None

    @property
    def verb(self) -> Literal["is new", "is gone", "changed"]:
        if self.was is None:
            return "is new"
        return "is gone" if self.now is None else "changed"


def differences(before: Json, after: Json) -> tuple[Difference, ...]:
    """Everything that differs between two definitions as pinned; `before` is empty for a new tool."""
    old, new = _mapping(before), _mapping(after)
    keys = dict.fromkeys([*(key for key in _FIELDS if key in old or key in new), *old, *new])
    found = tuple(one for key in keys for one in _field(key, old.get(key), new.get(key)))
    # Shapes that mean the same, such as a field that is null and one that is missing, are a difference all the same.
    return found if found or _text(old) == _text(new) else (Difference("definition", _text(old), _text(new)),)


def in_words(found: tuple[Difference, ...]) -> str:
    """The same as plain text, whole: for a terminal and for Details."""
    rows: list[str] = []
    for one in found:
        rows.append(f"{one.what} {one.verb}")
        rows += [f"  was: {_indented(one.was)}"] if one.was is not None else []
        rows += [f"  now: {_indented(one.now)}"] if one.now is not None else []
        if hidden := hidden_in(one.now or ""):
            rows.append(f"  {hidden_words(hidden)}")
    return "\n".join(rows)


def hidden_in(text: str) -> int:
    """How many invisible, bidirectional or control characters a text holds: a person would not see them."""
    return visible(text).count("⟦U+") - text.count("⟦U+")


def hidden_words(count: int) -> str:
    return f"It holds {count} invisible or direction-changing character{'s' if count > 1 else ''}, shown as ⟦U+…⟧."


def _field(key: str, old: Json, new: Json) -> Iterator[Difference]:
    what = _FIELDS.get(key, key)
    if key in _PARTS and (isinstance(old, Mapping) or isinstance(new, Mapping)):
        part = _PARTS[key]
        yield from _schema(part, what, _mapping(old), _mapping(new), 0)
    elif old != new:
        yield Difference(what, _text(old), _text(new))


def _schema(part: str, place: str, old: Mapping[str, Json], new: Mapping[str, Json], depth: int) -> Iterator[Difference]:
    """A JSON schema, or annotations, key by key; the fields of an object by their names. What is nested deeper than anybody reads
    is compared as a whole."""
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if key in ("properties", "$defs", "definitions") and depth < _DEEPEST:
            label = part if key == "properties" else "shared definition"
            yield from _named(label, place, _mapping(before), _mapping(after), depth)
        elif key == "required" and _names(before) != _names(after):
            yield from _required(part, place, _names(before), _names(after), depth)
        elif isinstance(before, Mapping) and isinstance(after, Mapping) and depth < _DEEPEST:
            yield from _schema(part, f"{place}: {key}", before, after, depth + 1)
        else:
            what = f"{part} {key}" if part == "annotation" and depth == 0 else f"{place}: {key}"
            yield Difference(what, _text(before), _text(after))


def _named(part: str, place: str, old: Mapping[str, Json], new: Mapping[str, Json], depth: int) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        what = f"{part} {name}" if depth == 0 else f"{place}: {name}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _schema(part, what, before, after, depth + 1)
        elif before != after:
            yield Difference(what, _text(before), _text(after))


def _required(part: str, place: str, old: set[str], new: set[str], depth: int) -> Iterator[Difference]:
    for name in sorted(old ^ new):
        what = f"{part} {name}: must be given" if depth == 0 else f"{place}: {name}: must be given"
        yield Difference(what, "yes" if name in old else "no", "yes" if name in new else "no")


def _names(value: Json) -> set[str]:
    return {str(one) for one in value} if isinstance(value, list | tuple) else set()


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Json) -> str | None:
    """Texts as they are, so that nothing in them is written as an escape; all else as JSON."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def _indented(text: str | None) -> str:
    return (text or "(empty)").replace("\n", "\n       ")
