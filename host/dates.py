"""Dates, periods and shares ("17 May", "3-5 working days", "50 %"), read in English, German, Dutch and French.

Refuses to know what they are promised for. What can't be pinned to a calendar day ("tomorrow", "Friday") is read as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from host.spans import Spans
from host.types import Json

_MONTHS: dict[str, int] = {}
for _number, _names in enumerate(
    (
        "january januar januari janvier jan janv jänner",
        "february februar februari février fevrier feb févr",
        "march märz maart mars mar mär mrt",
        "april avril apr avr",
        "may mai mei",
        "june juni juin jun",
        "july juli juillet jul juil",
        "august augustus août aout aug",
        "september septembre sept sep",
        "october oktober octobre oct okt",
        "november novembre nov",
        "december dezember décembre decembre dec dez déc",
    ),
    start=1,
):
    _MONTHS.update(dict.fromkeys(_names.split(), _number))
MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))

_DATE = re.compile(
    r"(?P<iso>\b(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2})(?!\d))"
    rf"|(?P<dmy>\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th|er|e)?\.?\s*(?:of\s+)?(?P<m2>{MONTH})\b\.?(?:,?\s+(?P<y2>\d{{4}})\b)?)"
    rf"|(?P<mdy>\b(?P<m3>{MONTH})\.?\s+(?:the\s+)?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*(?:%|[€$£]|eur))(?:,?\s+(?P<y3>\d{{4}})\b)?)"
    r"|(?P<num>\b(?P<d4>\d{1,2})(?P<sep>[./])(?P<m4>\d{1,2})(?P=sep)(?P<y4>\d{4}|\d{2}(?!\d))?)(?!\d)",
    re.IGNORECASE,
)
_WEEKDAYS = (
    "monday montag maandag lundi", "tuesday dienstag dinsdag mardi", "wednesday mittwoch woensdag mercredi",
    "thursday donnerstag donderdag jeudi", "friday freitag vrijdag vendredi", "saturday samstag sonnabend zaterdag samedi",
    "sunday sonntag zondag dimanche",
)  # fmt: skip
_WEEKDAY = {name: number for number, names in enumerate(_WEEKDAYS) for name in names.split()}
_RELATIVE = re.compile(
    r"\b(?:tomorrow|tonight|today|(?:next|this) (?:week|month)|(?:by )?the end of (?:the|this|next) (?:day|week|month)|morgen|"
    r"heute|"
    r"übermorgen|(?:nächste|diese|kommende)[nr]? (?:woche|monat)|vandaag|overmorgen|volgende (?:week|maand)|demain|aujourd'hui|"
    r"(?:la )?semaine prochaine|" + "|".join(sorted(_WEEKDAY)) + r")\b",
    re.IGNORECASE,
)
_NUMBERS = {
    name: number
    for number, names in {
        1: "one eine einem einen ein een un une", 2: "two zwei twee deux", 3: "three drei drie trois", 4: "four vier quatre",
        5: "five fünf vijf cinq", 6: "six sechs zes", 7: "seven sieben zeven sept", 8: "eight acht huit",
        9: "nine neun negen neuf",
        10: "ten zehn tien dix", 12: "twelve zwölf twaalf douze", 14: "fourteen vierzehn veertien quatorze fortnight",
        15: "fifteen fünfzehn vijftien quinze", 20: "twenty zwanzig twintig vingt", 30: "thirty dreißig dertig trente",
        60: "sixty sechzig zestig soixante",
    }.items()
    for name in names.split()
}  # fmt: skip
_UNITS = {
    "minute": "minutes? minuten minute[ns]?",
    "hour": "hours? hrs? stunden? std uur uren heures?",
    "day": "days? tagen? tage dagen dag jours?",
    "week": "weeks? wochen? weken semaines?",
    "month": "months? monat(?:en?)? maand(?:en)? mois",
    "year": "years? jahr(?:en?)? jaar ans? année",
}  # fmt: skip
_UNIT = "|".join(f"(?P<{unit}>{'|'.join(words.split())})" for unit, words in _UNITS.items())
_COUNT = r"(?:\d{1,4}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")"
_WORKING = re.compile(r"working|business|werktag|werkdag|arbeitstag|ouvr|geschäftstag|bankarbeitstag", re.IGNORECASE)
_PERIOD = re.compile(
    rf"(?<![\w.,-])(?P<first>{_COUNT})(?:\s*(?:-|to|bis|tot|à|a|or|oder|of|ou)\s*(?P<second>{_COUNT}))?(?:st|nd|rd|th|\.)?[\s-]+"
    rf"(?:(?:full |calendar |volle )?(?:working |business |werk|arbeits|geschäfts|bankarbeits)?)"
    rf"(?:{_UNIT})\b(?: ouvr\w+)?",
    re.IGNORECASE,
)
_SHARE = re.compile(r"(?<![\w.,])(\d{1,3}(?:[.,]\d+)?)\s*(?:%|percent|per cent|prozent|procent|pour ?cent)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Day:
    """`year` is None where the text names none."""

    month: int
    day: int
    year: int | None = None

    def fits(self, other: Day) -> bool:
        same = (self.month, self.day) == (other.month, other.day)
        return same and (self.year is None or other.year is None or self.year == other.year)


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a period: "3-5 working days" has the bounds 3 and 5 of unit "working day"; weeks are counted in days."""

    number: int
    unit: str


@dataclass(frozen=True, slots=True)
class Term:
    """Something dated or counted in a text. Exactly one of `day`, `bounds`, `word` and `share` is set."""

    text: str
    start: int
    end: int
    day: Day | None = None
    bounds: tuple[Bound, ...] = ()
    word: str = ""
    share: str = ""


def _day(match: re.Match[str]) -> Day | None:
    for index in "1234":
        if match[f"d{index}"]:
            month_text, year_text = match[f"m{index}"].lower(), match[f"y{index}"]
            month = _MONTHS.get(month_text) or (int(month_text) if month_text.isdigit() else 0)
            year = int(year_text) if year_text else None
            if year is not None and year < 100:
                year += 2000
            day = int(match[f"d{index}"])
            if not 1 <= month <= 12 and 1 <= day <= 12 and index == "4":
                month, day = day, month  # 05/17/2026
            return Day(month, day, year) if 1 <= month <= 12 and 1 <= day <= 31 else None
    return None


def _bounds(match: re.Match[str]) -> tuple[Bound, ...]:
    unit = next(name for name in _UNITS if match[name])
    counts = [int(c) if c.isdigit() else _NUMBERS[c.lower()] for c in (match["first"], match["second"]) if c]
    if _WORKING.search(match[0]):
        return tuple(Bound(n, f"working {unit}") for n in counts)
    if unit == "week":
        return tuple(Bound(7 * n, "day") for n in counts)
    return tuple(Bound(n, unit) for n in counts)


def _free(pattern: re.Pattern[str], text: str, found: Iterable[Term]) -> list[re.Match[str]]:
    taken = Spans((term.start, term.end) for term in found)
    return [match for match in pattern.finditer(text) if not taken.touch(match.span())]


def find_terms(text: str) -> tuple[Term, ...]:
    """All terms in `text` (as `amounts.plain` gives it), in order, none inside another."""
    found = [Term(m[0].strip(), m.start(), m.end(), day=day) for m in _DATE.finditer(text) if (day := _day(m)) is not None]
    found += [Term(m[0], m.start(), m.end(), bounds=_bounds(m)) for m in _free(_PERIOD, text, found)]
    found += [Term(m[0], m.start(), m.end(), share=m[1].replace(",", ".")) for m in _free(_SHARE, text, found)]
    found += [Term(m[0], m.start(), m.end(), word=m[0].lower()) for m in _free(_RELATIVE, text, found)]
    return tuple(sorted(found, key=lambda t: t.start))


def weekday(word: str) -> int | None:
    """0 is Monday; None when the word names no weekday."""
    return _WEEKDAY.get(word.lower())


def weekday_of(day: Day) -> int | None:
    try:
        return date(day.year, day.month, day.day).weekday() if day.year else None
    except ValueError:
        return None


def bounds_in_data(data: Json, key: str = "") -> frozenset[Bound]:
    """Numbers under keys that name a unit: {"delivery_days": 5} is 5 days and 5 working days, as the key does not say."""
    match data:
        case Mapping():
            return frozenset().union(*(bounds_in_data(item, str(name)) for name, item in data.items()))
        case list() | tuple():
            return frozenset().union(*(bounds_in_data(item, key) for item in data))
        case bool():
            return frozenset()
        case int():
            unit = next((u for u in _UNITS if u in key.lower()), "")
            return frozenset({Bound(data, unit), Bound(data, f"working {unit}")}) if unit else frozenset()
        case _:
            return frozenset()
