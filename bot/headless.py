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
#: Headless runs are the service's (spec H3): no person started them.
ADMIN = replace(SERVICE, roles=frozenset({"admin"}))


@dataclass(frozen=True, slots=True)
class Rules:
    staff: StaffRule = "approve"
    lead: LeadRule = "decline"
    #: Whether drafts are sent; flagged ones are refused by the host either way.
    sign_off: bool = False


class HeadlessDesk:
    """Answers a question the moment its card is delivered."""

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
                await self._host.answer(question.id, STAFF, Answer(self._rules.staff, reason="declined by rule"))
            case QuestionKind.INPUT_REQUEST:
                content = filled(question.payload["schema"]) if self._rules.lead == "accept" else {}
                await self._host.answer(question.id, LEAD, Answer(self._rules.lead, "declined by rule", content))
            case QuestionKind.SIGN_OFF:
                if self._rules.sign_off:
                    await self._host.answer(question.id, STAFF, Answer("send"))
            case QuestionKind.CHANGED_TOOL | QuestionKind.MAY_HAVE_RUN:
                pass


def filled(schema: Mapping[str, Json]) -> dict[str, Json]:
    """A form filled by rule: defaults where given, yes to every yes/no, the first of every choice, the least number."""
    return {name: _value(field) for name, field in schema.get("properties", {}).items()}


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
            return []
        case _:
            return "scripted answer".ljust(field.get("minLength", 0), ".")
