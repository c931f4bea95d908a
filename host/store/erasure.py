"""A customer taken out of every row, and the bytes out of the database's files (spec H31).

What stays: ids, times, states, digests of salted content, receipts, and who of the staff decided. Personal data stands where
`tables` says, and nowhere else.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, and_, delete, or_, select, update

from host.store.codec import ANSWER, APPROVALS, TICKET, dumps, text
from host.store.engine import Store, Tx
from host.store.tables import journal, outbox, payloads, questions, runs, tickets
from host.types import Answer, Json, OutboxKind, QuestionKind, RunState, Ticket, TicketState

ERASED = "erased"
"""What stands where a customer's name stood."""


@dataclass(frozen=True, slots=True)
class Held:
    """Whose ticket it is."""

    id: str
    customer_id: str | None
    mail: str


async def held(tx: Tx) -> tuple[Held, ...]:
    """Every ticket that was not erased, with its customer."""
    found = []
    for row in await tx.execute(select(tickets.c.id, tickets.c.customer_id, tickets.c.data).order_by(tickets.c.id)):
        read = TICKET.validate_json(row.data)
        if (read.sender_name, read.sender_mail, read.body) != (ERASED, "", ""):
            found.append(Held(row.id, row.customer_id, read.sender_mail))
    return tuple(found)


async def under_way(tx: Tx, ticket_ids: Collection[str]) -> tuple[str, ...]:
    """Those of the tickets that a run works or waits on."""
    busy = and_(runs.c.ticket_id.in_(ticket_ids), runs.c.state != RunState.DONE.value)
    return tuple((await tx.execute(select(runs.c.ticket_id).where(busy).distinct().order_by(runs.c.ticket_id))).scalars())


async def being_sent(tx: Tx, ticket_ids: Collection[str]) -> tuple[str, ...]:
    """Those of the tickets whose signed-off reply is on its way."""
    leaving = and_(
        outbox.c.ticket_id.in_(ticket_ids), outbox.c.kind == OutboxKind.MAIL.value, outbox.c.state.in_(("due", "trying"))
    )
    return tuple((await tx.execute(select(outbox.c.ticket_id).where(leaving).distinct().order_by(outbox.c.ticket_id))).scalars())


async def erase_journal(tx: Tx, ticket_id: str) -> int:
    """Takes content and salt of the chain's entries away, but for those that tell of an erasure; returns of how many."""
    telling = select(journal.c.seq).where(journal.c.ticket_id == ticket_id, journal.c.kind == "erased")
    gone = await tx.execute(delete(payloads).where(payloads.c.ticket_id == ticket_id, payloads.c.seq.not_in(telling)))
    return gone.rowcount


async def erase_ticket(tx: Tx, ticket_id: str) -> None:
    """The ticket becomes a stub: done, nobody's, without a word. Its id and intake key stay, so that it never comes in again."""
    row = (await tx.execute(select(tickets.c.data).where(tickets.c.id == ticket_id))).one()
    whole = TICKET.validate_json(row.data)
    stub = Ticket(whole.id, whole.intake_key, "", "", "", ERASED, False, None, whole.received_at, source=whole.source)
    values = {"data": text(TICKET, stub), "customer_id": None, "due_at": None, "state": TicketState.DONE.value}
    await tx.execute(update(tickets).where(tickets.c.id == ticket_id).values(values))
    await tx.execute(update(runs).where(runs.c.ticket_id == ticket_id).values(hint="", resources="[]"))


async def erase_questions(tx: Tx, ticket_id: str) -> None:
    """What was asked and said; who decided, when and which way stays."""
    for row in (await tx.execute(select(questions).where(questions.c.ticket_id == ticket_id))).all():
        answer = ANSWER.validate_json(row.answer) if row.answer else None
        approvals = [replace(one, answer=Answer(one.answer.action)) for one in APPROVALS.validate_json(row.approvals)]
        values = {
            "payload": dumps(_shell(QuestionKind(row.kind), json.loads(row.payload))),
            "answer": text(ANSWER, Answer(answer.action)) if answer else None,
            "approvals": text(APPROVALS, tuple(approvals)),
            "note": ERASED if row.note else "",
            "digest": "",
        }
        await tx.execute(update(questions).where(questions.c.id == row.id).values(values))


def _shell(kind: QuestionKind, payload: Mapping[str, Json]) -> dict[str, Json]:
    """The least that a question's card can still be drawn from."""
    call = {"tool": payload.get("tool", ""), "arguments": {}}
    match kind:
        case QuestionKind.CONSENT:
            return {**call, "provenance": {}, "rule": ERASED, "headline": ERASED, "may_edit": []}
        case QuestionKind.INPUT_REQUEST:
            kept = {"round": payload.get("round", 1), "approved_by": payload.get("approved_by", [])}
            return {
                **call,
                **kept,
                "request_key": "",
                "message": ERASED,
                "schema": {"type": "object", "properties": {}},
                "record": {},
            }
        case QuestionKind.SIGN_OFF:
            return {"text": ERASED, "flags": [], "stop_reason": payload.get("stop_reason", "cancelled"), "words": ""}
        case QuestionKind.MAY_HAVE_RUN:
            return {**call, "why": ERASED, "headline": ERASED}
        case QuestionKind.CHANGED_TOOL:
            return dict(payload)  # of no ticket: it holds a server's words alone


async def erase_outbox(tx: Tx, ticket_id: str) -> tuple[str, ...]:
    """What went out or would have; receipts stay. A notice that did not leave yet never will. Returns the keys of cards that
    were posted and have to be drawn anew."""
    rows = (await tx.execute(select(outbox).where(outbox.c.ticket_id == ticket_id))).all()
    for row in rows:
        kept = {key: value for key, value in json.loads(row.payload).items() if key in ("question_id", "run_id")}
        unsent = row.kind == OutboxKind.NOTICE.value and row.state in ("due", "trying")
        values = {"payload": dumps(kept), "why": ERASED if row.why or unsent else "", "state": "failed" if unsent else row.state}
        await tx.execute(update(outbox).where(outbox.c.id == row.id).values(values))
    return tuple(row.key for row in rows if row.kind == OutboxKind.CARD.value and (row.receipt or row.state != "done"))


async def mentioning(tx: Tx, words: Collection[str]) -> tuple[str, ...]:
    """The tickets in which any of these texts still stands, in whatever case; "" for what belongs to none."""
    found: set[str] = set()
    for table in (tickets, payloads, questions, outbox, runs):
        ticket_id = tickets.c.id if table is tickets else table.c.ticket_id
        columns = [column for column in (table.c.get(name) for name in _WORDED) if column is not None]
        for word in words:
            query = select(ticket_id).where(or_(*(_holds(column, word) for column in columns))).distinct()
            found.update((await tx.execute(query)).scalars())
    return tuple(sorted(found))


_WORDED = ("data", "body", "payload", "answer", "approvals", "note", "why", "hint", "receipt")


def _holds(column: ColumnElement[str], word: str) -> ColumnElement[bool]:
    return column.icontains(word, autoescape=True)


_CLEANING = (
    "PRAGMA temp_store=MEMORY",  # the copy that VACUUM works on must not lie in a folder for temporary files
    "PRAGMA secure_delete=ON",
    "PRAGMA busy_timeout=500",
    "VACUUM",
    "PRAGMA wal_checkpoint(TRUNCATE)",
)


async def clean_files(store: Store) -> str:
    """Writes SQLite's file anew and empties its log, so that nothing that was deleted stands in either (spec H31).

    Empty when that is so, else in words why not. For SQLite alone: PostgreSQL's files are its administrator's.
    """
    async with store.read() as tx:
        driver = (await tx.get_raw_connection()).driver_connection
        assert driver is not None, "it is open"
        try:
            for statement in _CLEANING:
                async with driver.execute(statement) as cursor:
                    answer = await cursor.fetchone()
        except sqlite3.OperationalError as error:
            return f"its file could not be written anew ({error})"
        finally:
            async with driver.execute("PRAGMA busy_timeout=10000"):
                pass
    return "another process reads the database just now, so its log still holds what was deleted" if answer[0] else ""
