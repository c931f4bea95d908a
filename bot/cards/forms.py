"""A server's form as Slack inputs, and what was typed into them as an answer: the host says what a field is and takes (spec H22).

Pure and quick, so that errors can stand beside the fields in the acknowledgement itself. What Slack can't hold is said in words
in the form's place. An amount is typed as text, since "2.614" must be asked about and not be read; an optional choice has a way
back to no answer, since Slack has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from bot.cards.elements import Block, Part, line, plain, rich, t
from bot.cards.text import is_cut, one_line
from host.forms import (
    Choice,
    ChoiceField,
    ChoicesField,
    Field,
    IntegerField,
    NumberField,
    TextField,
    YesNoField,
    read_answer,
    read_fields,
    shown_number,
)
from host.types import Json

_MOST_BUTTONS = 10
_MOST_OPTIONS = 100
_MOST_TYPED = 3000
_LABEL, _HINT, _OPTION = 1900, 1900, 75
#: Slack takes views of 250 kB.
_MOST_BYTES = 200_000
#: What an option carries besides a number, which names the n-th choice (a value may be longer than Slack lets an option's be).
_YES, _NO, _NONE = "true", "false", "-"


@dataclass(frozen=True, slots=True)
class Read:
    """What a form holds: its content by field name, or words by field name for what can't be taken."""

    content: Mapping[str, Json]
    errors: Mapping[str, str]


def fields(schema: Mapping[str, Json]) -> tuple[Field, ...]:
    """The fields of a form, in its order; none of a form that can't be read."""
    found = read_fields(schema)
    return () if isinstance(found, str) else found


def block_id(n: int) -> str:
    """Fields are numbered: a server's field name may be longer than an id may be."""
    return f"f{n}"


def problem(schema: Mapping[str, Json]) -> str:
    """Why Slack can't show this form, in words; "" when it can."""
    found = read_fields(schema)
    if isinstance(found, str):
        return _not_shown(found)
    for one in found:
        if isinstance(one, TextField) and (one.least > _MOST_TYPED or len(one.default or "") > _MOST_TYPED):
            return _not_shown(f"“{one.title}” needs more than the {_MOST_TYPED:,} characters that a Slack field holds")
    if len(json.dumps(_inputs(found, {}, ""))) > _MOST_BYTES:
        return _not_shown("it is larger than Slack takes")
    return ""


def _not_shown(why: str) -> str:
    return f"This form can't be shown: {why}."


def input_blocks(schema: Mapping[str, Json], given: Mapping[str, Json] | None = None, field_id: str = "field") -> list[Block]:
    """The form, filled with its defaults or with what was given before; in words where there is none to fill in."""
    if words := problem(schema):
        return [rich(line(t(f"{words} Decline it or cancel it.", _HINT)))]
    return _inputs(fields(schema), given or {}, field_id)


def read(schema: Mapping[str, Json], values: Mapping[str, Mapping[str, Json]], field_id: str = "field") -> Read:
    """What was typed (`view.state.values`) as content. An emptied field is left out, one that never came has its default."""
    found = read_fields(schema)
    if isinstance(found, str):
        return Read({}, {"": _not_shown(found)})
    typed: dict[str, Json] = {}
    strange: dict[str, str] = {}
    for n, one in enumerate(found):
        entry = (values.get(block_id(n)) or {}).get(field_id)
        if entry is not None:
            try:
                typed[one.name] = _typed(one, entry)
            except LookupError:
                strange[one.name] = "This choice is no longer offered: open the form again."
    answer = read_answer(found, typed)
    content = {name: value for name, value in answer.content.items() if name not in strange}
    return Read(content, {**answer.errors, **strange})


def errors_by_block(schema: Mapping[str, Json], errors: Mapping[str, str]) -> dict[str, str]:
    """Errors keyed as Slack wants them beside the fields; those that belong to no field go to the first."""
    places = {one.name: block_id(n) for n, one in enumerate(fields(schema))}
    found: dict[str, str] = {}
    for name, words in errors.items() if places else ():
        place = places.get(name, block_id(0))
        found[place] = f"{found[place]} {words}" if place in found else words
    return found


# --- fields → inputs ------------------------------------------------------------------------------------------------------


def _inputs(found: Sequence[Field], given: Mapping[str, Json], field_id: str) -> list[Block]:
    return [_input(n, one, given.get(one.name, one.default), field_id) for n, one in enumerate(found)]


def _input(n: int, one: Field, value: Json, field_id: str) -> Block:
    # No choice may be an answer of its own to a field that is required; Slack would not let it through.
    optional = not one.required or (isinstance(one, ChoicesField) and one.least == 0)
    block: Block = {
        "type": "input",
        "block_id": block_id(n),
        "label": plain(one.title, _LABEL),
        "element": {**_element(one, value), "action_id": field_id},
        "optional": optional,
    }
    hint = " ".join(_hints(one))
    return {**block, "hint": plain(hint, _HINT)} if hint else block


def _element(one: Field, value: Json) -> Part:
    match one:
        case TextField():
            return _text_input(one, value)
        case NumberField():
            return {"type": "plain_text_input", **_initial(_number(value)), "placeholder": plain("12.50", 150)}
        case IntegerField():
            return _whole_number_input(one, value)
        case YesNoField() | ChoiceField():
            options = _options(one)
            chosen = [option for option in options if option["value"] == _chosen(one, value)]
            return {**_one_of(options), **({"initial_option": chosen[0]} if chosen else {})}
        case ChoicesField():
            return _some_of(one, value)
        case _:
            assert_never(one)


def _text_input(one: TextField, value: Json) -> Part:
    text = str(value) if value not in (None, "") else ""
    match one.format:
        case "date":
            return {"type": "datepicker", **({"initial_date": text} if text else {})}
        case "email":
            return {"type": "email_text_input", **_initial(text)}
        case "uri" if "://" in (text or "://"):
            return {"type": "url_text_input", **_initial(text)}
        case _:
            most = max(1, min(one.most if one.most is not None else _MOST_TYPED, _MOST_TYPED))
            long = one.format == "" and (one.most is None or one.most > 120)
            example = {"placeholder": plain("2026-06-01T09:30:00+02:00", 150)} if one.format == "date-time" else {}
            return {"type": "plain_text_input", "multiline": long, "max_length": most, **_initial(text[:most]), **example}


def _whole_number_input(one: IntegerField, value: Json) -> Part:
    bounds = {
        "min_value": None if one.least is None else str(math.ceil(one.least)),
        "max_value": None if one.most is None else str(math.floor(one.most)),
    }
    made: Part = {"type": "number_input", "is_decimal_allowed": False, **_initial(_number(value))}
    return {**made, **{key: bound for key, bound in bounds.items() if bound is not None}}


def _initial(text: str) -> Part:
    return {"initial_value": text} if text else {}


def _number(value: Json) -> str:
    return "" if value is None else shown_number(value) if isinstance(value, int | float) else str(value)


def _one_of(options: list[Part]) -> Part:
    return {"type": "radio_buttons", "options": options} if len(options) <= _MOST_BUTTONS else _select("static_select", options)


def _some_of(one: ChoicesField, value: Json) -> Part:
    options = _options(one)
    wanted = [_chosen(one, item) for item in value or ()]
    ticked = [option for option in options if option["value"] in wanted]
    initial: Part = {"initial_options": ticked} if ticked else {}
    if len(options) <= _MOST_BUTTONS:
        return {"type": "checkboxes", "options": options, **initial}
    most: Part = {"max_selected_items": max(1, one.most)} if one.most is not None else {}
    return {**_select("multi_static_select", options), **initial, **most}


def _select(kind: str, options: list[Part]) -> Part:
    """A list holds a hundred options; more go into groups."""
    if len(options) <= _MOST_OPTIONS:
        return {"type": kind, "options": options}
    starts = range(0, len(options), _MOST_OPTIONS)
    groups = [
        {"label": plain(f"{start + 1} and on", _OPTION), "options": options[start : start + _MOST_OPTIONS]} for start in starts
    ]
    return {"type": kind, "option_groups": groups}


def _options(one: YesNoField | ChoiceField | ChoicesField) -> list[Part]:
    if isinstance(one, YesNoField):
        made = [{"text": plain("Yes", _OPTION), "value": _YES}, {"text": plain("No", _OPTION), "value": _NO}]
    else:
        texts = _texts(one.choices)
        made = [{"text": text, "value": str(n)} for n, text in enumerate(texts)]
    if one.required or isinstance(one, ChoicesField):
        return made
    return [*made, {"text": plain("No answer", _OPTION), "value": _NONE}]


def _texts(choices: Sequence[Choice]) -> list[Part]:
    """The titles; numbered where two would read alike or one had to be cut, so that each can be told from the others."""
    if _must_number(choices):
        return [plain(f"{n}. {choice.title}", _OPTION) for n, choice in enumerate(choices, 1)]
    return [plain(choice.title, _OPTION) for choice in choices]


def _must_number(choices: Sequence[Choice]) -> bool:
    shown = {one_line(choice.title, _OPTION) for choice in choices}
    return len(shown) < len(choices) or any(is_cut(" ".join(choice.title.split()), _OPTION) for choice in choices)


def _hints(one: Field) -> Iterator[str]:
    """The server's own words, then what the field takes, then titles that had to be cut."""
    if one.hint:
        yield one.hint
    yield from _limits(one)
    if isinstance(one, ChoiceField | ChoicesField) and _must_number(one.choices):
        yield " · ".join(f"{n}. {choice.title}" for n, choice in enumerate(one.choices, 1))


def _limits(one: Field) -> Iterator[str]:
    match one:
        case TextField(least=least, most=most) if least > 1 or (most is not None and most < _MOST_TYPED):
            yield _between(least if least > 1 else None, most, "characters")
        case NumberField(least=least, most=most) | IntegerField(least=least, most=most) if (least, most) != (None, None):
            yield _between(least, most, "")
        case ChoicesField(least=least, most=most) if least > 0 or most is not None:
            yield _between(least or None, most, "choices")
        case _:
            return


def _between(least: float | None, most: float | None, what: str) -> str:
    low = f"at least {shown_number(least)}" if least is not None else ""
    high = f"at most {shown_number(most)}" if most is not None else ""
    words = " and ".join(word for word in (low, high) if word)
    return f"{words[0].upper()}{words[1:]}{f' {what}' if what else ''}."


# --- inputs → values ------------------------------------------------------------------------------------------------------


def _typed(one: Field, entry: Mapping[str, Json]) -> Json:
    """What an input holds, None when it is empty. Raises LookupError for an option that the form doesn't have."""
    if "selected_options" in entry:
        return [_picked(one, option["value"]) for option in entry["selected_options"] or ()]
    if "selected_option" in entry:
        value = (entry["selected_option"] or {}).get("value")
        return None if value in (None, _NONE) else _picked(one, value)
    return entry.get("selected_date") or entry.get("value")


def _picked(one: Field, value: str) -> Json:
    match one:
        case YesNoField():
            return {_YES: True, _NO: False}[value]
        case ChoiceField(choices=choices) | ChoicesField(choices=choices):
            return {str(n): choice.value for n, choice in enumerate(choices)}[value]
        case _:
            raise LookupError(value)


def _chosen(one: YesNoField | ChoiceField | ChoicesField, value: Json) -> str | None:
    if isinstance(one, YesNoField):
        return {True: _YES, False: _NO}.get(value) if isinstance(value, bool) else None
    return next((str(n) for n, choice in enumerate(one.choices) if choice.value == value), None)
