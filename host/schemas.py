"""The one place where data is laid beside a JSON Schema, both of which a stranger may have written (spec H8, H12, H22).

Pure. Whatever the two hold, an answer comes in bounded time and memory, no address is ever asked, and a schema that can't be
checked is a problem, never a pass. Words name fields and what the schema wants, and leave the value itself out. Refuses to know
tools and forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, cast
from urllib.parse import unquote

import regex
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from host.formats import has_format
from host.types import Json

MAX_SCHEMA_CHARS = 100_000
MAX_VALUE_CHARS = 1_000_000
MAX_DEPTH = 60
MAX_PROBLEMS = 20
#: Keywords looked at in one check; a value of many records has one more for each so many of its characters.
MAX_STEPS = 20_000
CHARS_A_STEP = 8
MAX_PATTERN_CHARS = 1_000
#: For all patterns of one check together.
PATTERN_SECONDS = 0.1

_SHOWN = 60
_TYPES = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_LIMITS = {
    "minLength": "needs at least {} characters",
    "maxLength": "may have at most {} characters",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minItems": "needs at least {} items",
    "maxItems": "may have at most {} items",
    "minProperties": "needs at least {} fields",
    "maxProperties": "may have at most {} fields",
    "const": "must be {}",
    "pattern": "does not match the pattern {}",
    "uniqueItems": "names something twice",
    "format": "is no {}",
    "not": "is what its schema rules out",
}
#: What a hostile schema makes the library raise.
_FOREIGN = (Unresolvable, RecursionError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
#: Parts of the regular expressions here that JSON Schema's own (ECMA-262) lack: calls of a group, verbs, fuzzy matching, code.
_NOT_ECMA = re.compile(r"\(\?(?:R|&|P>|\d|[+-]\d|\()|\(\*|\{[^}]*[<>eids]|\\[KGL]<|\\L<")

_ONE_IN_PLACE = ("not", "if", "then", "else")
_LISTS_IN_PLACE = ("allOf", "anyOf", "oneOf", "dependentSchemas")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples")

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at `path` (names and list positions; empty for the whole), in words that follow the path's name."""

    path: tuple[str | int, ...]
    words: str

    @property
    def field(self) -> str:
        """The outermost field's name, "" for the whole."""
        return str(self.path[0]) if self.path else ""

    def __str__(self) -> str:
        place = ".".join(_cut(str(part)) for part in self.path)
        return f"{place or 'the whole'} {self.words}"


class _CanNotBeChecked(Exception):
    """In words, why."""


@dataclass(slots=True)
class _Budget:
    steps: int = MAX_STEPS
    seconds: float = PATTERN_SECONDS


_BUDGET: ContextVar[_Budget] = ContextVar("deskhand_schema_budget")


def problems(value: Json, schema: Json) -> tuple[Problem, ...]:
    """Where `value` breaks `schema`, at most 20 places; empty when it fits.

    Draft 2020-12 unless `$schema` names another. `format` is checked for date, date-time, email and uri. What can't be checked
    (an invalid schema, a reference that leaves it, a slow pattern, too much of anything) is one problem of the whole.
    """
    token = _BUDGET.set(_Budget())
    try:
        text = _json(schema, MAX_SCHEMA_CHARS, "its schema")
        _BUDGET.get().steps += len(_json(value, MAX_VALUE_CHARS, "it")) // CHARS_A_STEP
        return tuple(_found(_validator(text).iter_errors(_plain(value))))
    except _CanNotBeChecked as error:
        return (Problem((), f"can't be checked: {error}"),)
    except _FOREIGN as error:
        return (Problem((), f"can't be checked: {_why(error)}"),)
    finally:
        _BUDGET.reset(token)


def first_problem(value: Json, schema: Json) -> str:
    """The first place where `value` breaks `schema`, in words; "" when it fits."""
    found = problems(value, schema)
    return str(found[0]) if found else ""


def schema_problem(schema: Json) -> str:
    """Why nothing can be checked against this schema, in words; "" when something can."""
    token = _BUDGET.set(_Budget())
    try:
        _validator(_json(schema, MAX_SCHEMA_CHARS, "its schema"))
    except _CanNotBeChecked as error:
        return str(error)
    except _FOREIGN as error:
        return _why(error)
    finally:
        _BUDGET.reset(token)
    return ""


# --- the validator ------------------------------------------------------------------------------------------------------


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name in ("date", "date-time", "email", "uri"):
        checker.checks(name)(lambda value, name=name: not isinstance(value, str) or has_format(value, name))
    return checker


@lru_cache(maxsize=128)
def _validator(schema_text: str) -> Any:
    """The bounded validator of a schema, which was itself checked first. Raises `_CanNotBeChecked` in words."""
    schema = json.loads(schema_text)
    if not isinstance(schema, Mapping | bool):
        raise _CanNotBeChecked("its schema is no JSON Schema")
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    base = validator_for({"$schema": named} if isinstance(named, str) else True, default=Draft202012Validator)
    for error in _bounded(base)(base.META_SCHEMA).iter_errors(schema):  # the library's own registry has all of these
        place = ".".join(_cut(str(part)) for part in error.absolute_path)
        raise _CanNotBeChecked(f"its schema is not valid{f' at {place}' if place else ''}")
    _check_patterns(schema)
    _check_references(schema)
    return _bounded(base)(schema, registry=Registry(), format_checker=_formats())


@lru_cache(maxsize=8)
def _bounded(base: Any) -> Any:
    """A draft's validator with each keyword counted, and those replaced that cost more than they should or show the value."""
    own: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "required": _required,
        "uniqueItems": _unique_items,
    }
    counted = {name: _counted(own.get(name, keyword)) for name, keyword in base.VALIDATORS.items()}
    return extend(base, counted)  # type: ignore[no-untyped-call]


def _counted(keyword: Keyword) -> Keyword:
    def counted(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _spend(1 + (len(wanted) if isinstance(wanted, list | dict) else 0))
        yield from keyword(validator, wanted, instance, schema) or ()

    return counted


def _spend(steps: int) -> None:
    budget = _BUDGET.get()
    budget.steps -= steps
    if budget.steps < 0:
        raise _CanNotBeChecked("it takes too many steps")


def _search(pattern: str, text: str) -> bool:
    budget = _BUDGET.get()
    if budget.seconds <= 0:
        raise _CanNotBeChecked("its patterns can't be matched in time")
    begun = perf_counter()
    try:
        return _compiled(pattern).search(text, timeout=budget.seconds) is not None
    except (TimeoutError, MemoryError) as error:
        raise _CanNotBeChecked("its patterns can't be matched in time") from error
    finally:
        budget.seconds -= perf_counter() - begun


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _CanNotBeChecked("a pattern in its schema is too long")
    if _NOT_ECMA.search(pattern):
        raise _CanNotBeChecked("a pattern in its schema is of a kind that JSON Schema does not have")
    try:
        return regex.compile(pattern, regex.VERSION0)
    except (regex.error, OverflowError, RecursionError) as error:
        raise _CanNotBeChecked("a pattern in its schema is not valid") from error


def _check_patterns(schema: Json) -> None:
    """Every pattern compiles; and the two keywords that the library would match with an unbounded engine don't meet."""
    keys: set[str] = set()
    for node in _nodes(schema):
        keys.update(node)
        if isinstance(node.get("pattern"), str):
            _compiled(node["pattern"])
        if isinstance(node.get("patternProperties"), Mapping):
            for pattern in node["patternProperties"]:
                _compiled(pattern)
    if {"patternProperties", "unevaluatedProperties"} <= keys:
        raise _CanNotBeChecked(
            "its schema uses patternProperties with unevaluatedProperties, which Deskhand does not read together"
        )


def _check_references(schema: Json) -> None:
    """Every reference leads somewhere inside, and none leads back to itself before the value is gone into by a step."""
    deepest: dict[int, int] = {}  # node → how many schemas apply to one and the same value below it

    def follow(node: Json, under: tuple[int, ...]) -> int:
        if not isinstance(node, Mapping):
            return 0
        if id(node) in under:
            raise _CanNotBeChecked("its schema refers to itself without an end")
        if id(node) not in deepest:
            below = (
                [follow(inner, (*under, id(node))) for inner in _in_place(node, schema)]
                if len(under) < MAX_DEPTH
                else [MAX_DEPTH]
            )
            deepest[id(node)] = 1 + max(below, default=0)
        if deepest[id(node)] > MAX_DEPTH:
            raise _CanNotBeChecked("the references in its schema lead on too far")
        return deepest[id(node)]

    if any("$id" in node for node in _schemas(schema) if node is not schema):
        return  # a document inside the document, with places of its own: told when something is checked
    for node in _schemas(schema):
        follow(node, ())


def _in_place(node: Mapping[str, Json], whole: Json) -> Iterator[Json]:
    """The schemas that apply to the very value that `node` applies to."""
    reference = node.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        yield _pointed_at(whole, reference)
    for key in _ONE_IN_PLACE:
        yield node.get(key)
    for key in _LISTS_IN_PLACE:
        yield from _members(node.get(key))


def _pointed_at(whole: Json, reference: str) -> Json:
    found = whole
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, Mapping) and name in found:
            found = found[name]
        else:
            raise _CanNotBeChecked("its schema refers to something that it does not hold")
    return found


def _schemas(schema: Json) -> Iterator[Mapping[str, Json]]:
    """Every schema in a schema; what stands under `enum`, `const`, `default` and `examples` is data."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            for key, value in node.items():
                waiting.extend(
                    value.values() if key in _NAMED and isinstance(value, Mapping) else [] if key in _DATA else [value]
                )
        elif isinstance(node, list):
            waiting.extend(node)


def _nodes(schema: Json) -> Iterator[Mapping[str, Json]]:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if validator.is_type(instance, "string") and not _search(pattern, instance):
        yield ValidationError("")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in patterns.items():
        _spend(len(instance))
        for name, value in instance.items():
            if _search(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    _spend(len(instance) * (1 + len(patterns)))
    for name, value in instance.items():
        if name in known or any(_search(pattern, name) for pattern in patterns):
            continue
        if wanted is False:
            yield ValidationError("", path=(name,))
        elif wanted is not True:
            yield from validator.descend(value, wanted, path=name)


def _required(validator: Any, required: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if validator.is_type(instance, "object"):
        for name in required:
            if name not in instance:
                yield ValidationError("", path=(name,))


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if wanted and validator.is_type(instance, "array") and len({_same(item) for item in instance}) < len(instance):
        yield ValidationError("")


def _same(value: Json) -> str:
    """Equal for values that JSON Schema calls equal: 1 and 1.0, but not 1 and true."""
    return json.dumps(value, sort_keys=True) if not isinstance(value, float) else _number(value)


# --- words --------------------------------------------------------------------------------------------------------------


def _found(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    seen: set[Problem] = set()
    for error in errors:
        problem = Problem(tuple(error.absolute_path), _words(error))
        if problem not in seen:
            seen.add(problem)
            yield problem
        if len(seen) == MAX_PROBLEMS:
            return


def _words(error: ValidationError) -> str:
    keyword, wanted = str(error.validator), cast(Any, error.validator_value)
    match keyword:
        case "type":
            return f"must be {_kinds(wanted)}"
        case "required":
            return "is missing"
        case "additionalProperties" | "unevaluatedProperties":
            return "is not a known field"
        case "enum":
            return f"must be one of: {', '.join(_shown(one) for one in wanted[:10])}{', …' if len(wanted) > 10 else ''}"
        case "anyOf" | "oneOf" if error.context and all(inner.validator == "type" and not inner.path for inner in error.context):
            return f"must be {' or '.join(_kinds(inner.validator_value) for inner in error.context)}"
        case "anyOf":
            return f"fits none of the {len(wanted)} shapes that it may have"
        case "oneOf":
            return f"must fit exactly one of the {len(wanted)} shapes that it may have"
        case "None":
            return "is not allowed"
        case _:
            return _LIMITS.get(keyword, f"breaks the rule {_cut(keyword)!r}").format(_shown(wanted))


def _kinds(wanted: Json) -> str:
    names = wanted if isinstance(wanted, list) else [wanted]
    return " or ".join(_TYPES.get(name, _cut(str(name))) if isinstance(name, str) else "something else" for name in names)


def _shown(value: Json) -> str:
    """A part of the schema, on one line."""
    return _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _cut(text: str) -> str:
    line = "".join(c if c.isprintable() else "·" for c in text)
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _why(error: Exception) -> str:
    match error:
        case Unresolvable():
            return "its schema refers to something outside itself"
        case RecursionError():
            return "its schema refers to itself without an end"
        case _:
            return "its schema is not valid"


# --- bounds -------------------------------------------------------------------------------------------------------------


def _json(value: Json, most: int, what: str) -> str:
    """The value as JSON text, which proves that it is a tree of a bounded size."""
    if _too_deep(value):
        raise _CanNotBeChecked(f"{what} is nested more than {MAX_DEPTH} deep")
    try:
        text = json.dumps(value, allow_nan=False, default=_listed)
    except (ValueError, TypeError, RecursionError) as error:
        raise _CanNotBeChecked(f"{what} holds something that is no JSON value") from error
    if len(text) > most:
        raise _CanNotBeChecked(f"{what} is too long ({len(text):,} characters of at most {most:,})")
    return text


def _listed(value: object) -> object:
    """Frozen data is JSON too."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _plain(value: Json) -> Json:
    """Lists and dicts alone, which is what the validator calls arrays and objects."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for one in level for item in _members(one) if isinstance(item, Mapping | list | tuple)]
        if not level:
            return False
    return True


def _members(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
