"""Forgiving search: order numbers as people type them, products by the words people use. Pure.

Refuses to know whose orders these are: it only ranks what it is given.
"""

import calendar
import re
import unicodedata
from collections.abc import Iterable

_ORDER = re.compile(r"(?:\bo\s*-?\s*|\b)(\d{3,6})\b", re.IGNORECASE)
_FILLERS = "the a an of and or for with in my order orders item items set piece pieces cm kg ml no nr"
_FILLER = frozenset(_FILLERS.split(" "))
_MONTHS = tuple(name.lower() for name in calendar.month_name[1:])


def normal_order_id(text: str) -> str:
    """`o1234`, ` 1234 ` and `O-1234` are one order id; anything else is returned trimmed, in capitals."""
    digits = re.fullmatch(r"\s*#?\s*(?:o\s*[-\u2013]?\s*)?(\d+)\s*", text, re.IGNORECASE)
    return f"O-{digits.group(1)}" if digits else text.strip().upper()


def normal_sku(text: str) -> str:
    digits = re.fullmatch(r"\s*(?:kg\s*[-\u2013]?\s*)?(\d+)\s*", text, re.IGNORECASE)
    return f"KG-{digits.group(1)}" if digits else text.strip().upper()


def words(text: str) -> frozenset[str]:
    """Lower-case words without accents, plural s and fillers."""
    plain = unicodedata.normalize("NFKD", text.replace("'", "").replace("\u2019", "")).encode("ascii", "ignore").decode()
    found = re.findall(r"[a-z0-9]+", plain.lower())
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found) - _FILLER


def word_score(query: str, text: str) -> int:
    """How many words of the query the text holds; a word of four letters or more may be a beginning."""
    have = words(text)
    return sum(any(word == own or (len(word) > 3 and own.startswith(word)) for own in have) for word in words(query))


def order_numbers(text: str) -> tuple[str, ...]:
    return tuple(_ORDER.findall(text))


def close(typed: str, real: str) -> bool:
    """One slip apart at most: a digit wrong, missing, too many, or two neighbours swapped."""
    if typed == real:
        return True
    if len(typed) == len(real):
        wrong = [place for place in range(len(real)) if typed[place] != real[place]]
        if len(wrong) == 1:
            return True
        swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1
        return swapped and typed[wrong[0]] == real[wrong[1]] and typed[wrong[1]] == real[wrong[0]]
    longer, shorter = (typed, real) if len(typed) > len(real) else (real, typed)
    return len(longer) - len(shorter) == 1 and any(
        longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer))
    )


def month_numbers(text: str) -> frozenset[int]:
    said = words(text)
    return frozenset(number for number, name in enumerate(_MONTHS, 1) if name in said)


def best(scored: Iterable[tuple[int, str]]) -> list[str]:
    """The keys with a score above zero, best first, in the given order where equal."""
    return [key for score, key in sorted(scored, key=lambda entry: -entry[0]) if score > 0]
