"""What people are shown, as frozen data: a card is a pure function of one of these (spec B2).

Assembled by `host.facade` from journal and rows; this module refuses to know how they are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from host.types import Flag, Outcome, Question, Run, ServerHealth, StopReason, Ticket, TicketState, Tool, ToolCallRecord


@dataclass(frozen=True, slots=True)
class TicketView:
    """The channel's card: the ticket, where it stands, and what waits for whom. `line` says in words what happens now."""

    ticket: Ticket
    state: TicketState
    run: Run | None
    line: str
    waiting: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A consent, input request or may-have-run card.

    `outcome` is what became of the call after the decision, None while it has none. `headline` is the one line that says
    what would happen. `earlier` holds the ticket's calls so far, `server_claims` the server's own name, its claim alone.
    `nobody`: it waits and nobody who may decide it exists (spec H19).
    """

    question: Question
    ticket: Ticket
    headline: str
    outcome: Outcome | None = None
    earlier: tuple[ToolCallRecord, ...] = ()
    server_claims: str = ""
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class ToolView:
    """A changed or new tool that waits for an admin; it belongs to no ticket (spec H7)."""

    question: Question
    headline: str
    server_claims: str = ""
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class ReminderView:
    """A waiting question once more, in a message of its own, since a changed card tells nobody (spec H20)."""

    question: Question
    headline: str
    number: int


@dataclass(frozen=True, slots=True)
class DraftView:
    """The draft card (spec B5): a sign-off question with the reply as the customer would get it and the log of what ran.

    `model` says who wrote it.
    `delivery` is "" before Send, else "sending", "sent", "unknown" or "failed", with `receipt` in words.
    """

    question: Question
    ticket: Ticket
    text: str
    flags: tuple[Flag, ...]
    calls: tuple[ToolCallRecord, ...]
    stop_reason: StopReason
    delivery: str = ""
    receipt: str = ""
    on_flag: str = "refuse"
    model: str = ""
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class ProgressView:
    """A queue run's one message (spec B6). Counts are tickets; `outcomes` counts calls by outcome."""

    id: str
    started_by: str
    total: int
    worked: int
    waiting: int
    running: bool
    stopped_by: str = ""
    outcomes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatusView:
    """What `/deskhand status` says."""

    tickets: Mapping[str, int]
    open_questions: tuple[Question, ...]
    servers: tuple[ServerHealth, ...]
    frozen: tuple[str, ...]
    running: ProgressView | None
    model: str
    off: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A command's answer in words; `ok` is False when nothing was done."""

    ok: bool
    words: str


Card = TicketView | QuestionView | ToolView | DraftView | ProgressView


def by_sentence(flags: Sequence[Flag]) -> tuple[Flag, ...]:
    """One flag a sentence, with every reason, in the order of the first."""
    whys: dict[str, list[str]] = {}
    for flag in flags:
        whys.setdefault(flag.sentence, []).append(flag.why)
    first = {flag.sentence: flag for flag in reversed(flags)}
    return tuple(replace(first[sentence], why="; ".join(reasons)) for sentence, reasons in whys.items())
