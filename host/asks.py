"""What people are asked about a call, and what their answers become.  Pure; `questions` asks (spec H13, H18, H21, H22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from host import journal
from host.config import ToolConfig
from host.history import CallLog
from host.questions import Ask, digest
from host.store.codec import dumps
from host.types import Fact, Json, Outcome, OutcomeKind, QuestionKind, QuestionState, RoleName

CONSENT_ROLES: tuple[RoleName, ...] = ("staff", "lead")


def ask_what_became(call: CallLog, intended: journal.Intended, unknown: Outcome) -> Ask:
    consent = call.latest(QuestionKind.CONSENT)
    words = str(consent[0].payload.get("headline", "")) if consent else ""
    payload = {
        "tool": intended.tool,
        "arguments": intended.arguments,
        "why": unknown.why,
        "headline": words or f"Run {intended.tool}",
    }
    bound = digest(intended.tool, intended.arguments)
    return Ask(QuestionKind.MAY_HAVE_RUN, call.written.id, intended.server, CONSENT_ROLES, bound, intended.definition, payload)


def told_of_edits(outcome: Outcome, call: CallLog) -> Outcome:
    edits = edits_of(call)
    if not edits:
        return outcome
    return replace(outcome, why=f"a person changed the arguments before it ran: {dumps(edits)}. {outcome.why}".strip())


def edits_of(call: CallLog) -> Mapping[str, Json]:
    """What the person who approved changed in the arguments; the question allowed no other field."""
    asked = call.latest(QuestionKind.CONSENT)
    closed = asked[1] if asked else None
    return closed.content if closed is not None and closed.action == "approve" else {}


def headline(settings: ToolConfig | None, tool: str, arguments: Mapping[str, Json], provenance: Mapping[str, Fact]) -> str:
    """The card's one line (spec B3): the server's own amounts and numbers, from the records the arguments came from."""
    words = (settings.headline if settings else "") or f"Run {tool}"
    notes = settings.headline_notes if settings else {}
    for name, fact in provenance.items():
        for key, value in {**fact.record, "value": fact.value}.items():
            shown = f"{value:.2f}" if isinstance(value, float) else str(value)
            words = words.replace("{" + f"{name}.{key}" + "}", shown)
    for name, value in arguments.items():
        words = words.replace("{" + name + "}", str(value))
    return " · ".join([words, *(note for field, note in notes.items() if _is_true(field, provenance))])


def _is_true(field: str, provenance: Mapping[str, Fact]) -> bool:
    name, _, key = field.partition(".")
    return name in provenance and provenance[name].record.get(key) is True


def records_of(provenance: Mapping[str, Fact]) -> dict[str, Json]:
    return {name: dict(fact.record) for name, fact in provenance.items()}


def elicited(closed: journal.Closed) -> Json:
    if closed.action == "accept":
        return {"action": "accept", "content": dict(closed.content)}
    return {"action": closed.action}


def unanswered(closed: journal.Closed) -> Outcome:
    match closed.state:
        case QuestionState.EXPIRED:
            return Outcome(OutcomeKind.EXPIRED, "nobody answered the server's question in time", step="input")
        case QuestionState.UNDELIVERABLE:
            return Outcome(OutcomeKind.UNDELIVERABLE, "the server's question did not reach anybody", step="input")
        case QuestionState.SUPERSEDED:
            return Outcome(OutcomeKind.REFUSED, closed.reason, step="input")
        case QuestionState.CANCELLED | QuestionState.OPEN | QuestionState.ANSWERED:
            return Outcome(OutcomeKind.CANCELLED, closed.reason or "the run was stopped", step="input")
