"""Which identifiers a call may hold, and where each was seen (spec H9, H10, M4).

Pure: a ticket and the results of its calls become facts; a call's identifiers must be among them.  The facts of one ticket are
kept in the order in which they came: the ticket's own, then each result's.  Refuses to know any server, policy or prompt.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.config import GroundingRule
from host.types import Fact, Json, OutcomeKind, Ticket, Tool, ToolCallRecord

Rules = Mapping[str, GroundingRule]
Path = tuple[str | int, ...]

#: Belongs to the ticket's record alone (spec H9): no model may write it.
RECORD_ONLY: Final = "customer_id"
OWN: Final = "desk"
MOST_CHOICES: Final = 40
DEEPEST: Final = 32
LONGEST: Final = 400  # characters: a longer argument is no identifier, and a longer line needn't be read to its end

_TEXT_SOURCES: Final = ("record", "ticket", "quoted")


@dataclass(frozen=True, slots=True)
class Grounded:
    """`arguments` with identifiers in normal form; `provenance` by parameter, or by path ("lines.0.sku") inside objects."""

    arguments: Mapping[str, Json]
    provenance: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """The first identifier that nothing supports, as the model wrote it, and in words what to do instead."""

    param: str
    value: Json
    why: str


# -- text -----------------------------------------------------------------------------------------------------------------

_SPACE = re.compile(r"[^\S\n]+")
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_LINE_ENDS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_LOOKALIKES = str.maketrans({"О": "O", "о": "o", "Ο": "O", "ο": "o", "−": "-", "⁃": "-", "﹣": "-"})  # noqa: RUF001
# Whole phrases in one character, up to 18 letters long: text of nothing else would grow as many times when it is made plain.
_PHRASES = re.compile("[\u321d\u321e\u3300-\u3357\ufdf0-\ufdfb\U0001f200]")
_OH_FOR_ZERO = str.maketrans("Oo", "00")
_WRAPPING = " \n\"'`.,;:!?()[]{}<>#*"


def clean(text: str) -> str:
    """Text as it is searched: compatibility forms, dashes, digits and spaces made plain, invisible characters taken out."""
    lines = _LINE_ENDS.sub("\n", text)
    seen = "".join(c for c in lines if c == "\n" or c == "\t" or unicodedata.category(c) not in ("Cf", "Cc"))
    folded = unicodedata.normalize("NFKC", _PHRASES.sub(" ", _INVISIBLE.sub("", seen))).translate(_LOOKALIKES)
    return _SPACE.sub(" ", "".join(map(_plain, folded)))


def says_nothing(text: str) -> bool:
    """Whether nothing of a text can be seen: spaces, controls, marks without a letter, and a blank that counts as a symbol."""
    return not any(unicodedata.category(char)[0] in "LNPS" and char != "\u2800" for char in clean(text))


def _plain(char: str) -> str:
    if char.isascii():
        return char
    match unicodedata.category(char):
        case "Pd":
            return "-"
        case "Nd":  # \d matches the digits of every script
            return str(unicodedata.decimal(char))
        case _:
            return char


# Older mail below an answer. Each opens a quotation that lasts to the end: in doubt a value counts as quoted.
_OPENS_QUOTE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # "On … wrote:", which mail programs wrap over up to three lines
        r"\s*(?:On|Am|Op|Le|El|Il|Den)\b[^\n]*(?:\n[^\n]*){0,2}?\b(?:wrote|schrieb|schreef|a écrit|escribió|ha scritto|skrev)\b"
        r"[^\n]*(?:\n[^\n]*)??:\s*(?:\n|$)",
        r"[^\n]*<[^\s<>@]+@[^\s<>]+>[^\n]{0,40}:\s*(?:\n|$)",
        r"(?i)\s*-{2,}\s*(?:original message|forwarded message|urspr(?:ü|ue)ngliche nachricht|weitergeleitete nachricht"
        r"|oorspronkelijk bericht|doorgestuurd bericht|message d.origine|message transféré)\s*-*\s*(?:\n|$)",
        r"(?i)\s*(?:begin forwarded message|anfang der weitergeleiteten nachricht|begin doorgestuurd bericht"
        r"|début du message transféré)\s*:",
        r"\s*\*?(?:From|Von|Van|De)\*? ?:\*? ?\S[^\n]*\n(?:[^\n]*\n){0,2}?\s*\*?(?:Sent|Date|To|Subject|Gesendet|Datum|An|Betreff"
        r"|Verzonden|Aan|Onderwerp|Envoyé|À|Objet)\*? ?:",
    )
)


def split_quoted(body: str) -> tuple[str, str]:
    """A mail's own words and the older mail quoted in it, both cleaned."""
    lines = clean(body).split("\n")
    own: list[str] = []
    quoted: list[str] = []
    for number, line in enumerate(lines):
        if not line or line.isspace():
            own.append(line)
            continue
        here = "\n".join(line[:LONGEST] for line in lines[number : number + 4])
        if any(pattern.match(here) for pattern in _OPENS_QUOTE):
            quoted += lines[number:]
            break
        (quoted if line.lstrip().startswith(">") else own).append(line)
    return "\n".join(own), "\n".join(quoted)


@dataclass(frozen=True, slots=True)
class Mention:
    """An identifier found in a text, in normal form; `start` and `end` count in the cleaned text."""

    param: str
    value: str
    start: int
    end: int


def mentions(text: str, rules: Rules) -> tuple[Mention, ...]:
    """Every identifier in a text, in order. What lies inside a longer identifier of another kind is part of that one."""
    cleaned = clean(text)
    found = [
        Mention(param, value, match.start(), match.end())
        for param, rule in rules.items()
        for match in re.finditer(rule.find, cleaned)
        if (value := _fit(_group(match), rule)) is not None
    ]
    return _outermost(found)


def _outermost(found: Iterable[Mention]) -> tuple[Mention, ...]:
    reach: dict[str, Mention] = {}  # by parameter, what ends furthest so far: all of them start no later than the next one
    kept = []
    for one in sorted(found, key=lambda one: (one.start, -one.end, one.param)):
        around = (other for param, other in reach.items() if param != one.param and other.end >= one.end)
        if not any(other.start < one.start or other.end > one.end for other in around):
            kept.append(one)
        if one.param not in reach or one.end > reach[one.param].end:
            reach[one.param] = one
    return tuple(kept)


def _group(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group is not None), match[0])


def _fit(raw: str, rule: GroundingRule) -> str | None:
    """The normal form of what `find` found: as typed where that fits, else without spaces, in one case, with 0 for O."""
    for text in (raw, re.sub(r"[\s.-]", "", raw)):
        for cased in (text, text.upper(), text.lower()):
            for form in (cased, cased.translate(_OH_FOR_ZERO)):
                value = rule.normal.replace("{}", form)
                if re.fullmatch(rule.exact, value):
                    return value
    return None


def normal_form(value: Json, rule: GroundingRule) -> str | None:
    """An identifier as written ("o7144", "#7144", 7144) in its normal form; None when it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**LONGEST:
        value = str(value)
    if not isinstance(value, str) or len(value) > LONGEST:
        return None
    text = clean(value).strip(_WRAPPING)
    for cased in (text, text.upper(), text.lower()):
        if re.fullmatch(rule.exact, cased):
            return cased
    match = re.fullmatch(rule.find, text)
    return _fit(_group(match) if match else text, rule)


# -- facts ----------------------------------------------------------------------------------------------------------------


def facts_from_ticket(ticket: Ticket, rules: Rules) -> tuple[Fact, ...]:
    """The identifiers of subject and body in order, each once; those only in older mail are "quoted" and come last."""
    own, quoted = split_quoted(ticket.body)
    found: dict[tuple[str, str], Fact] = {}
    for source, text in (("ticket", ticket.subject), ("ticket", own), ("quoted", quoted)):
        for one in mentions(text, rules):
            found.setdefault((one.param, one.value), Fact(one.param, one.value, source))
    return tuple(found.values())


def facts_from_result(call: ToolCallRecord, trusted: bool, rules: Rules) -> tuple[Fact, ...]:
    """The identifiers of a successful result in document order, each with the record around it (spec H9).

    Text without structured content is read as JSON where it is JSON. Inside longer texts only a trusted server is searched.
    What the call's own free text named ("nothing found for KG-1234") is an echo of the model, unless it is found under its name.
    """
    if not call.ok or call.outcome is not OutcomeKind.RESULT or call.name.startswith("desk."):
        return ()
    data = call.data if call.data is not None else _json_or_text(call.text)
    echoed = {
        (one.param, one.value)
        for key, node, _ in _walk(call.arguments, "", {}, DEEPEST)
        if isinstance(node, str) and key not in rules
        for one in mentions(node, rules)
    }
    return tuple(
        Fact(param, value, call.call_id, call.server, trusted, record, call.process)
        for key, node, record in _walk(data, "", {}, DEEPEST)
        for param, value in _held(key, node, trusted, rules)
        if key == param or (param, value) not in echoed
    )


def _json_or_text(text: str) -> Json:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return data if isinstance(data, dict | list) else text


def _walk(node: Json, key: str, record: Mapping[str, Json], depth: int) -> Iterator[tuple[str, Json, Mapping[str, Json]]]:
    """(key, scalar, record) of every scalar; a record knows the scalars of the objects around it that it lacks itself."""
    if depth == 0:
        return
    if isinstance(node, Mapping):
        around = {name: value for name, value in record.items() if not isinstance(value, Mapping | list)}
        inner = {**node, **{name: value for name, value in around.items() if name not in node}}
        for name, value in node.items():
            yield "", name, inner  # a value may be a key: {"KG-9034": 5}
            yield from _walk(value, name, inner, depth - 1)
    elif isinstance(node, list):
        for item in node:
            yield from _walk(item, key, record, depth - 1)
    else:
        yield key, node, record


def _held(key: str, node: Json, trusted: bool, rules: Rules) -> Iterator[tuple[str, str]]:
    """What one scalar grounds. Under the name of an identifier it is that one or nothing, whatever it looks like."""
    if key == RECORD_ONLY:
        return
    if key in rules:
        value = normal_form(node, rules[key])
        if value is not None:
            yield key, value
            return
    if not isinstance(node, str):
        return
    text = clean(node).strip()
    of_key = {key: rules[key]} if key in rules else rules
    whole = [(param, text) for param, rule in of_key.items() if re.fullmatch(rule.exact, text)]
    yield from whole
    if trusted and not whole:
        # A text that is a bare number alone ("1387" in a field "postcode") says nothing about what it counts.
        yield from {(one.param, one.value): None for one in mentions(text, of_key) if not text.isdigit()}


# -- use ------------------------------------------------------------------------------------------------------------------


def usable(facts: Iterable[Fact], param: str, tool: Tool) -> tuple[Fact, ...]:
    """The facts that may ground `param` of `tool`: older mail for reads only, an untrusted server's word for itself only."""
    return tuple(fact for fact in facts if fact.param == param and not _barred(fact, tool))


def _barred(fact: Fact, tool: Tool) -> str:
    """Why a fact can't ground an argument of `tool`; empty when it can."""
    if not fact.trusted and (not fact.server or fact.server != tool.server):
        return f"is known only from {fact.server or 'a server'}, which is not trusted for {tool.name}"
    if fact.source == "quoted" and tool.effect != "read":
        return "is known only from older mail quoted in the ticket: look it up first"
    return ""


def _ranked(facts: Iterable[Fact], param: str, tool: Tool) -> list[Fact]:
    """Usable facts, the newest result's first, then the ticket's record, its text, and older mail."""
    found = usable(facts, param, tool)
    age = {source: number for number, source in enumerate(dict.fromkeys(fact.source for fact in found))}

    def rank(fact: Fact) -> tuple[int, int]:
        if fact.source in _TEXT_SOURCES:
            return 1 + _TEXT_SOURCES.index(fact.source), 0
        return 0, -age[fact.source]

    return sorted(found, key=rank)


def ground(tool: Tool, arguments: Mapping[str, Json], facts: Sequence[Fact], rules: Rules) -> Grounded | Ungrounded:
    """Every identifier among the arguments, at any depth, in normal form and among the usable facts; else why not (spec H9).

    Free text may name what the ticket or a result holds, and nothing else: a server reads it all the same. (The desk's own is a
    draft, which `review` reads.)
    """
    values: dict[Path, tuple[str, str]] = {}
    for path, param, given in _spots(arguments, (), tool.schema, rules):
        if param == RECORD_ONLY:
            return Ungrounded(param, given, f"{param} comes from the ticket's own record and is never written: leave it out")
        if param not in rules:
            return Ungrounded(param, given, f"the arguments are nested more than {DEEPEST} deep: write them flat")
        normal = normal_form(given, rules[param])
        known = _ranked(facts, param, tool)
        if normal is None or normal not in {fact.value for fact in known}:
            return Ungrounded(param, given, _advice(param, given, normal, known, facts, tool))
        values[path] = (param, normal)
    for name, text in _texts(arguments, "", tool.schema, rules) if tool.server != OWN else ():
        for one in mentions(text, rules):
            if why := _unheard(one, facts, tool):
                return Ungrounded(name, text, f"{_cut(name)} names {one.value}, which {why}: leave it out, or look it up first")
    said = {param: value for path, (param, value) in values.items() if len(path) == 1}
    provenance = {
        ".".join(map(str, path)): _best(value, _ranked(facts, param, tool), said, rules)
        for path, (param, value) in values.items()
    }
    normals = {path: value for path, (_, value) in values.items()}
    return Grounded({key: _rebuilt(value, (key,), normals) for key, value in arguments.items()}, provenance)


def _texts(node: Json, name: str, schema: Json, rules: Rules) -> Iterator[tuple[str, str]]:
    """(name, text) of every text that is no identifier's own, and of the keys that the schema doesn't know."""
    match node:
        case str():
            yield name, node
        case Mapping():
            for key, value in node.items():
                below = _below(schema, "properties", key)
                if below is None:
                    yield name or key, key
                if key not in rules:
                    yield from _texts(value, key, below, rules)
        case list():
            for item in node:
                yield from _texts(item, name, _below(schema, "items"), rules)
        case _:
            return


def _unheard(named: Mention, facts: Iterable[Fact], tool: Tool) -> str:
    """Why a text for `tool` may not name an identifier; empty when it may. Older mail is the ticket's too."""
    same = [fact for fact in facts if (fact.param, fact.value) == (named.param, named.value)]
    if not same:
        return "neither the ticket nor a result holds"
    barred = [_barred(fact, tool) for fact in same if fact.source != "quoted"]
    return barred[0] if len(barred) == len(same) and all(barred) else ""


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"


def _best(value: str, ranked: Iterable[Fact], said: Mapping[str, str], rules: Rules) -> Fact:
    """A trusted record before text, and text before an untrusted one; of records, one that agrees with the other arguments.

    (The same article may be a line of two orders: its record is that of the order the call names.)
    """

    def rank(fact: Fact) -> tuple[int, int]:
        text = fact.source in ("ticket", "quoted")
        differs = sum(
            name in fact.record and name in rules and normal_form(fact.record[name], rules[name]) != other
            for name, other in said.items()
        )
        return (2 if not fact.trusted else 1 if text else 0), differs

    return min((fact for fact in ranked if fact.value == value), key=rank)


def _advice(param: str, given: Json, normal: str | None, known: Sequence[Fact], facts: Iterable[Fact], tool: Tool) -> str:
    barred = next((why for fact in facts if (fact.param, fact.value) == (param, normal) and (why := _barred(fact, tool))), "")
    shown = normal or _shown(given)
    if barred:
        return f"{param} {shown} {barred}"
    if not known:
        return f"no {param} is known in this ticket: use a tool that finds it, or ask the customer"
    choices = list(dict.fromkeys(fact.value for fact in known))
    more = f" and {len(choices) - 10} more" if len(choices) > 10 else ""
    return f"{param} {shown} is not known in this ticket; known: {', '.join(choices[:10])}{more}"


def _shown(given: Json) -> str:
    if isinstance(given, str | float) or (isinstance(given, int) and abs(given) < 10**LONGEST):
        return json.dumps(given)[:60]
    return f"of type {type(given).__name__}"


def _spots(node: Json, path: Path, schema: Json, rules: Rules) -> Iterator[tuple[Path, str, Json]]:
    """(path, parameter, value) of each identifier; the parameter is empty where it is too deep to look."""
    if len(path) > DEEPEST:
        yield path, "", node
    elif isinstance(node, Mapping):
        for key, value in node.items():
            below = _below(schema, "properties", key)
            if key == RECORD_ONLY:
                yield (*path, key), key, value
            elif key not in rules:
                yield from _spots(value, (*path, key), below, rules)
            elif isinstance(value, list) and _below(below, "type") == "array":
                yield from (((*path, key, number), key, item) for number, item in enumerate(value))
            elif value is not None:  # null, where the schema allows it, names nothing
                yield (*path, key), key, value
    elif isinstance(node, list):
        for number, item in enumerate(node):
            yield from _spots(item, (*path, number), _below(schema, "items"), rules)


def _below(schema: Json, *keys: str) -> Json:
    for key in keys:
        schema = schema.get(key) if isinstance(schema, Mapping) else None
    return schema


def _rebuilt(node: Json, path: Path, values: Mapping[Path, str]) -> Json:
    if path in values:
        return values[path]
    if isinstance(node, Mapping):
        return {key: _rebuilt(value, (*path, key), values) for key, value in node.items()}
    if isinstance(node, list):
        return [_rebuilt(item, (*path, number), values) for number, item in enumerate(node)]
    return node


# -- what a grammar may offer ---------------------------------------------------------------------------------------------


def narrow(tool: Tool, facts: Sequence[Fact], rules: Rules) -> Mapping[str, Json] | None:
    """The tool's schema with the groundable values of each identifier as its `enum`; None leaves the tool out (spec M4)."""
    choices = {param: list(dict.fromkeys(fact.value for fact in _ranked(facts, param, tool)))[:MOST_CHOICES] for param in rules}
    return _narrowed(tool.schema, choices, DEEPEST)


def _narrowed(schema: Mapping[str, Json], choices: Mapping[str, list[str]], depth: int) -> Mapping[str, Json] | None:
    """None where a required identifier has no value, or sits too deep to be looked at."""
    if depth == 0:
        return None
    result = dict(schema)
    items = schema.get("items")
    if isinstance(items, Mapping):
        result["items"] = _narrowed(items, choices, depth - 1)
        if result["items"] is None:
            return None
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        kept = {name: _narrowed_property(name, node, choices, depth - 1) for name, node in properties.items()}
        missing = {name for name, node in kept.items() if node is None}
        if missing & set(_required(schema)):
            return None
        result["properties"] = {name: node for name, node in kept.items() if node is not None}
    return result


def _required(schema: Mapping[str, Json]) -> Collection[str]:
    required = schema.get("required")
    return required if isinstance(required, list) else ()


def _narrowed_property(name: str, node: Json, choices: Mapping[str, list[str]], depth: int) -> Json:
    if name == RECORD_ONLY:
        return None
    if name not in choices:
        return _narrowed(node, choices, depth) if isinstance(node, Mapping) else node
    values = choices[name]
    offered = _below(node, "enum")
    if isinstance(offered, list):
        values = [value for value in values if value in offered]
    if not values:
        return None
    words = {key: node[key] for key in ("title", "description") if _below(node, key)}
    one = {"type": "string", "enum": values}
    return {**words, "type": "array", "items": one} if _below(node, "type") == "array" else {**words, **one}
