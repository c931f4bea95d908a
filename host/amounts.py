"""Amounts of money, read in one place: in a draft, in a tool's result, in a form's field.  Refuses to know who says them.

A draft is read generously ("2.614,50 €" and "EUR 2,614.50" are one amount), because whatever is read is then compared; what a
person types into a form is read strictly, because it is acted upon (spec H21).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from host.grounding import clean
from host.spans import Spans
from host.types import Json

_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "us$": "USD", "¥": "JPY", "zł": "PLN"}
_CODES = ("EUR", "USD", "GBP", "CHF", "PLN", "SEK", "NOK", "DKK", "CZK", "JPY", "AUD", "CAD")
_NAMES = {
    "euro": "EUR", "euros": "EUR", "eur": "EUR", "dollar": "USD", "dollars": "USD", "pound": "GBP", "pounds": "GBP",
    "pfund": "GBP", "livres": "GBP", "franken": "CHF", "francs": "CHF", "quid": "GBP",
}  # fmt: skip
_CURRENCY = r"(?:us\$|[€$£¥]|zł|\b(?:" + "|".join(sorted({*_NAMES, *(code.lower() for code in _CODES)}, key=len)[::-1]) + r")\b)"
# Digits with separators: groups of three, then at most one decimal part ("75,-" is Dutch for 75). Dashes are plain by now.
# More than six groups are no amount, and a text of nothing else would be read once for each of them.
_GROUPED = r"\d{1,3}(?:[.,' ]\d{3}){1,6}"
_DIGITS = rf"(?:{_GROUPED}(?!\d)|\d+)(?:[.,](?:\d+|-+))?"
_MONEY = re.compile(
    rf"(?<![\w.,])(?:(?P<before>{_CURRENCY})\s*(?P<first>{_DIGITS})(?!\d)|(?P<second>{_DIGITS})\s*(?P<after>{_CURRENCY}))",
    re.IGNORECASE,
)
# Two decimals without a currency, unless it is a measure, a time, a date or part of a longer number.
_NOT_MONEY = r"(?![\w/:%]|[.,]\d|-\d|\s*(?:l|kg|g|cm|mm|m|ml|km|litres?|liters?|liter|uhr|uur|h|am|pm|x|%|percent|prozent)\b)"
_BARE = re.compile(rf"(?<![\w.,/:+-])(?:{_GROUPED}|\d+)[.,]\d{{2}}{_NOT_MONEY}", re.IGNORECASE)
_WORD_NUMBERS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|"
    "thousand|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig|hundert|"
    "tausend|twee|drie|vijf|zes|zeven|negen|tien|twintig|dertig|veertig|vijftig|honderd|duizend|deux|trois|quatre|cinq|dix|vingt|trente|"
    "quarante|cinquante|soixante|cent|mille"
)
_IN_WORDS = re.compile(
    rf"\b(?:\w*(?:{_WORD_NUMBERS}))[\s-]+(?:euros?|dollars?|pounds?|pfund|livres|franken|francs)\b", re.IGNORECASE
)
#: Keys of a result whose numbers are money even when they are whole.
_MONEY_KEY = re.compile(r"amount|price|total|fee|cost|sum|paid|value|limit|balance|charge|tax|discount|credit|betrag|preis", re.I)


@dataclass(frozen=True, slots=True)
class Amount:
    """`currency` is an ISO code, "" when none was named."""

    value: Decimal
    currency: str = ""

    def __str__(self) -> str:
        return f"{self.value:.2f} {self.currency}".strip()


@dataclass(frozen=True, slots=True)
class Seen:
    """An amount in a text, with its place. `amount` is None where it is written in words and can't be compared."""

    amount: Amount | None
    start: int
    end: int


def plain(text: str) -> str:
    """The text as compared: cleaned as for identifiers, and without the marks of emphasis."""
    return re.sub(r"[*`]", "", clean(text)).replace("’", "'")  # noqa: RUF001


def currency_code(text: str) -> str:
    """An ISO code for "€", "euro", "EUR"; "" for anything else."""
    word = text.strip().lower()
    return _SIGNS.get(word) or _NAMES.get(word) or (word.upper() if word.upper() in _CODES else "")


def _value(digits: str) -> Decimal:
    """Read separators as people mean them: the last one is decimal unless three digits follow it or it comes twice."""
    digits = re.sub(r"[.,]-+$", "", digits)
    digits = re.sub(r"[' ]", "", digits)
    marks = [c for c in digits if c in ".,"]
    if not marks:
        return Decimal(digits)
    last = marks[-1]
    whole, _, rest = digits.rpartition(last)
    grouped = len(rest) == 3 and len(set(marks)) == 1 and len(whole.split(last)[0]) <= 3 and whole != "0"
    if marks.count(last) > 1 or grouped:
        return Decimal(re.sub(r"[.,]", "", digits))
    return Decimal(f"{re.sub(r'[.,]', '', whole)}.{rest}")


def find_amounts(text: str, *, bare: bool = True) -> tuple[Seen, ...]:
    """Amounts in `text` (as `plain` gives it): with a currency, in words, and with `bare` numbers with two decimals too."""
    seen = [
        Seen(Amount(_value(m["first"] or m["second"]), currency_code(m["before"] or m["after"])), m.start(), m.end())
        for m in _MONEY.finditer(text)
    ]
    seen += [Seen(None, m.start(), m.end()) for m in _IN_WORDS.finditer(text)]
    if bare:
        taken = Spans((s.start, s.end) for s in seen)
        seen += [Seen(Amount(_value(m[0])), m.start(), m.end()) for m in _BARE.finditer(text) if not taken.touch(m.span())]
    return tuple(sorted(seen, key=lambda s: s.start))


def read_amount(text: str) -> Amount | None:
    """The one amount that `text` holds, with or without a currency; None when it holds none, or more than one."""
    folded = plain(text).strip()
    if re.fullmatch(_DIGITS, folded):
        return Amount(_value(folded))
    found = find_amounts(folded)
    return found[0].amount if len(found) == 1 else None


def parse_typed_amount(text: str, currency: str = "") -> Decimal:
    """What a person typed into a form as an amount. Raises ValueError in words when it could mean two things (spec H21).

    A currency may stand beside it only when it is the field's own (`currency`, an ISO code).
    """
    typed = plain(text).strip()
    named = re.search(_CURRENCY, typed, re.IGNORECASE)
    if named:
        if not currency or currency_code(named[0]) != currency:
            raise ValueError(f"{_short(text)}: leave out the currency; type the number alone, such as 2614.50")
        typed = (typed[: named.start()] + typed[named.end() :]).strip()
    if typed.startswith("-"):
        raise ValueError(f"{_short(text)} is below zero: type a positive amount, such as 2614.50")
    found = _unambiguous(typed)
    if found is not None:
        return found
    if re.fullmatch(r"[0-9]+([.,'][0-9]+)+", typed):
        raise ValueError(_two_ways(text))
    raise ValueError(f"{_short(text)} is not an amount: type a number, such as 2614.50")


def parse_typed_number(text: str) -> Decimal:
    """The same for any number, of any sign and as many decimals as it has. Raises ValueError in words (spec H21, H22)."""
    typed = plain(text).strip()
    minus, digits = typed.startswith("-"), typed.removeprefix("-").removeprefix("+")
    found = _unambiguous(digits)
    # Three digits after a point may be thousands, unless what stands before them can't be a group.
    if (
        found is None
        and re.fullmatch(r"[0-9]{1,15}\.[0-9]{1,15}", digits)
        and not re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", digits)
    ):
        found = Decimal(digits)
    if found is None and re.fullmatch(r"[0-9]{13,30}", digits):
        found = Decimal(digits)
    if found is not None:
        return -found if minus else found
    if re.fullmatch(r"[0-9]+([.,'][0-9]+)+", digits):
        raise ValueError(_two_ways(text))
    raise ValueError(f"{_short(text)} is not a number: type digits, with a dot before the decimals, such as 12.50")


def _unambiguous(typed: str) -> Decimal | None:
    """Digits with at most two decimals, or with whole groups of three and two decimals, which only one reading has."""
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,2})?", typed) or re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+\.[0-9]{2}", typed):
        return Decimal(typed.replace(",", ""))
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{3})+,[0-9]{2}", typed):
        return Decimal(typed.replace(".", "").replace(",", "."))
    return None


def _two_ways(text: str) -> str:
    return f"{_short(text)} can be read in two ways: type it with a dot before the cents and no other mark, such as 2614.50"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _numbers(data: Json, key: str, currency: str) -> Iterator[Amount]:
    match data:
        case Mapping():
            own = data.get("currency")
            here = own.upper() if isinstance(own, str) and own else currency
            for name, item in data.items():
                yield from _numbers(item, str(name), here)
        case list() | tuple():
            for item in data:
                yield from _numbers(item, key, currency)
        case bool() | None:
            return
        case int() | float() | Decimal():
            value = Decimal(str(data))
            if _MONEY_KEY.search(key) or isinstance(data, float):
                yield Amount(value, currency)
        case str():
            yield from amounts_in_text(data, currency, whole=bool(_MONEY_KEY.search(key)))
        case _:
            return


def amounts_in_data(data: Json, currency: str) -> frozenset[Amount]:
    """Amounts in a result's data; `currency` is the server's configured one, used where a record names none."""
    return frozenset(_numbers(data, "", currency))


def amounts_in_text(text: str, currency: str, *, whole: bool = False) -> frozenset[Amount]:
    """Amounts in a text that a server gave; with `whole` a string that is nothing but a number counts too."""
    folded = plain(text)
    if whole and re.fullmatch(_DIGITS, folded.strip()):
        return frozenset({Amount(_value(folded.strip()), currency)})
    return amounts_in_plain(folded, currency)


def amounts_in_plain(folded: str, currency: str) -> frozenset[Amount]:
    """The same for a text that `plain` has read already."""
    found = (s.amount for s in find_amounts(folded) if s.amount)
    return frozenset(a if a.currency else Amount(a.value, currency) for a in found)
