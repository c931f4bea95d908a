"""What people are asked about a call, and what their answers become.  Pure; `questions` asks (spec H13, H18, H21, H22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from host import journal, policy
from host.config import ToolConfig
from host.forms import FormRequest, InputRequest, UrlRequest
from host.history import CallLog
from host.questions import Ask, digest
from host.store.codec import dumps
from host.types import Action, Fact, Json, Outcome, OutcomeKind, QuestionKind, QuestionState, RoleName, Ticket, Tool

CONSENT_ROLES: tuple[RoleName, ...] = ("staff", "lead")


@dataclass(frozen=True, slots=True)
class Needed:
    """How many different people have to approve, of which roles, and in words why it is more than one."""

    people: int
    roles: tuple[RoleName, ...]
    why: str = ""


ONE = Needed(1, CONSENT_ROLES)


def approvals_needed(
    settings: ToolConfig, ticket: Ticket, tool: Tool, arguments: Mapping[str, Json], provenance: Mapping[str, Fact]
) -> Needed:
    """Two leads over an amount where configured (spec H19); two people where nobody knows who wrote the ticket (spec H32)."""
    if tool.effect == "read":
        return ONE
    if settings.two_leads_over is not None:
        amount = policy.amount_of(settings.amount, arguments, provenance)
        if amount is None or amount > settings.two_leads_over:
            known = "its amount can't be told" if amount is None else f"it is over {settings.two_leads_over}"
            return Needed(2, ("lead",), f"{known}: two different leads have to approve it")
    if not ticket.sender_verified:
        return Needed(2, CONSENT_ROLES, "the sender of this ticket is not verified: two different people have to approve it")
    return ONE


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
    """What the people who approved changed in the arguments; the question allowed no other field. An edit stays when it has to be
    asked once more: what is asked then is the edited call."""
    edits: dict[str, Json] = {}
    for asked in call.asked:
        closed = call.closed.get(asked.question_id)
        if asked.question_kind is QuestionKind.CONSENT and closed is not None and closed.action == "approve":
            edits.update(closed.content)
    return edits


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


def ask_input(
    call: CallLog, intended: journal.Intended, tool: Tool, roles: tuple[RoleName, ...], request: InputRequest, number: int
) -> Ask:
    """A server's own question (spec H22): a form, or an address that it wants a person to open."""
    payload: dict[str, Json] = {
        "tool": tool.name,
        "arguments": intended.arguments,
        "request_key": request.key,
        "message": request.message,
        "round": number,
        "record": {name: dict(fact.record) for name, fact in intended.provenance.items()},
        "approved_by": list(intended.approvers or ((intended.approved_by,) if intended.approved_by else ())),
    }
    match request:
        case FormRequest():
            payload["schema"] = request.schema
        case UrlRequest():
            payload |= {"url": request.url, "domain": request.domain, "warnings": list(request.warnings)}
        case _:
            assert_never(request)
    bound = digest(tool.name, intended.arguments)
    return Ask(QuestionKind.INPUT_REQUEST, call.written.id, tool.server, roles, bound, tool.digest, payload)


def elicited(payload: Mapping[str, Json], action: Action | None, content: Mapping[str, Json]) -> Mapping[str, Json]:
    """A person's answer as the protocol wants it; agreeing to open an address carries nothing."""
    if action == "accept" and "url" not in payload:
        return {"action": "accept", "content": dict(content)}
    return {"action": action or "cancel"}


def as_answered(outcome: Outcome, unanswered: Outcome | None) -> Outcome:
    """A call that ended after its server was told "cancel", since nobody answered: what it did counts, and why is said."""
    if unanswered is None or outcome.kind is OutcomeKind.MAY_HAVE_RUN:
        return outcome
    if outcome.ok:
        return replace(outcome, why=f"{unanswered.why}; the server was told so and went on")
    return replace(unanswered, text=outcome.text)


def unanswered(state: QuestionState, reason: str) -> Outcome:
    """What becomes of a call whose server's question got no answer."""
    match state:
        case QuestionState.EXPIRED:
            return Outcome(OutcomeKind.EXPIRED, "nobody answered the server's question in time", step="input")
        case QuestionState.UNDELIVERABLE:
            return Outcome(OutcomeKind.UNDELIVERABLE, "the server's question did not reach anybody", step="input")
        case QuestionState.SUPERSEDED:
            return Outcome(OutcomeKind.REFUSED, reason, step="input")
        case QuestionState.CANCELLED | QuestionState.OPEN | QuestionState.ANSWERED:
            return Outcome(OutcomeKind.CANCELLED, reason or "the run was stopped", step="input")
