"""Sentences that several cards share: what became of a call, where a value came from, what a record says, which server asks.

Everything is said in words; no meaning hangs on a colour or a sign alone. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from bot.cards.elements import Part, bullets, code, line, t, weight
from host.types import Json, Outcome, OutcomeKind, Question, RoleName, Ticket, ToolCallRecord

Mentions = Mapping[RoleName, tuple[str, ...]]


def outcome_line(outcome: Outcome | None) -> Part:
    """What became of the call after the decision (spec B2)."""
    if outcome is None:
        return line(t("Outcome: ", bold=True), t("the call is on its way."))
    return line(t("Outcome: ", bold=True), t(f"{OUTCOMES[outcome.kind]}{because(outcome.why)}", 1200))


OUTCOMES: Mapping[OutcomeKind, str] = {
    OutcomeKind.RESULT: "done",
    OutcomeKind.TOOL_ERROR: "the server answered with an error; it was not done",
    OutcomeKind.FAILED: "failed",
    OutcomeKind.REFUSED: "refused by the host; nothing ran",
    OutcomeKind.DECLINED: "declined; nothing ran",
    OutcomeKind.EXPIRED: "expired, nobody answered; nothing ran",
    OutcomeKind.CANCELLED: "cancelled",
    OutcomeKind.UNKNOWN_TOOL: "no such tool; nothing ran",
    OutcomeKind.UNREADABLE: "the call could not be read; nothing ran",
    OutcomeKind.TIMED_OUT: "the server did not answer in time",
    OutcomeKind.MAY_HAVE_RUN: "may have run: nobody knows yet, and it is not tried again by itself",
    OutcomeKind.UNDELIVERABLE: "the question could not be shown to anyone; nothing ran",
}


def provenance_words(source: str, calls: Iterable[ToolCallRecord]) -> str:
    """Where a value came from, for people (spec H9)."""
    fixed = {
        "ticket": "from the customer's message",
        "quoted": "from older mail quoted in the message",
        "record": "from the ticket's record",
        "": "source unknown",
    }
    if source in fixed:
        return fixed[source]
    names = {call.call_id: call.name for call in calls}
    return f"from the result of {names[source]}" if source in names else f"from the result of call {source}"


def record_lines(record: Mapping[str, Json], most: int = 12) -> list[list[Part]]:
    """A record's fields as bullets, an amount with its currency, lists of objects (order lines) one line each. Says how many it
    left out."""
    rows: list[list[Part]] = []
    for key, value in _amount_first(record).items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            rows += [[t(f"{_label(key)}: ", 100, bold=True), t(_flat(item), 300)] for item in value]
        elif value not in (None, "", [], {}):
            rows.append([t(f"{_label(key)}: ", 100, bold=True), t(_scalar(key, value), 300)])
    left = len(rows) - most
    return rows if left <= 0 else [*rows[:most], [t(f"and {left} more fields (Details shows all)")]]


def records(question: Question, budget: int) -> list[Part]:
    """What the records behind a question say, two at most, within `budget` characters; says when something is left out."""
    elements: list[Part] = []
    for record in question_records(question)[:2]:
        rows = record_lines(record)
        shown = len(rows)
        while shown and weight(elements) + weight(rows[:shown]) > budget:
            shown -= 1
        more = [[t("and more (Details shows all)")]] if shown < len(rows) else []
        elements += [line(t("The record says", bold=True)), bullets([*rows[:shown], *more])]
    return elements


def money(question: Question) -> str:
    """The amount that the call's record names, as "343.49 EUR"; "" when there is none (spec H10: the amount is the server's)."""
    for record in question_records(question):
        if record.get("amount") is not None:
            return f"{_scalar('amount', record['amount'])} {record.get('currency', '')}".strip()
    return ""


def question_records(question: Question) -> list[Mapping[str, Json]]:
    """The different records behind a question, from its provenance or, for an input request, its `record` by argument."""
    origins = [origin.get("record") or {} for origin in (question.payload.get("provenance") or {}).values()]
    origins += [record for record in (question.payload.get("record") or {}).values() if isinstance(record, Mapping)]
    found: list[Mapping[str, Json]] = []
    for record in origins:
        if record and record not in found:
            found.append(record)
    return found


def seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def arguments_in_words(arguments: Mapping[str, Json]) -> str:
    """Arguments as compact JSON, strings left readable."""
    return json.dumps(dict(arguments), ensure_ascii=False, default=str)


def server_parts(question: Question, claims: str) -> list[Part]:
    """The asking server: our configured name, its own name beside it as its claim (spec H1)."""
    parts = [code(question.server or "desk")]
    return [*parts, t(f" (calls itself {claims!r})", 200)] if claims else parts


def because(why: str) -> str:
    """ ": why", or nothing where there is none."""
    return f": {why}" if why else ""


def _amount_first(record: Mapping[str, Json]) -> Mapping[str, Json]:
    amount, currency = record.get("amount"), record.get("currency")
    if amount is None or not currency:
        return record
    rest = {key: value for key, value in record.items() if key not in ("amount", "currency")}
    return {"amount": f"{_scalar('amount', amount)} {currency}", **rest}


def unverified(ticket: Ticket) -> list[Part]:
    """Loudly, that nobody knows who wrote a ticket (spec H32); nothing when the sender is verified."""
    words = "Careful, sender NOT verified: nobody knows whether the customer wrote this."
    return [] if ticket.sender_verified else [line(t(words, bold=True))]


def _label(key: str) -> str:
    return key.replace("_", " ")


def _scalar(key: str, value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) or (isinstance(value, int) and any(word in key for word in ("amount", "total", "price", "fee"))):
        return f"{value:.2f}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _flat(item: Mapping[str, Json]) -> str:
    """Texts bare, as they say what they are; numbers with their name."""
    named = (
        (value if isinstance(value, str) else f"{_label(key)} {_scalar(key, value)}")
        for key, value in item.items()
        if value is not None
    )
    return " · ".join(named)
