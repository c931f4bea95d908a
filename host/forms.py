"""A server's input requests: read into fields or an address, and a person's answer read by them (spec H22).

The protocol leaves the shape of a requested schema unchecked, so it is checked here: flat fields of the specification's kinds,
and nothing that asks for a secret. Keywords outside the specification are the server's own affair: it judges the answer again.
Pure; refuses to know who asks whom, and how a form is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from host.addresses import read_address
from host.fields import (
    FORMATS,
    Choice,
    ChoiceField,
    ChoicesField,
    Common,
    Field,
    Format,
    IntegerField,
    NumberField,
    TextField,
    YesNoField,
    chosen,
    shown_number,
    value_of,
)
from host.schemas import schema_problem
from host.secret_words import asks_for_secret, field_name_is_secret, names_secret
from host.types import Json

__all__ = [
    "Choice", "ChoiceField", "ChoicesField", "Field", "FormAnswer", "FormRequest", "InputRequest", "IntegerField", "NumberField",
    "TextField", "UrlRequest", "YesNoField", "read_answer", "read_fields", "read_requests", "shown_number",
]  # fmt: skip

MAX_REQUESTS = 20
MAX_FIELDS = 40
MAX_CHOICES = 500
MAX_CHARS = 100_000
#: Of fields that a form does not have so many are named, and the rest is counted.
MOST_NAMED = 10
MESSAGE_CHARS, TITLE_CHARS, HINT_CHARS, VALUE_CHARS = 4000, 200, 1000, 200


@dataclass(frozen=True, slots=True)
class FormRequest:
    """One form: its key in the server's answer, the server's message, its fields in order, and the schema as it came."""

    key: str
    message: str
    fields: tuple[Field, ...]
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class UrlRequest:
    """An address that the server wants a person to open. Accepting is consent to open it and supports no claim (spec H22)."""

    key: str
    message: str
    url: str
    domain: str
    warnings: tuple[str, ...]


InputRequest = FormRequest | UrlRequest


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """What goes to the server, and in words by field name what can't be taken; nothing may be sent while there are errors."""

    content: Mapping[str, Json]
    errors: Mapping[str, str] = field(default_factory=dict)


# --- what a server asks ---------------------------------------------------------------------------------------------------


def read_requests(pending: Mapping[str, Json]) -> tuple[InputRequest, ...] | str:
    """What a server asks for (`inputRequests` of its answer), or in words why it can't be shown; one bad request spoils all."""
    asked = pending.get("inputRequests")
    if not isinstance(asked, Mapping) or not asked:
        return "it asks for nothing that a person could answer"
    if len(asked) > MAX_REQUESTS:
        return f"it asks {len(asked)} things at once; at most {MAX_REQUESTS} are shown"
    found: list[InputRequest] = []
    for key, request in asked.items():
        read = _request(str(key), request)
        if isinstance(read, str):
            return read
        found.append(read)
    return tuple(found)


def _request(key: str, request: Json) -> InputRequest | str:
    if not isinstance(request, Mapping) or request.get("method") != "elicitation/create":
        method = request.get("method") if isinstance(request, Mapping) else request
        return f"it is not a form ({_cut(str(method), 60)})"
    params = request.get("params")
    if not isinstance(params, Mapping):
        return "it is not a form (it says nothing)"
    message = _cut(str(params.get("message") or ""), MESSAGE_CHARS)
    match params.get("mode", "form"):
        case "form":
            return _form(key, message, params.get("requestedSchema"))
        case "url":
            address = read_address(params.get("url"))
            return (
                address if isinstance(address, str) else UrlRequest(key, message, address.url, address.domain, address.warnings)
            )
        case mode:
            return f"its mode is {_cut(str(mode), 60)!r}"


def _form(key: str, message: str, schema: Json) -> FormRequest | str:
    if not isinstance(schema, Mapping) or schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        return "its form is not a flat object"
    fields = read_fields(schema)
    return fields if isinstance(fields, str) else _secret(fields, message) or FormRequest(key, message, fields, schema)


def _secret(fields: Sequence[Field], message: str) -> str:
    """A field into which anything can be typed must not ask for a secret, nor stand under a message that does."""
    typed = [one for one in fields if isinstance(one, NumberField | IntegerField) or _is_free(one)]
    for one in typed:
        if field_name_is_secret(one.name) or names_secret(one.title) or names_secret(one.hint):
            return f"its field {_cut(one.name, 60)!r} asks for a secret; Deskhand never passes secrets on"
    if typed and asks_for_secret(message):
        return "its message asks for a secret; Deskhand never passes secrets on"
    return ""


def _is_free(one: Field) -> bool:
    return isinstance(one, TextField) and one.format not in ("date", "date-time", "email")


# --- fields ---------------------------------------------------------------------------------------------------------------


def read_fields(schema: Mapping[str, Json]) -> tuple[Field, ...] | str:
    """The fields of a flat schema in its order, or in words why they can't be shown. Secrets are `read_requests`' affair."""
    if len(_dumped(schema)) > MAX_CHARS:
        return "its form is too long"
    if schema_problem(schema) or _refers(schema):
        return "its form is not a valid JSON Schema" if not _refers(schema) else "its form refers to something outside its fields"
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return "its form is not a flat object"
    if len(properties) > MAX_FIELDS:
        return f"its form has {len(properties)} fields; at most {MAX_FIELDS} are shown"
    required = schema.get("required") or []
    strange = [name for name in required if name not in properties]
    if strange:
        return f"it requires {_cut(str(strange[0]), 60)!r}, which is none of its fields"
    found: list[Field] = []
    for name, spec in properties.items():
        read = _field(str(name), spec, name in required)
        if isinstance(read, str):
            return f"its field {_cut(str(name), 60)!r} {read}"
        found.append(read)
    return tuple(found)


def _dumped(schema: Mapping[str, Json]) -> str:
    try:
        return json.dumps(schema, default=dict)
    except (TypeError, ValueError, RecursionError):
        return " " * (MAX_CHARS + 1)


def _refers(schema: Json) -> bool:
    """A flat form needs no reference, and one that leaves it would make us ask an address of the server's choice."""
    if isinstance(schema, Mapping):
        return any(key in ("$ref", "$dynamicRef", "$recursiveRef") or _refers(value) for key, value in schema.items())
    return isinstance(schema, list) and any(_refers(value) for value in schema)


def _field(name: str, spec: Json, required: bool) -> Field | str:
    if not isinstance(spec, Mapping):
        return "is of an unknown kind"
    title = _cut(str(spec.get("title") or name.replace("_", " ")), TITLE_CHARS)
    about = Common(name=name, title=title, hint=_cut(str(spec.get("description") or ""), HINT_CHARS), required=required)
    match spec.get("type"):
        case "string" | None if "enum" in spec or "oneOf" in spec:
            return _choice(about, spec)
        case "number" | "integer" | "boolean" if "enum" in spec or "oneOf" in spec:
            return "offers choices that are no texts"
        case "string":
            return _text(about, spec)
        case "number":
            least, most = spec.get("minimum"), spec.get("maximum")
            made = NumberField(**_of(about), least=least, most=most, default=spec.get("default"))
            return _possible(least, most) or _with_fitting_default(made)
        case "integer":
            least, most = spec.get("minimum"), spec.get("maximum")
            whole = IntegerField(**_of(about), least=least, most=most, default=spec.get("default"))
            return _possible(least, most) or _with_fitting_default(whole)
        case "boolean":
            return _with_fitting_default(YesNoField(**_of(about), default=spec.get("default")))
        case "array":
            return _choices(about, spec)
        case _:
            return "is of an unknown kind"


def _text(about: Common, spec: Mapping[str, Json]) -> Field | str:
    if spec.get("format") == "password":
        return "asks for a secret; Deskhand never passes secrets on"
    least, most = _whole(spec.get("minLength")) or 0, _whole(spec.get("maxLength"))
    known = cast(Format, spec["format"] if spec.get("format") in FORMATS else "")
    made = TextField(**_of(about), format=known, least=least, most=most, default=spec.get("default"))
    return _possible(least, most) or _with_fitting_default(made)


def _choice(about: Common, spec: Mapping[str, Json]) -> Field | str:
    choices = _offered(spec, "oneOf")
    if isinstance(choices, str):
        return choices
    return _with_fitting_default(ChoiceField(**_of(about), choices=choices, default=spec.get("default")))


def _choices(about: Common, spec: Mapping[str, Json]) -> Field | str:
    items = spec.get("items")
    if not isinstance(items, Mapping) or items.get("type", "string") != "string":
        return "is of an unknown kind"
    choices = _offered(items, "anyOf" if "anyOf" in items else "oneOf")
    if isinstance(choices, str):
        return choices
    least, most = _whole(spec.get("minItems")) or 0, _whole(spec.get("maxItems"))
    given = spec.get("default")
    default = tuple(given) if isinstance(given, list | tuple) else None
    made = ChoicesField(**_of(about), choices=choices, least=least, most=most, default=default)
    return _possible(least, most, len(choices)) or _with_fitting_default(made)


def _offered(spec: Mapping[str, Json], titled: str) -> tuple[Choice, ...] | str:
    """Plain values, values with names beside them (`enumNames`), or values each with its title; texts, and no two alike."""
    given, names = spec.get(titled, spec.get("enum")), spec.get("enumNames")
    if not isinstance(given, list | tuple) or not given:
        return "is of an unknown kind"
    values: list[Json] = (
        [one.get("const") if isinstance(one, Mapping) else None for one in given] if titled in spec else list(given)
    )
    if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        return "offers choices that are no texts, or one of them twice"
    if len(values) > MAX_CHOICES or any(len(str(value)) > VALUE_CHARS for value in values):
        return f"offers more than {MAX_CHOICES} choices, or one longer than {VALUE_CHARS} characters"
    titles = [one.get("title") for one in given] if titled in spec else list(names) if isinstance(names, list | tuple) else []
    titles += [None] * len(values)
    return tuple(Choice(str(v), _cut(str(title or v), TITLE_CHARS)) for v, title in zip(values, titles, strict=False))


def _possible(least: Json, most: Json, offered: int | None = None) -> str:
    """A field that nothing can fill is refused before anybody tries."""
    if (least is not None and most is not None and least > most) or (offered is not None and least > offered):
        return "can't be answered: its lower limit is above its upper one"
    return ""


def _with_fitting_default(made: Field) -> Field:
    """A default that the field itself would refuse is none."""
    if made.default is None:
        return made
    try:
        value = value_of(made, made.default, typed=False)
    except ValueError:
        return replace(made, default=None)
    fitting: Any = tuple(value) if isinstance(value, list) else value
    return replace(made, default=fitting)


def _of(about: Common) -> dict[str, Json]:
    return {"name": about.name, "title": about.title, "hint": about.hint, "required": about.required}


def _whole(value: Json) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


# --- what a person answers --------------------------------------------------------------------------------------------------


def read_answer(asked: FormRequest | Sequence[Field], typed: Mapping[str, Json]) -> FormAnswer:
    """A form's answer, as JSON values or as they were typed.

    A field that is left out gets its default; one that is there and empty (None, "", []) was emptied on purpose and is left out
    of the content. Errors are words to stand beside the field; what the form doesn't have is an error too.
    """
    fields = asked.fields if isinstance(asked, FormRequest) else tuple(asked)
    content: dict[str, Json] = {}
    errors = _strangers(typed, {one.name for one in fields})
    for one in fields:
        try:
            value = _answered(one, typed)
        except ValueError as error:
            errors[one.name] = _sentence(str(error))
        else:
            if value is not None:
                content[one.name] = value
    return FormAnswer(content, errors)


def _strangers(typed: Mapping[str, Json], known: Collection[str]) -> dict[str, str]:
    strange = [str(name) for name in typed if name not in known]
    named = {_cut(name, 60): "The form has no such field." for name in strange[:MOST_NAMED]}
    rest = len(strange) - MOST_NAMED
    return named if rest <= 0 else {**named, "further fields": f"The form does not have {rest:,} more either."}


def _answered(one: Field, typed: Mapping[str, Json]) -> Json:
    if one.name not in typed and one.default is not None:
        return list(one.default) if isinstance(one.default, tuple) else one.default
    given = typed.get(one.name)
    if given is None or given == "" or (isinstance(given, list | tuple) and not given):
        return _nothing(one, given)
    return value_of(one, given, typed=True)


def _nothing(one: Field, given: Json) -> Json:
    if isinstance(one, ChoicesField) and one.required and given is not None:
        return chosen(one, given)  # none of them is an answer too, unless `minItems` says otherwise
    if one.required:
        raise ValueError("This field is needed.")
    return None


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else words + "."
