"""What a call must be before anything else is looked at: readable, valid, and about its own customer.  Pure (spec H8, H32)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from host.schemas import problems
from host.types import Json, Tool

MAX_ARGUMENT_BYTES = 20_000
MAX_DEPTH = 20


def plain(value: Json) -> Json:
    """Half a surrogate pair can't be written anywhere, in a text or in a key: it is kept as its escape."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case Mapping():
            return {plain(key): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return value


def unreadable_arguments(arguments: object) -> str:
    """Why a call's arguments can't be kept, shown and sent as JSON; empty when they can (spec H8)."""
    if not isinstance(arguments, Mapping):
        return "the arguments are not a JSON object"
    if too_deep(arguments):
        return f"the arguments are nested more than {MAX_DEPTH} deep"
    try:
        size = len(json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, TypeError):  # NaN, infinity, half a surrogate pair
        return "the arguments hold something that is no JSON value"
    return f"the arguments are too long ({size:,} bytes of at most {MAX_ARGUMENT_BYTES:,})" if size > MAX_ARGUMENT_BYTES else ""


def too_deep(value: object) -> bool:
    """Whether a JSON value is nested deeper than anything that people or tools mean."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level if isinstance(one, Mapping | list | tuple) for inner in _members(one)]
        if not level:
            return False
    return True


def _members(value: Mapping[str, Json] | Sequence[Json]) -> Sequence[Json]:
    return list(value.values()) if isinstance(value, Mapping) else value


def without_nulls(tool: Tool, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments without those that are null where the tool wants nothing at all: models write null for "left out"."""
    if None not in arguments.values():
        return arguments
    wrong = {problem.path[0] for problem in problems(dict(arguments), tool.schema) if len(problem.path) == 1}
    empty = wrong - set(tool.schema.get("required", ()))
    return {name: value for name, value in arguments.items() if value is not None or name not in empty}


def invalid_arguments(tool: Tool, arguments: Mapping[str, Json]) -> str:
    """What breaks the tool's own input schema, in words without the values; "" when nothing does."""
    words = "; ".join(str(problem) for problem in problems(arguments, tool.schema))
    known = tool.schema.get("properties")
    strange = [name for name in arguments if name not in (known if isinstance(known, Mapping) else {})]
    return words or (f"there is no parameter {strange[0]!r}" if strange else "")


def other_customers(data: Json, customer_id: str | None) -> bool:
    """Whether a record of somebody else is in a result (spec H32)."""
    if isinstance(data, Mapping):
        owner = data.get("customer_id")
        return (owner is not None and owner != customer_id) or any(other_customers(v, customer_id) for v in data.values())
    if isinstance(data, list | tuple):
        return any(other_customers(value, customer_id) for value in data)
    return False
