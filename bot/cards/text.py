"""Foreign text made safe to show: escaping, lengths counted after escaping, invisible characters made visible (spec B9).

Stands under every card and modal. Refuses to know blocks. Slack escapes `&`, `<`, `>` before it counts, so every length here is
the escaped one; a cut never falls inside a character, an entity or a shown code point, and always ends in a visible "…".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ELLIPSIS = "…"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
#: Characters that are drawn as nothing although Unicode calls them letters, symbols or marks.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(c) for c in range(0xFE00, 0xFE0F)}
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_JOINER = "\u200d"
_EMOJI_PRESENTATION = "\ufe0f"


def esc(text: str) -> str:
    """The text with exactly `&`, `<` and `>` as entities, for `text` fields and mrkdwn."""
    return "".join(_ENTITIES.get(char, char) for char in text)


def size(text: str) -> int:
    """Length after escaping."""
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def visible(text: str) -> str:
    """The text with each control, bidirectional or zero-width character shown as such: "⟦U+202E⟧". Line ends become "\\n"."""
    return "".join(_units(text))


def cut(text: str, budget: int) -> str:
    """The visible text, at most `budget` characters after escaping; a cut one ends in "…". Not escaped itself."""
    units: list[str] = []
    used, fits = 0, 0
    for unit in _units(text):
        used += size(unit)
        if used > budget:
            return _without_loose_end(units[:fits]) + ELLIPSIS if budget > 0 else ""
        units.append(unit)
        if used <= budget - len(ELLIPSIS):
            fits = len(units)
    return "".join(units)


def is_cut(text: str, budget: int) -> bool:
    """Whether `cut` would leave something out."""
    used = 0
    return any((used := used + size(unit)) > budget for unit in _units(text))


def one_line(text: str, budget: int) -> str:
    """For headings and buttons: line ends and tabs become blanks, then cut."""
    return cut(" ".join(text.split()), budget)


def escaped(text: str, budget: int) -> str:
    """Visible, cut and escaped: for a message's `text` field."""
    return esc(cut(text, budget))


def pieces(text: str, budget: int) -> list[str]:
    """The whole visible text in pieces of at most `budget` escaped characters each; nothing is lost. No text, no piece."""
    found: list[str] = []
    current: list[str] = []
    used = 0
    for unit in _units(text):
        if used + size(unit) > budget:
            found.append("".join(current))
            current, used = [], 0
        current.append(unit)
        used += size(unit)
    return [*found, "".join(current)] if current else found


def _units(text: str) -> Iterator[str]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for at, char in enumerate(text):
        yield _shown(char, text[at - 1 : at], text[at + 1 : at + 2])


def _shown(char: str, before: str, after: str) -> str:
    if char in "\n\t" or (" " <= char <= "~"):
        return char
    if char == _JOINER and _is_emoji(before) and _is_emoji(after):
        return char
    hidden = char in _BLANKS or unicodedata.category(char) in _HIDDEN_CATEGORIES or 0xE0100 <= ord(char) <= 0xE01EF
    return f"⟦U+{ord(char):04X}⟧" if hidden else char


def _is_emoji(char: str) -> bool:
    return char == _EMOJI_PRESENTATION or (char != "" and unicodedata.category(char) in ("So", "Sk"))


def _without_loose_end(units: list[str]) -> str:
    """Without a joiner that joins nothing any more."""
    while units and units[-1] == _JOINER:
        units.pop()
    return "".join(units)
