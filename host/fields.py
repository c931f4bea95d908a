"""The kinds of field that a form may have, and what each takes as its value (spec H22).

Pure; refuses to know where a field's description came from, and how it is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from host.amounts import parse_typed_number
from host.formats import has_format
from host.types import Json

Format = Literal["", "date", "date-time", "email", "uri"]
FORMATS: Mapping[str, str] = {
    "date": "Write a day as 2026-06-01.",
    "date-time": "Write a moment as 2026-06-01T09:30:00+02:00.",
    "email": "Write a mail address, such as name@example.com.",
    "uri": "Write a whole address, with https:// in front.",
}
#: Beyond it no double holds a number at all (infinity among them), and words about it would have no end.
LARGEST = sys.float_info.max
_YES, _NO = ("true", "yes", "ja", "oui"), ("false", "no", "nein", "nee", "non")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is sent, and what is read."""

    value: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """`title` and `hint` are the server's words, cut; `name` is the field's in the answer. No default is None."""

    name: str
    title: str
    hint: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField(Common):
    """`least` and `most` in characters."""

    format: Format = ""
    least: int = 0
    most: int | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(Common):
    least: float | None = None
    most: float | None = None
    default: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerField(Common):
    least: float | None = None
    most: float | None = None
    default: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoField(Common):
    default: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField(Common):
    choices: tuple[Choice, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesField(Common):
    """Several of `choices`, at least `least` and at most `most`."""

    choices: tuple[Choice, ...]
    least: int = 0
    most: int | None = None
    default: tuple[str, ...] | None = None


Field = TextField | NumberField | IntegerField | YesNoField | ChoiceField | ChoicesField


def value_of(one: Field, given: Json, *, typed: bool) -> Json:
    """What was given for a field, as the server gets it. Raises ValueError in words for people.

    `typed` says that a text may stand for a number or a yes; otherwise it is never read as something else.
    """
    match one:
        case TextField():
            return _text_value(one, given, typed)
        case NumberField():
            return _bounded(one, _number(given, typed))
        case IntegerField():
            number = _number(given, typed)
            if number != int(number):
                raise ValueError("Write a whole number.")
            return _bounded(one, int(number))
        case YesNoField():
            return _yes_or_no(given, typed)
        case ChoiceField():
            if given not in [choice.value for choice in one.choices]:
                raise ValueError("This choice is not offered: choose one from the list.")
            return given
        case ChoicesField():
            return chosen(one, given)
        case _:
            assert_never(one)


def _text_value(one: TextField, given: Json, typed: bool) -> str:
    if not isinstance(given, str):
        raise ValueError("Write a text.")
    if any("\ud800" <= char <= "\udfff" for char in given):
        raise ValueError("This holds half a character: write it anew.")
    text = given.strip() if one.format and typed else given
    if one.format and not has_format(text, one.format):
        raise ValueError(FORMATS[one.format])
    if len(text) < one.least:
        raise ValueError(f"At least {_count(one.least, 'character')} needed; this has {len(text)}.")
    if one.most is not None and len(text) > one.most:
        raise ValueError(f"At most {_count(one.most, 'character')} allowed; this has {len(text)}.")
    return text


def _number(given: Json, typed: bool) -> float | int:
    if isinstance(given, str) and typed:
        number = parse_typed_number(given)
        return int(number) if number == number.to_integral_value() else float(number)
    if isinstance(given, bool) or not isinstance(given, int | float) or given != given:  # NaN
        raise ValueError("Write a number.")
    if abs(given) > LARGEST:
        raise ValueError("This number is too large.")
    return given


def _bounded(one: NumberField | IntegerField, number: float | int) -> float | int:
    if one.least is not None and number < one.least:
        raise ValueError(f"Write a number of at least {shown_number(one.least)}.")
    if one.most is not None and number > one.most:
        raise ValueError(f"Write a number of at most {shown_number(one.most)}.")
    return number


def _yes_or_no(given: Json, typed: bool) -> bool:
    if isinstance(given, bool):
        return given
    word = given.strip().lower() if isinstance(given, str) and typed else ""
    if word not in (*_YES, *_NO):
        raise ValueError("Answer yes or no.")
    return word in _YES


def chosen(one: ChoicesField, given: Json) -> list[str]:
    known = [choice.value for choice in one.choices]
    if not isinstance(given, list | tuple) or not all(value in known for value in given):
        raise ValueError("This choice is not offered: choose from the list.")
    if len(set(given)) < len(given):
        raise ValueError("Choose each only once.")
    if len(given) < one.least:
        raise ValueError(f"At least {_count(one.least, 'choice')} needed.")
    if one.most is not None and len(given) > one.most:
        raise ValueError(f"At most {_count(one.most, 'choice')} allowed.")
    return list(given)


def _count(number: int, what: str) -> str:
    return f"{number} {what} is" if number == 1 else f"{number} {what}s are"


def shown_number(number: float | int) -> str:
    """Without the ".0" of a whole one."""
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)
