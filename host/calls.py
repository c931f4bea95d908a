"""What a call is judged by and what it comes to: data, and pure words about it.  Refuses to know servers, people and rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from host import journal, policy
from host.history import CallLog
from host.questions import digest
from host.types import Fact, Json, Outcome, OutcomeKind, Run, Ticket, Tool, ToolCallRecord

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The call waits for a person; nothing of it is in memory."""


@dataclass(frozen=True, slots=True)
class Away:
    """The call can't go on just now: its server is not there. Nothing of it is in memory."""


AWAY = "away"
"""The step of a refusal that only says that the server is not there."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a call is judged by: its run and ticket, everything grounded so far, and what already ran in this ticket."""

    run: Run
    ticket: Ticket
    facts: Sequence[Fact]
    records: Sequence[ToolCallRecord]


@dataclass(frozen=True, slots=True)
class Cleared:
    """A call that passed every check but the person's."""

    tool: Tool
    arguments: Mapping[str, Json]
    provenance: Mapping[str, Fact]
    verdict: policy.Verdict


@dataclass(frozen=True, slots=True)
class Allowed:
    """Who allowed a call: `by` in words for the log, `acting` the subject it carries, `users` those who approved."""

    by: str
    acting: str
    users: tuple[str, ...] = ()


def key(ticket: Ticket, cleared: Cleared) -> str:
    """One effect for a ticket and exact arguments, whichever run asks: the server returns the first one (spec H13).

    Derived, not drawn, so that a run can be replayed byte for byte (spec M7).
    """
    return digest(f"{ticket.id} {cleared.tool.name}", cleared.arguments)[:32]


def refusal(why: str, step: str) -> Outcome:
    """A check's no, in words, and which check."""
    return Outcome(OutcomeKind.REFUSED, why, step=step)


def after_fault(call: CallLog, error: Exception) -> Outcome:
    """A fault of ours: after the intent it may have run, before it nothing did."""
    if call.intended is not None and call.intended.effect == "effect":
        return Outcome(OutcomeKind.MAY_HAVE_RUN, f"an error of the program ({type(error).__name__})", step="run")
    return Outcome(OutcomeKind.FAILED, f"an error of the program ({type(error).__name__}); nothing ran", step="run")


def lost_sight(intended: journal.Intended, unusable: Outcome) -> Outcome:
    """A call was begun and its tool can't be used any more: a read did not run, an effect may have."""
    if intended.effect == "read":
        return unusable
    return Outcome(OutcomeKind.MAY_HAVE_RUN, f"the program stopped while the call was under way; {unusable.why}", step="run")


def anew_words(tool: Tool) -> str:
    """Why an answer that a person gave did not count: it was asked anew (spec H15)."""
    return f"the program stopped while the answer was on its way; {tool.server} had not carried it out and asks again"


def fill(value: str, provenance: Mapping[str, Fact]) -> Json:
    """ "$quote_id.order_id" → that field of the record the argument came from."""
    if not value.startswith("$"):
        return value
    name, _, field = value[1:].partition(".")
    fact = provenance.get(name)
    if fact is None:
        return None
    return fact.record.get(field) if field else fact.value


def row(
    run: Run, call_id: str, tool: str, outcome: str, ms: int, at: str, intended: journal.Intended | None
) -> dict[str, object]:
    return {
        "call_id": call_id,
        "ticket_id": run.ticket_id,
        "run_id": run.id,
        "tool": tool,
        "outcome": outcome,
        "ms": ms,
        "at": at,
        "amount": intended.amount if intended else "",
    }


def log_line(call: CallLog, name: str, tool: Tool | None, outcome: Outcome, ms: int, run: Run) -> None:
    """One line a call: keys, never values (spec H16). A name or key that no tool has is a model's text: "?" stands for it."""
    known = tool.full_schema.get("properties", {}) if tool else ("text",)
    keys = ",".join(sorted(key if key in known else "?" for key in call.written.arguments))
    note = outcome.kind.value + (f"/{outcome.step}" if outcome.step else "")
    logger.info("tool_call name=%s arg_keys=[%s] ok=%s ms=%d note=%s run=%s", name, keys, outcome.ok, ms, note, run.id)
