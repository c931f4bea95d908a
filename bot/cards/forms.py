"""A server's input request as a form: JSON schema → fields → input blocks, and what was typed → content or errors (spec H22).

Pure and quick, so that errors can stand beside the fields in the acknowledgement itself. The host judges the answer again.
Numbers are typed as text and read by one rule: a point for decimals, no grouping; what could mean two amounts is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from bot.cards.elements import Block, Part, plain
from host.types import Json

Kind = Literal["text", "number", "integer", "yes_no", "one_of", "some_of"]
_MOST_RADIO = 10
_MOST_OPTIONS = 100
_MOST_FIELDS = 40
_FORMATS = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), "Write a mail address, such as name@example.com."),
    "uri": (re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+"), "Write a whole address, with https:// in front."),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `options` are (value, title); `least` and `most` bound a number, a text's length, or how many are chosen."""

    name: str
    kind: Kind
    title: str
    hint: str
    required: bool
    options: tuple[tuple[str, str], ...] = ()
    default: Json = None
    least: float | None = None
    most: float | None = None
    form: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """What a form holds: its content by field name, or words by field name for what can't be taken."""

    content: Mapping[str, Json]
    errors: Mapping[str, str]


def fields(schema: Mapping[str, Json]) -> tuple[Field, ...]:
    """The fields of a flat object schema, in its order."""
    required = set(schema.get("required") or ())
    properties: Mapping[str, Mapping[str, Json]] = schema.get("properties") or {}
    return tuple(_field(name, spec, name in required) for name, spec in list(properties.items())[:_MOST_FIELDS])


def block_id(n: int) -> str:
    """Fields are numbered: a server's field name may be longer than an id may be."""
    return f"f{n}"


def input_blocks(schema: Mapping[str, Json], given: Mapping[str, Json] | None = None, field_id: str = "field") -> list[Block]:
    """The form, filled with its defaults or with what was given before."""
    return [_input(n, field, (given or {}).get(field.name, field.default), field_id) for n, field in enumerate(fields(schema))]


def read(schema: Mapping[str, Json], values: Mapping[str, Mapping[str, Json]], field_id: str = "field") -> Read:
    """What was typed (`view.state.values`) as content. An empty optional field is left out."""
    content: dict[str, Json] = {}
    errors: dict[str, str] = {}
    for n, field in enumerate(fields(schema)):
        raw = _raw((values.get(block_id(n)) or {}).get(field_id) or {})
        try:
            value = _value(field, raw)
        except ValueError as error:
            errors[field.name] = str(error)
        else:
            if value is not None:
                content[field.name] = value
    return Read(content, errors)


def errors_by_block(schema: Mapping[str, Json], errors: Mapping[str, str]) -> dict[str, str]:
    """Errors keyed as Slack wants them beside the fields; those that belong to no field go to the first."""
    places = {field.name: block_id(n) for n, field in enumerate(fields(schema))}
    found: dict[str, str] = {}
    for name, words in errors.items():
        place = places.get(name, block_id(0))
        found[place] = f"{found[place]} {words}" if place in found else words
    return found


def read_number(text: str) -> float:
    """A typed number. Refuses what may be read in two ways, such as "2.614" or "6,95" (amounts are written both ways)."""
    bare = text.strip()
    if "," in bare:
        raise ValueError(
            f"{bare!r} can be read in two ways: write the number without grouping and with a point, such as 1250.50."
        )
    if re.fullmatch(r"-?\d{1,3}\.\d{3}", bare):
        whole, _, rest = bare.partition(".")
        raise ValueError(f"{bare!r} can be read in two ways: write {whole}{rest} or {whole}.{rest[:2]}.")
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,10})?", bare):
        raise ValueError(f"{bare!r} is not a number: write digits, with a point for decimals, such as 12.50.")
    return float(bare)


def _field(name: str, spec: Mapping[str, Json], required: bool) -> Field:
    kind, options = _kind(spec)
    items = spec.get("items") or {}
    least, most = _bounds(kind, spec)
    return Field(
        name=name,
        kind=kind,
        title=str(spec.get("title") or name.replace("_", " ")),
        hint=str(spec.get("description") or ""),
        required=required,
        options=options or _options(items),
        default=spec.get("default"),
        least=least,
        most=most,
        form=str(spec.get("format") or ""),
    )


def _kind(spec: Mapping[str, Json]) -> tuple[Kind, tuple[tuple[str, str], ...]]:
    match spec.get("type"):
        case "boolean":
            return "yes_no", (("true", "Yes"), ("false", "No"))
        case "integer":
            return "integer", ()
        case "number":
            return "number", ()
        case "array":
            return "some_of", ()
        case _:
            options = _options(spec)
            return ("one_of" if options else "text"), options


def _options(spec: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    titled: Sequence[Mapping[str, Json]] = spec.get("oneOf") or spec.get("anyOf") or ()
    if titled:
        return tuple((str(o.get("const")), str(o.get("title") or o.get("const"))) for o in titled)[:_MOST_OPTIONS]
    values: Sequence[Json] = spec.get("enum") or ()
    names: Sequence[str] = spec.get("enumNames") or ()
    return tuple((str(v), str(names[n] if n < len(names) else v)) for n, v in enumerate(values))[:_MOST_OPTIONS]


def _bounds(kind: Kind, spec: Mapping[str, Json]) -> tuple[float | None, float | None]:
    low, high = {"text": ("minLength", "maxLength"), "some_of": ("minItems", "maxItems")}.get(kind, ("minimum", "maximum"))
    return spec.get(low), spec.get(high)


def _input(n: int, field: Field, value: Json, field_id: str) -> Block:
    block: Block = {
        "type": "input",
        "block_id": block_id(n),
        "label": plain(field.title, 200),
        "element": {**_element(field, value), "action_id": field_id},
        # An optional input may stay empty; a yes/no without a choice is refused by Slack itself when required.
        "optional": not field.required,
    }
    return {**block, "hint": plain(field.hint, 1900)} if field.hint else block


def _element(field: Field, value: Json) -> Part:
    match field.kind:
        case "yes_no" | "one_of":
            kind = "radio_buttons" if len(field.options) <= _MOST_RADIO else "static_select"
            chosen = [o for o in _all_options(field) if o["value"] == _chosen(field, value)]
            return {"type": kind, "options": _all_options(field), **({"initial_option": chosen[0]} if chosen else {})}
        case "some_of":
            kind = "checkboxes" if len(field.options) <= _MOST_RADIO else "multi_static_select"
            wanted = {_chosen(field, item) for item in value or ()}
            ticked = [o for o in _all_options(field) if o["value"] in wanted]
            return {"type": kind, "options": _all_options(field), **({"initial_options": ticked} if ticked else {})}
        case "number" | "integer":
            return {"type": "plain_text_input", **({"initial_value": _number(value)} if value is not None else {})}
        case "text":
            return _text_input(field, value)


def _text_input(field: Field, value: Json) -> Part:
    element: Part = {"type": "plain_text_input", "multiline": field.form == "" and (field.most is None or field.most > 120)}
    if field.most is not None:
        element["max_length"] = max(1, min(int(field.most), 3000))
    if value not in (None, ""):
        element["initial_value"] = str(value)[: element.get("max_length", 3000)]
    return element


def _all_options(field: Field) -> list[Part]:
    """Options carry their number, as a value may be longer than an option's may be; yes and no carry themselves."""
    named = enumerate(field.options)
    return [{"text": plain(title, 75), "value": value if field.kind == "yes_no" else str(n)} for n, (value, title) in named]


def _chosen(field: Field, value: Json) -> str | None:
    if field.kind == "yes_no":
        return {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    return next((str(n) for n, (option, _) in enumerate(field.options) if option == str(value)), None)


def _raw(entry: Mapping[str, Json]) -> Json:
    if "selected_options" in entry:
        return [option["value"] for option in entry["selected_options"] or ()]
    if "selected_option" in entry:
        return (entry["selected_option"] or {}).get("value")
    return entry.get("value")


def _value(field: Field, raw: Json) -> Json:
    if raw in (None, "", []):
        if field.required:
            raise ValueError("This field is needed.")
        return None
    match field.kind:
        case "yes_no":
            return _one(raw, {"true": True, "false": False})
        case "one_of":
            return _one(raw, {str(n): value for n, (value, _) in enumerate(field.options)})
        case "some_of":
            picked = [_one(item, {str(n): value for n, (value, _) in enumerate(field.options)}) for item in raw]
            return _bounded(field, picked, len(picked), "choices")
        case "number" | "integer":
            return _typed_number(field, str(raw))
        case "text":
            return _bounded(field, _formatted(field, str(raw)), len(str(raw)), "characters")


def _one(raw: Json, known: Mapping[str, Json]) -> Json:
    if raw not in known:
        raise ValueError("This choice is no longer offered: open the form again.")
    return known[raw]


def _typed_number(field: Field, raw: str) -> float | int:
    number = read_number(raw)
    if field.kind == "integer":
        if not number.is_integer():
            raise ValueError("Write a whole number.")
        number = int(number)
    if field.least is not None and number < field.least:
        raise ValueError(f"Write a number of at least {_number(field.least)}.")
    if field.most is not None and number > field.most:
        raise ValueError(f"Write a number of at most {_number(field.most)}.")
    return number


def _bounded(field: Field, value: Json, count: int, what: str) -> Json:
    if field.least is not None and count < field.least:
        raise ValueError(f"At least {_number(field.least)} {what} are needed.")
    if field.most is not None and count > field.most:
        raise ValueError(f"At most {_number(field.most)} {what} are allowed.")
    return value


def _formatted(field: Field, text: str) -> str:
    if field.form in _FORMATS:
        pattern, words = _FORMATS[field.form]
        if not pattern.fullmatch(text.strip()):
            raise ValueError(words)
        return text.strip()
    try:
        if field.form == "date":
            date.fromisoformat(text.strip())
        elif field.form == "date-time":
            datetime.fromisoformat(text.strip())
    except ValueError as error:
        example = "2026-06-01" if field.form == "date" else "2026-06-01T09:30:00+02:00"
        raise ValueError(f"Write it as {example}.") from error
    return text.strip() if field.form in ("date", "date-time") else text


def _number(value: Json) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
