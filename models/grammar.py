"""`Request.offers` to one llguidance grammar (Lark with embedded JSON Schemas).  Pure text; knows no engine and no tool.

The grammar admits exactly one call, in the template's wrapper, of an offered tool, with arguments of its schema (spec M4).
One call a reply is the measured choice: each result is read before the next call is made.  Key order and separators are
those of `models.qwen`, without freedom in white space, so that most tokens outside the values are forced (spec M5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import GrammarError
from models.port import Offer
from models.qwen import CALL, CALL_END

TEXT_LIMIT = 1200
"""Characters a free text may have when its schema sets no limit: about 300 tokens, under the default `max_tokens`."""

# Lenient skips keywords the grammar can't express (`not`, `if`): the host's checkpoint validates the arguments again.
# Only the escapes that json.dumps writes itself, so that a recorded call is rendered with the tokens it was made of.
GUIDANCE = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,
    "json_allowed_escapes": '"\\nt',
}


def build(offers: Sequence[Offer]) -> str:
    """The grammar of one call of one of `offers`. Raises `GrammarError` naming the tool that can't be offered."""
    if not offers:
        raise GrammarError("no tool is offered: a grammar needs at least one")
    rules = [f'start: {CALL} "\\n" call "\\n" {CALL_END}', "call: " + " | ".join(f"c{i}" for i in range(len(offers)))]
    for index, offer in enumerate(offers):
        head = json.dumps('{"name": ' + json.dumps(offer.name) + ', "arguments": ')
        rules.append(f'c{index}: {head} a{index} "}}"')
        rules.append(f"a{index}: %json {json.dumps(arguments_schema(offer))}")
    return "\n".join(rules)


def arguments_schema(offer: Offer) -> dict[str, Any]:
    """The offer's schema, closed: no unnamed argument, every free text bounded, no identifier without a value."""
    if offer.schema.get("type", "object") != "object":
        raise GrammarError(f"{offer.name}: its arguments must be a JSON object, not {offer.schema['type']}")
    try:
        closed = _close({"properties": {}, **offer.schema, "type": "object"})
    except _NoValue as error:
        raise GrammarError(f"{offer.name}: nothing may be written for {error}; leave the tool out") from None
    return {**closed, "x-guidance": GUIDANCE}


class _NoValue(Exception):
    """A required value whose enum is empty; its text names the property."""


def _close(schema: Any, name: str = "a value") -> Any:
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("enum") == []:
        raise _NoValue(name)
    closed = dict(schema)
    if "properties" in closed:
        closed["properties"] = _properties(closed)
        closed["additionalProperties"] = False
    for key in ("$defs", "definitions"):
        if key in closed:
            closed[key] = {k: _close(v, k) for k, v in closed[key].items()}
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if key in closed:
            closed[key] = [_close(part, name) for part in closed[key]]
    if "items" in closed:
        closed["items"] = _close(closed["items"], name)
    if closed.get("type") == "string" and not closed.keys() & {"enum", "const", "maxLength", "pattern", "format"}:
        closed["maxLength"] = TEXT_LIMIT
    return closed


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    found = {}
    for name, value in schema["properties"].items():
        if isinstance(value, Mapping) and value.get("enum") == [] and name not in required:
            continue  # an optional identifier with nothing grounded: it can't be written at all
        found[name] = _close(value, name)
    return found
