"""People by rule, for queue runs from the command line and for tests: implements `host.port.Desk` without any Slack.

Nothing here decides for the host: answers go the way a click goes, through the host's front door with an actor's roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from host.facade import Host
from host.types import SERVICE, Actor, Answer, Json, OutboxItem, OutboxKind, Question, QuestionKind, QuestionState
from host.views import DraftView, QuestionView

StaffRule = Literal["approve", "decline"]
LeadRule = Literal["accept", "decline", "cancel"]

STAFF = Actor("staff-0007", "headless-staff", "Scripted staff", frozenset({"staff"}))
LEAD = Actor("lead-0002", "headless-lead", "Scripted lead", frozenset({"lead"}))
#: Others of each role, for questions that need several people, and for releases that nobody gives who approved (spec H19, H32).
STAFF_2 = Actor("staff-0011", "headless-staff-2", "Second scripted staff", frozenset({"staff"}))
LEAD_2 = Actor("lead-0004", "headless-lead-2", "Second scripted lead", frozenset({"lead"}))
LEAD_3 = Actor("lead-0005", "headless-lead-3", "Third scripted lead", frozenset({"lead"}))
PEOPLE = (STAFF, STAFF_2, LEAD, LEAD_2, LEAD_3)
#: Headless runs are the service's (spec H3): no person started them.
ADMIN = replace(SERVICE, roles=frozenset({"admin"}))


@dataclass(frozen=True, slots=True)
class Rules:
    staff: StaffRule = "approve"
    lead: LeadRule = "decline"
    #: Whether drafts are sent; flagged ones are refused by the host either way.
    sign_off: bool = False


class HeadlessDesk:
    """Answers a question the moment its card is delivered: one person a delivery, and the card of a question that needs another
    is delivered once more. Changed tools, and what may have run, are left to real people."""

    def __init__(self, host: Host, rules: Rules) -> None:
        self._host, self._rules = host, rules

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        if item.kind is OutboxKind.CARD and item.key.startswith("question:"):
            card = await self._host.card(item.key)
            if isinstance(card, QuestionView | DraftView) and card.question.state is QuestionState.OPEN:
                await self._answer(card.question)
        return {"receipt": f"headless-{item.id}"}

    async def _answer(self, question: Question) -> None:
        match question.kind:
            case QuestionKind.CONSENT:
                await self._say(question, Answer(self._rules.staff, reason="declined by rule"))
            case QuestionKind.INPUT_REQUEST:
                form = self._rules.lead == "accept" and "schema" in question.payload
                content = filled(question.payload["schema"]) if form else {}
                await self._say(question, Answer(self._rules.lead, "declined by rule", content))
            case QuestionKind.SIGN_OFF:
                if self._rules.sign_off:
                    await self._say(question, Answer("send"))
            case QuestionKind.CHANGED_TOOL | QuestionKind.MAY_HAVE_RUN:
                pass

    async def _say(self, question: Question, answer: Answer) -> None:
        """By the first who may; where no scripted person is left who may, it stays open."""
        person = next_person(question)
        if person is not None:
            await self._host.answer(question.id, person, answer)


def next_person(question: Question) -> Actor | None:
    """The first scripted person of the right role who has not approved this, nor the call whose release it asks."""
    approved = question.payload.get("approved_by") or ()
    done = {approval.actor.user for approval in question.approvals} | set((approved,) if isinstance(approved, str) else approved)
    return next((one for one in PEOPLE if one.roles & set(question.roles) and one.user not in done), None)


def filled(schema: Mapping[str, Json]) -> dict[str, Json]:
    """A form filled by rule: defaults where given, yes to every yes/no, the first of every choice, the least number."""
    return {name: _value(field) for name, field in schema.get("properties", {}).items()}


_FORMATS: Mapping[str, str] = {
    "email": "scripted@example.com",
    "uri": "https://example.com/",
    "date": "2026-06-01",
    "date-time": "2026-06-01T09:30:00+02:00",
}


def _value(field: Mapping[str, Json]) -> Json:
    if "default" in field and field.get("type") != "boolean":
        return field["default"]
    choices = field.get("enum") or [one["const"] for one in field.get("oneOf", [])]
    if choices:
        return choices[0]
    match field.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return field.get("minimum", 0)
        case "array":
            items = field.get("items", {})
            offered = items.get("enum") or [one["const"] for one in items.get("anyOf", [])]
            return offered[: field.get("minItems", 0)]
        case _ if field.get("format") in _FORMATS:
            return _FORMATS[field["format"]]
        case _:
            return "scripted answer".ljust(field.get("minLength", 0), ".")[: field.get("maxLength")]
