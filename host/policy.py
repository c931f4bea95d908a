"""May this call run: allow, ask or deny, by the operator's rules (spec H8).

Pure: a call, where its arguments came from and what already ran go in, a verdict comes out.  Refuses to know who answers,
what a card looks like, and whether the sender is verified.  Everything doubtful is decided for the stricter side.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final, Literal, assert_never

from host.config import Decision, PolicyRule
from host.errors import ConfigError
from host.prompt import REPLY
from host.types import Fact, Json, Tool

STRICTNESS: Final[Mapping[Decision, int]] = {"allow": 0, "ask": 1, "deny": 2}
Operator = Literal[">", ">=", "<", "<=", "==", "!=", "in"]

_CONDITION = re.compile(r"\s*(>=|<=|==|!=|>|<|in(?=\s))\s*(.*?)\s*", re.DOTALL)
# Three decimals after a nonzero whole part ("2.614") may be a thousand: such a text is no number.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.(?:[0-9]{1,2}|[0-9]{4,12}))?|-?0\.[0-9]{1,12}")
_WORDS = re.compile(
    r"[^\W\d][\w@/.:#-]*(?: [\w@/.:#-]+)*"
)  # starts with a letter: "150 EUR" and "1e3" are neither number nor word


class BadRule(ConfigError):
    """A rule that could not do what it says; `number` counts from 1 in the file's order."""

    def __init__(self, number: int, words: str) -> None:
        super().__init__(words)
        self.number = number


@dataclass(frozen=True, slots=True)
class History:
    """What already ran, by full tool name: calls in this ticket, and calls of all tickets today.

    `ticket["calls"]` counts every call, refused and failed ones too; without it, it is the sum of the others.
    `today["amount"]` is the money that today's effects moved, in the record's currency; leave it out when it is not known.
    """

    ticket: Mapping[str, int] = field(default_factory=dict)
    today: Mapping[str, int | float | Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`rule_number` counts from 1 in the file's order; None when no rule matched. `why` is one sentence in words."""

    decision: Decision
    rule_number: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """One rule beside one call. `why` says in words what it matched by, or why it did not; `unclear` are the fields that could
    not be judged and count because the rule is not an allow."""

    number: int
    rule: PolicyRule
    matched: bool
    why: str
    unclear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Condition:
    operator: Operator
    wanted: tuple[str | Decimal, ...]


def check(
    rules: Sequence[PolicyRule],
    tools: Collection[str],
    parameters: Mapping[str, Collection[str] | None],
    grounded: Collection[str],
    records: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Raise `BadRule` for a rule that could not do what it says (spec H8).

    `tools` are all full names, those of `desk` included; `parameters` each tool's parameters, None where its server can't be
    asked just now, so that any name may be one; `grounded` the identifiers that have a record (spec H9); `records` the fields of
    those records, by identifier, as far as they are known (`record_fields`), and not read while a server can't be asked.
    """
    known_records = {} if None in parameters.values() else records or {}
    for number, rule in enumerate(rules, start=1):
        matching = [tool for tool in tools if fnmatchcase(tool, rule.tool)]
        if not matching:
            raise _refuse(number, rule, f'no tool matches "{rule.tool}"; there are {_listed(tools)}')
        if matching == [REPLY] and rule.decision != "allow":
            raise _refuse(number, rule, f"{REPLY} is a draft that people sign off; no rule is asked about it")
        unasked = any(parameters.get(tool, ()) is None for tool in matching)
        known = None if unasked else {name for tool in matching for name in parameters.get(tool) or ()}
        for name, text in rule.when.items():
            try:
                _check_field(name, tools, known, grounded, known_records)
                _read(text)
            except ConfigError as error:
                raise _refuse(number, rule, str(error)) from None


def record_fields(tools: Iterable[Tool], grounded: Collection[str]) -> Mapping[str, frozenset[str]]:
    """The fields that a record around an identifier can have, by the output schemas that name it. An identifier that no schema
    names is left out: nothing is known of its record."""
    fields: dict[str, frozenset[str]] = {}
    for tool in tools:
        named = frozenset(_properties(tool.output_schema or {}))
        for param in named & frozenset(grounded):
            fields[param] = fields.get(param, frozenset()) | named
    return fields


def _properties(schema: Json, depth: int = 32) -> Iterator[str]:
    if depth == 0:
        return
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, Mapping) else ()
        for value in schema.values():
            yield from _properties(value, depth - 1)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _properties(value, depth - 1)


def decide(
    tool: Tool, arguments: Mapping[str, Json], provenance: Mapping[str, Fact], history: History, rules: Sequence[PolicyRule]
) -> Verdict:
    """The strictest matching rule; ask when none matches (spec H8).

    A condition whose field is missing or can't be compared counts as true in a deny or ask rule and as false in an allow rule.
    So does, in an allow rule, what only an untrusted server's record says. A tool of class effect, or one whose server says that
    it is not read-only, is allowed by a rule that names it, never by a pattern.
    """
    return verdict(tool, judge(tool, arguments, provenance, history, rules))


def judge(
    tool: Tool, arguments: Mapping[str, Json], provenance: Mapping[str, Fact], history: History, rules: Sequence[PolicyRule]
) -> tuple[Judged, ...]:
    """Every rule beside the call, in the file's order: what `verdict` decides by, and what `deskhand policy check` prints."""
    return tuple(_judge(n, rule, tool, arguments, provenance, history) for n, rule in enumerate(rules, start=1))


def verdict(tool: Tool, judged: Iterable[Judged]) -> Verdict:
    """The strictest of the rules that matched."""
    matched = [one for one in judged if one.matched]
    if not matched:
        return Verdict("ask", None, f"no rule of the policy speaks of {tool.name}")
    best = max(matched, key=lambda one: (STRICTNESS[one.rule.decision], -one.number))
    why = _why(best.number, best.rule, best.unclear)
    named = any(one.rule.decision == "allow" and one.rule.tool == tool.name for one in matched)
    if best.rule.decision == "allow" and not named and (reason := _not_by_pattern(tool)):
        return Verdict("ask", best.number, f"{why}; but {reason}, and only a rule that names it may allow it")
    return Verdict(best.rule.decision, best.number, why)


def amount_of(field: str, arguments: Mapping[str, Json], provenance: Mapping[str, Fact]) -> Decimal | None:
    """The money that a call moves, by `field` ("quote_id.amount", or a parameter's name); None when it can't be told.

    A dotted field reads the record that the argument came from and nothing that the model wrote (spec H10). A text that could
    be read in two ways, an amount below zero and a field of the history are no amounts.
    """
    name, dot, _ = field.partition(".")
    if name in ("ticket", "today") or (dot and name not in provenance):
        return None
    number = _number(_value(field, arguments, provenance, History()))
    return number if number is not None and number >= 0 else None


def _not_by_pattern(tool: Tool) -> str:
    if tool.effect == "effect":
        return f"{tool.name} is of class effect"
    if tool.read_only_hint is False:  # a server's hint only makes it stricter; True or none loosens nothing
        return f"its server says that {tool.name} changes something"
    return ""


def _judge(
    number: int,
    rule: PolicyRule,
    tool: Tool,
    arguments: Mapping[str, Json],
    provenance: Mapping[str, Fact],
    history: History,
) -> Judged:
    if not fnmatchcase(tool.name, rule.tool):
        return Judged(number, rule, False, f"it speaks of {rule.tool}")
    unclear = []
    for name, text in rule.when.items():
        value = _value(name, arguments, provenance, history)
        holds = _holds(text, value)
        if holds is not False and rule.decision == "allow" and _hearsay(name, provenance):
            return Judged(number, rule, False, f"{name} is only what an untrusted server says")
        if holds is False:
            return Judged(number, rule, False, f"{name} is {_shown(value)}, and the rule needs {text.strip()}")
        if holds is None and rule.decision == "allow":
            return Judged(number, rule, False, f"{name} can't be judged: {_shown(value)}")
        if holds is None:
            unclear.append(name)
    return Judged(number, rule, True, _content(rule), tuple(unclear))


def _hearsay(name: str, provenance: Mapping[str, Fact]) -> bool:
    """Whether a field stands in the record of a server that nobody trusts: it may not loosen anything."""
    first, dot, _ = name.partition(".")
    return bool(dot) and first in provenance and not provenance[first].trusted


def _shown(value: Json) -> str:
    if value is None:
        return "missing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"


def _value(name: str, arguments: Mapping[str, Json], provenance: Mapping[str, Fact], history: History) -> Json:
    """The value of a condition's field; None when there is none."""
    first, _, rest = name.partition(".")
    match first:
        case "ticket" if rest == "calls":
            return history.ticket.get("calls", sum(history.ticket.values()))
        case "ticket" if rest:
            return history.ticket.get(rest, 0)
        case "today" if rest == "amount":
            return history.today.get(rest)
        case "today" if rest:
            return history.today.get(rest, 0)
    if not rest:
        return arguments.get(first)
    value: Json = provenance[first].record if first in provenance else None  # never an object that the model wrote
    for part in rest.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _holds(text: str, value: Json) -> bool | None:
    """Whether a condition is met; None when it can't be said."""
    try:
        condition = _read(text)
    except ConfigError:
        return None
    answers = [_compare(condition.operator, value, wanted) for wanted in condition.wanted]
    return True if True in answers else None if None in answers else False


def _compare(operator: Operator, value: Json, wanted: str | Decimal) -> bool | None:
    if isinstance(wanted, str):
        same = _same(_word(value), wanted)
        return None if same is None else same != (operator == "!=")
    number = _number(value)
    if number is None:
        return None
    match operator:
        case ">":
            return number > wanted
        case ">=":
            return number >= wanted
        case "<":
            return number < wanted
        case "<=":
            return number <= wanted
        case "==" | "in":
            return number == wanted
        case "!=":
            return number != wanted
        case _:
            assert_never(operator)


def _word(value: Json) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None


def _same(word: str | None, wanted: str) -> bool | None:
    """None where people would read one word and the program two ("Lost", "lost "): a spelling must not slip past a rule."""
    if word is None:
        return None
    return True if word == wanted else None if _folded(word) == _folded(wanted) else False


def _folded(word: str) -> str:
    visible = "".join(
        char for char in unicodedata.normalize("NFKC", word) if unicodedata.category(char) not in ("Cf", "Mn", "Cc")
    )
    return "".join(char for char in visible.casefold() if char.isalnum())


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return Decimal(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, int | Decimal):
        number = Decimal(value)
    elif isinstance(value, float):
        number = Decimal(repr(value))  # 0.1 as written, not its binary neighbour
    else:
        return None
    return number if number.is_finite() else None


def _read(text: str) -> _Condition:
    """ "> 150", "!= EUR", "in lost, damaged"; ConfigError for anything else."""
    found = _CONDITION.fullmatch(text)
    if not found or not found[2]:
        raise ConfigError(f'"{text}" is no condition: write an operator (> >= < <= == != in) and a value, such as "> 150"')
    operator: Operator = found[1]  # type: ignore[assignment]  # the pattern holds exactly these
    wanted = tuple(_wanted(part.strip()) for part in (found[2].split(",") if operator == "in" else [found[2]]))
    if operator in (">", ">=", "<", "<=") and not isinstance(wanted[0], Decimal):
        raise ConfigError(f'"{text}" compares with a word: {operator} needs a plain number, such as "{operator} 150"')
    return _Condition(operator, wanted)


def _wanted(text: str) -> str | Decimal:
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    if _WORDS.fullmatch(text):
        return text
    raise ConfigError(f'the value "{text}" can\'t be read: write a plain number (150 or 150.00) or a word without quotes')


def _check_field(
    name: str,
    tools: Collection[str],
    known: Collection[str] | None,
    grounded: Collection[str],
    records: Mapping[str, Collection[str]],
) -> None:
    first, _, rest = name.partition(".")
    if first in ("ticket", "today"):
        words = {"ticket": "calls", "today": "amount"}
        if rest != words[first] and rest not in tools:
            raise ConfigError(f'"{name}" names nothing: write {first}.{words[first]} or {first}. and a tool of {_listed(tools)}')
    elif known is not None and first not in known:
        raise ConfigError(f'"{name}": no tool that this rule matches has a parameter "{first}"; there are {_listed(known)}')
    elif "." in name and first not in grounded:
        raise ConfigError(f'"{name}": "{first}" is no identifier, so it has no record; identifiers are {_listed(grounded)}')
    elif not all(name.split(".")):
        raise ConfigError(f'"{name}" has an empty part')
    elif rest and first in records and rest.partition(".")[0] not in records[first]:
        raise ConfigError(f'"{name}": no result that gives a {first} has such a field; there are {_listed(records[first])}')


def _refuse(number: int, rule: PolicyRule, problem: str) -> BadRule:
    return BadRule(number, f"policy rule {number} ({_content(rule)}): {problem}")


def _content(rule: PolicyRule) -> str:
    when = " and ".join(f"{name} {text}" for name, text in rule.when.items())
    return f"{rule.decision} {rule.tool}" + (f" when {when}" if when else "")


def _why(number: int, rule: PolicyRule, unclear: tuple[str, ...]) -> str:
    text = f"rule {number} ({_content(rule)})" + (f": {rule.why}" if rule.why else "")
    return text + (f"; it counts because {' and '.join(unclear)} can't be judged" if unclear else "")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
