"""The four formats of text that are checked: date, date-time, email, uri.  Pure (spec H22)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EMAIL = re.compile(r"[^@\s<>,;:\"()\[\]\\]{1,64}@(?=.{1,253}\Z)[^\W_](?:[\w-]{0,62})(?:\.[^\W_][\w-]{0,62})+")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*", re.ASCII)
_URI_CHARS = re.compile(r"[^\s<>\"{}|\\^`\x00-\x1f\x7f]+")


def has_format(text: str, name: str) -> bool:
    """Whether a text is of one of the four formats (RFC 3339 for dates and times); True for any other format's name."""
    match name:
        case "date":
            return bool(_DATE.fullmatch(text)) and _parses(date.fromisoformat, text)
        case "date-time":
            # a leap second is a moment too, though not one that a datetime can hold
            plain = re.sub(r"(?<=\d\d:\d\d):60", ":59", text[:19]) + re.sub(r"\.\d+", "", text[19:]).replace("z", "Z")
            return bool(_DATE_TIME.fullmatch(text)) and _parses(datetime.fromisoformat, plain.replace("t", "T"))
        case "email":
            return bool(_EMAIL.fullmatch(text)) and ".." not in text and not text.startswith(".") and ".@" not in text
        case "uri":
            return _is_uri(text)
        case _:
            return True


def _is_uri(text: str) -> bool:
    scheme, colon, rest = text.partition(":")
    if not (colon and rest and _SCHEME.fullmatch(scheme) and _URI_CHARS.fullmatch(rest)):
        return False
    return _parses(lambda t: urlsplit(t).port, text)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True
