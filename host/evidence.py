"""What a draft may rest on: results of successful calls, attached resources, and apart from them what only the customer or an
untrusted server said (spec H25).  Refuses to know what a draft is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from host.amounts import Amount, amounts_in_data, amounts_in_plain, plain
from host.config import GroundingRule, ServerConfig
from host.dates import Bound, Day, bounds_in_data, find_terms
from host.grounding import facts_from_result, facts_from_ticket
from host.types import Attached, Json, OutcomeKind, Ticket, ToolCallRecord


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything one kind of source holds. `text` is folded (`amounts.plain`, lower case), data as "key: value" lines."""

    amounts: frozenset[Amount] = frozenset()
    days: frozenset[Day] = frozenset()
    bounds: frozenset[Bound] = frozenset()
    shares: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    text: str = ""

    def __or__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.amounts | other.amounts,
            self.days | other.days,
            self.bounds | other.bounds,
            self.shares | other.shares,
            self.numbers | other.numbers,
            f"{self.text}\n{other.text}",
        )

    def holds(self, value: str) -> bool:
        """Whether an identifier stands in it as a whole word, in any letter case."""
        return re.search(rf"(?<![\w-]){re.escape(value.lower())}(?![\w-])", self.text) is not None


@dataclass(frozen=True, slots=True)
class Sources:
    """`facts` support a claim; `customer` supports only what is told as the customer's words; `hearsay` is by server."""

    facts: Evidence
    customer: Evidence
    hearsay: Mapping[str, Evidence] = field(default_factory=dict)
    #: Successful calls whose result counts, and those of untrusted servers that the record does not confirm.
    calls: tuple[ToolCallRecord, ...] = ()
    #: Identifiers of ticket and counted results, as (parameter, value).
    grounded: frozenset[tuple[str, str]] = frozenset()
    doubtful: tuple[ToolCallRecord, ...] = ()


def succeeded(call: ToolCallRecord) -> bool:
    """Only a result supports anything; an error stays one whatever its data says (spec H12)."""
    return call.ok and call.outcome is OutcomeKind.RESULT


def server_of(call: ToolCallRecord) -> str:
    return call.server or call.name.partition(".")[0]


def lines(data: Json, path: str = "") -> Iterator[str]:
    """Data as "key: value" lines, so that words and numbers in it can be searched; null, false and empty say nothing."""
    match data:
        case Mapping():
            for name, item in data.items():
                yield from lines(item, f"{path} {name}".strip().replace("_", " "))
        case list() | tuple():
            for item in data:
                yield from lines(item, path)
        case None | False | "":
            return
        case _:
            yield f"{path}: {data}"


def _lengths(data: Json) -> Iterator[int]:
    match data:
        case Mapping():
            for item in data.values():
                yield from _lengths(item)
        case list() | tuple():
            yield len(data)
            for item in data:
                yield from _lengths(item)
        case _:
            return


def from_text(text: str, currency: str) -> Evidence:
    folded = plain(text).lower()
    terms = find_terms(folded)
    return Evidence(
        amounts=amounts_in_plain(folded, currency),
        days=frozenset(t.day for t in terms if t.day),
        bounds=frozenset(b for t in terms for b in t.bounds),
        shares=frozenset(t.share for t in terms if t.share) | frozenset(re.findall(r"percent\w*\"?: \"?(\d+)", folded)),
        numbers=frozenset(re.findall(r"\d+(?:[.,]\d+)?", folded)),
        text=folded,
    )


def from_result(text: str, data: Json, currency: str) -> Evidence:
    """A result's text and data. Where the text is the data again, as servers send it, it is read once, as data."""
    if data is None:
        data = _as_json(text)
    if data is None:
        return from_text(text, currency)
    listed = from_text("\n".join(lines(data)), currency)
    found = Evidence(
        amounts_in_data(data, currency),
        listed.days,
        listed.bounds | bounds_in_data(data),
        listed.shares,
        listed.numbers | frozenset(str(n) for n in _lengths(data)),
        listed.text,
    )
    return found if not text or _as_json(text) is not None else found | from_text(text, currency)


def _as_json(text: str) -> Json:
    try:
        read = json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict | list) else None


def of_call(call: ToolCallRecord, servers: Mapping[str, ServerConfig]) -> Evidence:
    server = servers.get(server_of(call))
    return from_result(call.text, call.data, server.currency if server else "")


def _joined(parts: Iterable[Evidence]) -> Evidence:
    whole = Evidence()
    for part in parts:
        whole = whole | part
    return whole


def gather(
    ticket: Ticket,
    calls: Sequence[ToolCallRecord],
    attached: Sequence[Attached],
    servers: Mapping[str, ServerConfig],
    grounding: Mapping[str, GroundingRule],
) -> Sources:
    """Sort what is known by who said it. An untrusted result counts when a system of record's result holds the identifier it
    was asked about (the parcel is the order's own).
    """
    good = [call for call in calls if succeeded(call) and server_of(call) in servers]
    record = _joined(of_call(c, servers) for c in good if _is(servers, c, "record"))
    sure = [c for c in good if _is(servers, c, "record") or _is(servers, c, "trusted") or _confirmed(c, record)]
    doubtful = [c for c in good if c not in sure]
    resources = (from_text(a.text, servers[a.server].currency if a.server in servers else "") for a in attached)
    facts = [*facts_from_ticket(ticket, grounding), *(f for c in sure for f in facts_from_result(c, True, grounding))]
    return Sources(
        facts=_joined([*(of_call(c, servers) for c in sure), *resources]),
        customer=from_text(f"{ticket.subject}\n{ticket.body}", ""),
        hearsay={
            name: _joined(of_call(c, servers) for c in doubtful if server_of(c) == name) for name in map(server_of, doubtful)
        },
        calls=tuple(sure),
        grounded=frozenset((fact.param, fact.value) for fact in facts),
        doubtful=tuple(doubtful),
    )


def _is(servers: Mapping[str, ServerConfig], call: ToolCallRecord, what: str) -> bool:
    return bool(getattr(servers[server_of(call)], what))


def _confirmed(call: ToolCallRecord, record: Evidence) -> bool:
    values = [v for v in call.arguments.values() if isinstance(v, str) and v]
    return bool(values) and all(record.holds(v) for v in values)
