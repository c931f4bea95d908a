"""Reads a server's input requests: which can be shown as a form, which must be refused (spec H22).

The protocol leaves the shape of a requested schema unchecked, so it is checked here: flat fields of the specification's kinds,
and nothing that asks for a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from host.types import Json

_SECRET = re.compile(
    r"pass(word|phrase|code)|\bpin\b|secret|api[ _-]?key|token|\bcvv\b|\bcvc\b|card[ _-]?number|credential", re.I
)


@dataclass(frozen=True, slots=True)
class InputRequest:
    """One form: its key in the server's answer, the server's message, and a flat JSON Schema of type object."""

    key: str
    message: str
    schema: Mapping[str, Json]


def read_requests(pending: Mapping[str, Json]) -> tuple[InputRequest, ...] | str:
    """The forms a server asks for, or in words why they can't be shown."""
    found: list[InputRequest] = []
    for key, request in (pending.get("inputRequests") or {}).items():
        if request.get("method") != "elicitation/create":
            return f"it is not a form ({request.get('method')})"
        params = request.get("params", {})
        if params.get("mode", "form") != "form":
            return f"its mode is {params.get('mode')!r}"
        schema = params.get("requestedSchema", {})
        problem = _problem(schema)
        if problem:
            return problem
        found.append(InputRequest(key, str(params.get("message", "")), schema))
    return tuple(found) or "it asks for nothing that a person could answer"


def _problem(schema: Json) -> str:
    if not isinstance(schema, Mapping) or schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        return "its form is not a flat object"
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError:
        return "its form is not a valid JSON Schema"
    if _refers(schema):
        return "its form refers to something outside its fields"
    for name, field in schema["properties"].items():
        if not isinstance(field, Mapping) or not _known_kind(field):
            return f"its field {name!r} is of an unknown kind"
        words = " ".join(str(field.get(key, "")) for key in ("title", "description"))
        if _SECRET.search(name.replace("_", " ")) or _SECRET.search(words):
            return f"its field {name!r} asks for a secret; Deskhand never passes secrets on"
    return ""


def _refers(schema: Json) -> bool:
    """A flat form needs no reference, and one that leaves it would make us ask an address of the server's choice."""
    if isinstance(schema, Mapping):
        return any(key in ("$ref", "$dynamicRef") or _refers(value) for key, value in schema.items())
    return isinstance(schema, list) and any(_refers(value) for value in schema)


def _known_kind(field: Mapping[str, Json]) -> bool:
    match field.get("type"):
        case "string" | "number" | "integer" | "boolean":
            return True
        case "array":
            items = field.get("items", {})
            return isinstance(items, Mapping) and ("enum" in items or "anyOf" in items)
        case _:
            return "enum" in field or "oneOf" in field
