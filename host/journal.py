"""The journal: append-only, one hash chain a ticket, personal payload beside it (spec H31).

Each entry's payload is digested with a salt of its own; the chain holds only the digest. Erasing payload and salt leaves a chain
that still verifies and from which nothing can be guessed. Refuses to know what a run does with its entries: `loop` folds them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from host.store import journal as rows
from host.store.codec import iso, moment
from host.store.engine import Tx
from host.store.journal import Link
from host.types import Action, Attached, Effect, Fact, Flag, Json, Outcome, QuestionKind, QuestionState, StopReason
from models.port import ToolSpec


class Entry(BaseModel):
    """Base of all entries; each kind is a closed shape."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Taken(Entry):
    """A ticket came in (or a follow-up joined it)."""

    kind: Literal["taken"] = "taken"
    ticket: Mapping[str, Json]


class ToolSeen(Entry):
    name: str
    digest: str
    off: str = ""


class Started(Entry):
    """A run began: what was offered, and the digest of the prompt's stable part."""

    kind: Literal["started"] = "started"
    by: str
    user: str
    model: str
    tools: tuple[ToolSeen, ...]
    prompt_digest: str
    hint: str = ""
    today: str = ""  # the day that the prompt names
    #: What the prompt holds, so that it never changes inside a run (spec H24).
    specs: tuple[ToolSpec, ...] = ()
    attached: tuple[Attached, ...] = ()
    added: tuple[Attached, ...] = ()


class CallWritten(Entry):
    """`unreadable` says why the arguments could not be kept (they are empty then; the reply's raw text has them)."""

    id: str
    name: str
    arguments: Mapping[str, Json]
    unreadable: str = ""


class Replied(Entry):
    """One reply of the model, raw, with what was read from it. `only_reply`: nothing but the reply was offered."""

    kind: Literal["replied"] = "replied"
    raw: str
    text: str
    calls: tuple[CallWritten, ...]
    unreadable: str = ""
    only_reply: bool = False
    model: str = ""
    offered: tuple[str, ...] = ()
    seconds: float = 0.0
    prompt_tokens: int = 0
    evaluated_tokens: int = 0
    sampled_tokens: int = 0
    forced_tokens: int = 0


class Asked(Entry):
    """A question was put to people."""

    kind: Literal["asked"] = "asked"
    question_id: str
    question_kind: QuestionKind
    call_id: str
    server: str
    roles: tuple[str, ...]
    deadline: datetime
    digest: str
    definition: str
    payload: Mapping[str, Json]
    needed: int = 1
    resumable: bool = True


class Approved(Entry):
    """One of the people that a question needs has approved; it stays open for the others (spec H19)."""

    kind: Literal["approved"] = "approved"
    question_id: str
    question_kind: QuestionKind
    call_id: str
    by: str
    user: str
    action: Action
    content: Mapping[str, Json] = Field(default_factory=dict)


class Reminded(Entry):
    """Those who may decide were reminded for the n-th time (spec H20)."""

    kind: Literal["reminded"] = "reminded"
    question_id: str
    call_id: str
    number: int


class Closed(Entry):
    """A question got its end: answered by whom and how, or expired, cancelled, superseded.

    An answer that did not count after all is followed by a second end, "superseded". `digest` is what edited arguments are bound
    to. `users` are all who approved.
    """

    kind: Literal["closed"] = "closed"
    question_id: str
    question_kind: QuestionKind
    call_id: str
    state: QuestionState
    by: str = ""
    user: str = ""
    action: Action | None = None
    reason: str = ""
    content: Mapping[str, Json] = Field(default_factory=dict)
    text: str = ""
    digest: str = ""
    users: tuple[str, ...] = ()


class Intended(Entry):
    """A call is about to be sent (spec H13). `acting` is the subject whose name every round of it carries (spec H3).

    `approvers` are the Slack users who approved it; `generation` is the server's process, 0 when it can't be told; `amount` the
    money it moves, as a decimal.
    """

    kind: Literal["intended"] = "intended"
    call_id: str
    tool: str
    server: str
    arguments: Mapping[str, Json]
    effect: Effect
    definition: str
    allowed_by: str
    acting: str
    approved_by: str = ""
    approvers: tuple[str, ...] = ()
    key: str = ""
    generation: int = 0
    amount: str = ""
    provenance: Mapping[str, Fact] = Field(default_factory=dict)


class InputNeeded(Entry):
    """The server asked before going on; `pending` is its whole answer, its state byte for byte (spec H15)."""

    kind: Literal["input_needed"] = "input_needed"
    call_id: str
    round: int
    pending: Mapping[str, Json]


class RoundSent(Entry):
    """The answers are about to be sent: from here on that state is used and never sent again (spec H15)."""

    kind: Literal["round_sent"] = "round_sent"
    call_id: str
    round: int


class LookedBack(Entry):
    """The host looked whether a call ran (spec H13): with what, and what it found, in words."""

    kind: Literal["looked_back"] = "looked_back"
    call_id: str
    tool: str
    arguments: Mapping[str, Json]
    found: str


class Ended(Entry):
    """A call has its outcome."""

    kind: Literal["ended"] = "ended"
    call_id: str
    tool: str
    server: str
    arguments: Mapping[str, Json]
    outcome: Outcome
    ms: int = 0
    allowed_by: str = ""
    process: int = 0


class Drafted(Entry):
    """A reply was read against the call log; `final` is False when it goes back to the model (spec H25)."""

    kind: Literal["drafted"] = "drafted"
    text: str
    flags: tuple[Flag, ...]
    final: bool


class Stopped(Entry):
    kind: Literal["stopped"] = "stopped"
    reason: StopReason
    words: str


class Delivered(Entry):
    """What became of a reply on its way to the customer: "sent" with a receipt, "unknown", "failed"."""

    kind: Literal["delivered"] = "delivered"
    question_id: str
    state: str
    receipt: Mapping[str, Json] = Field(default_factory=dict)
    why: str = ""


class Freeze(Entry):
    """The house's own chain: somebody froze a server, or let it be used again (spec H28)."""

    kind: Literal["freeze"] = "freeze"
    server: str
    by: str
    frozen: bool


class DayClosed(Entry):
    """The house's own chain: a hash over the heads of all chains at the turn of a day (spec H31)."""

    kind: Literal["day_closed"] = "day_closed"
    day: str
    head: str
    chains: int


class Erased(Entry):
    """What this chain held of a customer was erased; `entries` says of how many. The chain goes on (spec H31)."""

    kind: Literal["erased"] = "erased"
    by: str
    entries: int


AnyEntry = Annotated[
    Taken
    | Started
    | Replied
    | Asked
    | Approved
    | Reminded
    | Closed
    | Intended
    | InputNeeded
    | RoundSent
    | LookedBack
    | Ended
    | Drafted
    | Stopped
    | Delivered
    | Freeze
    | DayClosed
    | Erased,
    Field(discriminator="kind"),
]
HOUSE = ""
"""The chain of what belongs to no ticket: changed tools, the days' heads."""

_ENTRY: TypeAdapter[AnyEntry] = TypeAdapter(AnyEntry)


class Noted(BaseModel):
    """An entry with its place: the run it belongs to and when it was written."""

    model_config = ConfigDict(frozen=True)
    seq: int
    run_id: str
    at: datetime
    entry: AnyEntry


async def append(tx: Tx, ticket_id: str, run_id: str, at: datetime, *entries: AnyEntry) -> None:
    """Write entries at the end of the ticket's chain, in the caller's transaction."""
    seq, previous = await rows.last(tx, ticket_id)
    for entry in entries:
        seq += 1
        body = entry.model_dump_json()
        salt = secrets.token_hex(16)
        digest = _digest(salt, body)
        link = Link(ticket_id, seq, run_id, entry.kind, iso(at), digest, "", salt, body)
        previous = _hash(previous, link)
        await rows.add(tx, Link(ticket_id, seq, run_id, entry.kind, iso(at), digest, previous, salt, body))


async def entries(tx: Tx, ticket_id: str) -> tuple[Noted, ...]:
    """All entries of a ticket in order; erased ones are left out."""
    chain = await rows.chain(tx, ticket_id)
    return tuple(
        Noted(seq=link.seq, run_id=link.run_id, at=moment(link.at), entry=_ENTRY.validate_json(link.body))
        for link in chain
        if link.body is not None
    )


def verify(chain: Sequence[Link]) -> str:
    """Empty when the chain holds, else which entry breaks it and how."""
    previous = ""
    for number, link in enumerate(chain, start=1):
        if link.seq != number:
            return f"entry {number} is missing"
        if link.body is not None and _digest(link.salt or "", link.body) != link.digest:
            return f"entry {number} ({link.kind}) was changed: its content does not match its digest"
        previous = _hash(previous, link)
        if previous != link.hash:
            return f"entry {number} ({link.kind}) breaks the chain: it, or one before it, was changed or removed"
    return ""


def _digest(salt: str, body: str) -> str:
    return hashlib.sha256(f"{salt}\n{body}".encode()).hexdigest()


def _hash(previous: str, link: Link) -> str:
    parts = (previous, link.ticket_id, str(link.seq), link.run_id, link.kind, link.at, link.digest)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
