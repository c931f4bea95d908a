"""Sentences that several cards share: who may decide, who decided, what became of the call, where a value came from.

Everything is said in words; no meaning hangs on a colour or a sign alone. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from bot.cards.elements import Part, code, line, t, user, when
from host.types import Action, Actor, Json, Outcome, OutcomeKind, Question, QuestionState, RoleName, ToolCallRecord

Mentions = Mapping[RoleName, tuple[str, ...]]
_MOST_MENTIONS = 20
_ROLES: Mapping[RoleName, str] = {"staff": "support staff", "lead": "a lead", "admin": "an admin"}
_DID: Mapping[Action, str] = {
    "approve": "Approved",
    "decline": "Declined",
    "accept": "Answered",
    "cancel": "Cancelled",
    "send": "Signed off for sending",
    "edit_and_send": "Edited and signed off for sending",
    "reject": "Rejected",
    "work_again": "Given back to be worked again",
    "it_ran": "Found to have run",
    "it_did_not_run": "Found not to have run",
}
#: Answers after which the call goes on; their outcome is still to come when there is none.
GOES_ON: frozenset[Action] = frozenset({"approve", "accept"})


def roles_in_words(roles: Sequence[RoleName]) -> str:
    """ "support staff or a lead"."""
    return " or ".join(_ROLES[role] for role in roles) or "nobody"


def above_staff(question: Question) -> bool:
    """A question that support staff can't decide: it shows in the channel too (spec B3)."""
    return bool(question.roles) and "staff" not in question.roles


def who_may(question: Question, mentions: Mentions) -> Part:
    """Who may decide and until when, mentioning them: an update of the same message notifies nobody a second time (spec B3)."""
    people = list(dict.fromkeys(person for role in question.roles for person in mentions.get(role, ())))
    parts = [t("May decide: ", bold=True), t(roles_in_words(question.roles))]
    for person in people[:_MOST_MENTIONS]:
        parts += [t(" "), user(person)]
    if len(people) > _MOST_MENTIONS:
        parts.append(t(f" and {len(people) - _MOST_MENTIONS} more"))
    if not people:
        parts.append(t(" · nobody is listed for this, so nobody can decide; an admin adds people in deskhand.toml", bold=True))
    return line(*parts, t(" · until "), when(question.deadline))


def decision(question: Question) -> Part:
    """What became of the question itself: who, when, what, why."""
    match question.state:
        case QuestionState.OPEN:
            return line(t("Waiting for a person.", bold=True))
        case QuestionState.ANSWERED:
            return _answered(question)
        case QuestionState.EXPIRED:
            return line(t("Expired", bold=True), t(" at "), when(question.deadline), t(": nobody answered, nothing ran."))
        case QuestionState.CANCELLED:
            return line(t("Cancelled.", bold=True), t(f" Nothing ran.{_note(question)}"))
        case QuestionState.SUPERSEDED:
            return line(t("Replaced by a newer question.", bold=True), t(f" This one no longer counts.{_note(question)}"))
        case QuestionState.UNDELIVERABLE:
            return line(t("Could not be shown to anyone who may decide.", bold=True), t(f" Nothing ran.{_note(question)}"))
        case _:
            assert_never(question.state)


def decision_text(question: Question) -> str:
    """The same in one plain sentence, for `text` fields (not yet escaped)."""
    if question.state is not QuestionState.ANSWERED or question.answer is None:
        return {"open": "waits for a person", "expired": "expired, nobody answered"}.get(question.state, question.state.value)
    return f"{_DID[question.answer.action].lower()} by {_name(question.answered_by)}"


def outcome_line(outcome: Outcome | None) -> Part:
    """What became of the call after the decision (spec B2)."""
    if outcome is None:
        return line(t("Outcome: ", bold=True), t("the call is on its way."))
    return line(t("Outcome: ", bold=True), t(f"{OUTCOMES[outcome.kind]}{_because(outcome.why)}", 1200))


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


def _answered(question: Question) -> Part:
    answer = question.answer
    if answer is None:
        return line(t("Answered.", bold=True))
    parts = [t(_DID[answer.action], bold=True), t(f" by {_name(question.answered_by)}", 200)]
    if question.answered_at:
        parts += [t(", "), when(question.answered_at)]
    return line(*parts, t(_because(answer.reason) or ".", 1200), t(_note(question), 600))


def _name(actor: Actor | None) -> str:
    return actor.name or actor.user if actor else "somebody"


def _note(question: Question) -> str:
    return f" {question.note}" if question.note else ""


def _because(why: str) -> str:
    return f": {why}" if why else ""


def _amount_first(record: Mapping[str, Json]) -> Mapping[str, Json]:
    amount, currency = record.get("amount"), record.get("currency")
    if amount is None or not currency:
        return record
    rest = {key: value for key, value in record.items() if key not in ("amount", "currency")}
    return {"amount": f"{_scalar('amount', amount)} {currency}", **rest}


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
