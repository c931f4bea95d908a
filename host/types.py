"""Frozen data and closed unions that every room of the host speaks.  Refuses to know any database, server or Slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

Json = Any  # a JSON value: what json.loads returns
Effect = Literal["read", "effect"]
RoleName = Literal["staff", "lead", "admin"]


@dataclass(frozen=True, slots=True)
class Actor:
    """A person (or the service) who acts. `subject` is who servers see ("staff-0007"); `user` is who Slack knows."""

    subject: str
    user: str
    name: str
    roles: frozenset[RoleName] = frozenset()


SERVICE = Actor(subject="service", user="service", name="Deskhand")


class TicketState(StrEnum):
    """Spec H33."""

    NEW = "new"
    WORKING = "working"
    WAITING_FOR_US = "waiting_for_us"
    WAITING_FOR_CUSTOMER = "waiting_for_customer"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Ticket:
    """One ticket as taken in. `customer_id` is the record's alone (spec H9): never read from text or a model."""

    id: str
    intake_key: str
    subject: str
    body: str
    sender_mail: str
    sender_name: str
    sender_verified: bool
    customer_id: str | None
    received_at: datetime
    due_at: datetime | None = None
    language: str | None = None
    source: str = "file"


class StopReason(StrEnum):
    """Why a run ended (spec H14)."""

    ANSWERED = "answered"
    MAX_ITERATIONS = "max_iterations"
    REPEATED_CALL = "repeated_call"
    DEADLINE = "deadline"
    NEEDS_PERSON = "needs_person"
    CANCELLED = "cancelled"
    FAILED = "failed"


class OutcomeKind(StrEnum):
    """What became of a call: a closed set (spec H12)."""

    RESULT = "result"
    TOOL_ERROR = "tool_error"
    FAILED = "failed"
    REFUSED = "refused"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNKNOWN_TOOL = "unknown_tool"
    UNREADABLE = "unreadable"
    TIMED_OUT = "timed_out"
    MAY_HAVE_RUN = "may_have_run"
    UNDELIVERABLE = "undeliverable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`why` is in words, for model and people. `text` and `data` hold a result's (or tool error's) content.

    `step` names the step of the checkpoint that decided, where one refused (spec H8).
    """

    kind: OutcomeKind
    why: str = ""
    text: str = ""
    data: Json = None
    step: str = ""

    @property
    def ok(self) -> bool:
        return self.kind is OutcomeKind.RESULT


@dataclass(frozen=True, slots=True)
class Tool:
    """A server's tool as held in the catalogue, offered as `name` = `prefix.remote_name` (spec H6) or its alias.

    `schema` is what the model sees: parameters that the host fills are taken out. `digest` covers the definition's six
    fields (spec H7). `off` says in words why it can't be used; empty means usable.
    """

    name: str
    server: str
    remote_name: str
    description: str
    schema: Mapping[str, Json]
    full_schema: Mapping[str, Json]
    digest: str
    effect: Effect = "effect"
    output_schema: Mapping[str, Json] | None = None
    title: str = ""
    read_only_hint: bool | None = None
    off: str = ""
    idempotency_param: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One grounded identifier: where a value was seen, and the record around it (spec H9).

    `source` is "ticket", "quoted" (older mail quoted in it), "record", or the id of the call whose result held it;
    `server` is that call's server, `trusted` its trust, `process` that server's process then (0 when it can't be told).
    `record` is the JSON object that held the value directly.
    """

    param: str
    value: str
    source: str
    server: str = ""
    trusted: bool = True
    record: Mapping[str, Json] = field(default_factory=dict)
    process: int = 0


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One line of the call log (spec H14). `duration_ms` is time at the server; people's time is not in it."""

    name: str
    arguments: Mapping[str, Json]
    ok: bool
    duration_ms: int
    note: str
    call_id: str = ""
    outcome: OutcomeKind = OutcomeKind.RESULT
    allowed_by: str = ""
    data: Json = None
    server: str = ""
    text: str = ""
    process: int = 0


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """What a finished run gives: the model's claim beside what happened (spec H14)."""

    text: str
    stop_reason: StopReason
    calls: tuple[ToolCallRecord, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """A sentence of a draft that nothing supports, and why in words (spec H25). `tag` is its kind: "action", "amount", …"""

    sentence: str
    why: str
    tag: str


class QuestionKind(StrEnum):
    CONSENT = "consent"
    INPUT_REQUEST = "input_request"
    SIGN_OFF = "sign_off"
    CHANGED_TOOL = "changed_tool"
    MAY_HAVE_RUN = "may_have_run"


class QuestionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    UNDELIVERABLE = "undeliverable"


Action = Literal[
    "approve",
    "decline",
    "accept",
    "cancel",
    "send",
    "edit_and_send",
    "reject",
    "work_again",
    "it_ran",
    "it_did_not_run",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to a question. `content` fills a form, `text` is an edited reply, `reason` goes to the model."""

    action: Action
    reason: str = ""
    content: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """One of several people that a question needs: who, when, and what they said (spec H19)."""

    actor: Actor
    at: datetime
    answer: Answer


@dataclass(frozen=True, slots=True)
class Question:
    """Something only a person may decide (spec H18). `payload` holds what is shown, by kind:

    consent: {"tool", "arguments", "provenance": {param: {"source", "record"}}, "rule", "headline", "may_edit", "needed_why"}
    input_request: {"tool", "arguments", "request_key", "message", "round", "record", "approved_by": [users]}, and "schema" of a
    form, or "url", "domain" and "warnings" of an address to open
    sign_off: {"text", "flags": [{"sentence","why","tag"}], "stop_reason"}
    changed_tool: {"tool", "before", "after", "why"}, of no ticket and no run;  may_have_run: {"tool", "arguments", "why"}
    `digest` binds the answer to exact arguments (or text) and `definition` to the pinned tool.

    `needed` different people have to approve; `approvals` are those who did while it is open. `remind_at` are the moments of
    its reminders, of which `reminded` were given (spec H20). One that is not `resumable` belongs to a call that stays open at an
    older server meanwhile (spec H15).
    """

    id: str
    kind: QuestionKind
    state: QuestionState
    ticket_id: str
    run_id: str
    call_id: str
    server: str
    roles: tuple[RoleName, ...]
    digest: str
    definition: str
    payload: Mapping[str, Json]
    asked_at: datetime
    deadline: datetime
    answered_by: Actor | None = None
    answered_at: datetime | None = None
    answer: Answer | None = None
    note: str = ""
    needed: int = 1
    approvals: tuple[Approval, ...] = ()
    remind_at: tuple[datetime, ...] = ()
    reminded: int = 0
    resumable: bool = True


# What became of a click (spec B8): every one has an answer in words.


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer counts. The question stays open while it needs another person."""

    question: Question
    words: str


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The answer does not count; `words` say why, for the clicker alone. `fields` holds errors beside form fields."""

    words: str
    fields: Mapping[str, str] = field(default_factory=dict)


AnswerResult = Taken | NotTaken


class RunState(StrEnum):
    READY = "ready"
    WORKING = "working"
    WAITING = "waiting"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Run:
    """One run over a ticket. `fence` rises with every lease, so that a late writer is refused (spec H30)."""

    id: str
    ticket_id: str
    state: RunState
    started_by: Actor
    started_at: datetime
    stop_reason: StopReason | None = None
    cancelled: bool = False
    fence: int = 0
    queue_run: str = ""
    hint: str = ""
    #: Resources that a person added for this ticket, by their address (spec H23).
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool's pinned definition (spec H7). `why` is empty, or what the lint or the change said."""

    digest: str
    definition: Mapping[str, Json]
    accepted: bool
    why: str = ""


# What a server's answer to a call may be.


@dataclass(frozen=True, slots=True)
class Finished:
    """A complete result. `text` joins its text blocks; `data` is structuredContent, absent when the server sent none."""

    text: str
    data: Json
    is_error: bool


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The server asks before it goes on (MCP 2026-07-28). `pending` is the whole answer as JSON, its state byte for byte."""

    pending: Mapping[str, Json]


ServerReply = Finished | NeedsInput


DEFINITION = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""The six fields of a tool's definition that a pin covers (spec H7)."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it now: the six pinned fields (spec H7), or why it had to be dropped."""

    name: str
    definition: Mapping[str, Json]  # keys: those of DEFINITION that the server sent
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class ListedResource:
    uri: str
    name: str
    audience: tuple[str, ...] = ()
    priority: float | None = None


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """`state` in words: "connected", "connecting", "down"; `claims` is the server's own name and version, its claim alone."""

    prefix: str
    state: str
    why: str = ""
    claims: str = ""
    protocol: str = ""
    restarts: int = 0


class OutboxKind(StrEnum):
    """What must reach the outside: a card (rebuilt from state, so only its key is kept), a notice, or a reply."""

    CARD = "card"
    NOTICE = "notice"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """One delivery. `key` names the card: "ticket:T-9001", "question:Q…", "progress:…", "notice:…", or "mail:…".

    `payload` belongs to notices and mail; a card has none. `receipt` is the reference of the message already posted under
    this key ({"channel","ts"}), so that a redraw updates it. `attempts` counts earlier tries, `uncertain` says that one of
    them may have arrived.
    """

    id: int
    kind: OutboxKind
    key: str
    ticket_id: str
    payload: Mapping[str, Json]
    version: int
    receipt: Mapping[str, Json] | None
    attempts: int = 0
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A call the model asked for. `arguments` as written; None when they could not be read (`Turn.unreadable` says why)."""

    id: str
    name: str
    arguments: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model and what became of each of its calls, by call id; enters the transcript as one unit (spec H11).

    `unreadable` says why the reply as a whole could not be read. `note` is a word of the host to the model after it, such as
    a person's hint.
    """

    text: str
    calls: tuple[ProposedCall, ...]
    outcomes: Mapping[str, Outcome]
    unreadable: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Attached:
    """A resource that the host attaches to every prompt (spec H23)."""

    uri: str
    server: str
    text: str
