"""Questions as rows: answered by compare-and-set, so that of many clicks one counts (spec H18)."""

from __future__ import annotations

import json
from datetime import datetime

from sqlalchemy import ColumnElement, Row, and_, insert, select, update

from host.errors import NotFound
from host.store.codec import ACTOR, ANSWER, APPROVALS, dumps, iso, moment, text
from host.store.engine import Tx
from host.store.tables import questions
from host.types import Actor, Answer, Approval, Question, QuestionKind, QuestionState


def _question(row: Row[tuple[object, ...]]) -> Question:
    return Question(
        id=row.id,
        kind=QuestionKind(row.kind),
        state=QuestionState(row.state),
        ticket_id=row.ticket_id,
        run_id=row.run_id,
        call_id=row.call_id,
        server=row.server,
        roles=tuple(json.loads(row.roles)),
        digest=row.digest,
        definition=row.definition,
        payload=json.loads(row.payload),
        asked_at=moment(row.asked_at),
        deadline=moment(row.deadline),
        answered_by=ACTOR.validate_json(row.answered_by) if row.answered_by else None,
        answered_at=moment(row.answered_at) if row.answered_at else None,
        answer=ANSWER.validate_json(row.answer) if row.answer else None,
        note=row.note,
        needed=row.needed,
        approvals=APPROVALS.validate_json(row.approvals),
        remind_at=tuple(moment(at) for at in json.loads(row.remind_at)),
        reminded=row.reminded,
        resumable=row.resumable,
    )


async def add(tx: Tx, question: Question) -> None:
    await tx.execute(
        insert(questions).values(
            id=question.id,
            kind=question.kind.value,
            state=question.state.value,
            ticket_id=question.ticket_id,
            run_id=question.run_id,
            call_id=question.call_id,
            server=question.server,
            roles=dumps(list(question.roles)),
            digest=question.digest,
            definition=question.definition,
            payload=dumps(question.payload),
            asked_at=iso(question.asked_at),
            deadline=iso(question.deadline),
            note=question.note,
            needed=question.needed,
            approvals=text(APPROVALS, question.approvals),
            remind_at=dumps([iso(at) for at in question.remind_at]),
            reminded=question.reminded,
            resumable=question.resumable,
        )
    )


async def get(tx: Tx, question_id: str) -> Question:
    row = (await tx.execute(select(questions).where(questions.c.id == question_id))).first()
    if row is None:
        raise NotFound("this question is not known here; it may belong to an earlier installation")
    return _question(row)


async def close(
    tx: Tx,
    question_id: str,
    state: QuestionState,
    at: datetime,
    by: Actor | None = None,
    answer: Answer | None = None,
    note: str = "",
) -> bool:
    """Close an open question; True for the one caller whose write counted."""
    still_open = and_(questions.c.id == question_id, questions.c.state == QuestionState.OPEN.value)
    done = await tx.execute(
        update(questions)
        .where(still_open)
        .values(
            state=state.value,
            answered_at=iso(at),
            answered_by=text(ACTOR, by) if by else None,
            answer=text(ANSWER, answer) if answer else None,
            note=note,
        )
    )
    return done.rowcount == 1


async def approve(tx: Tx, question: Question, approval: Approval) -> bool:
    """Add one approval of several; False when the question changed since it was read, and nothing was written."""
    unchanged = and_(
        questions.c.id == question.id,
        questions.c.state == QuestionState.OPEN.value,
        questions.c.approvals == text(APPROVALS, question.approvals),
    )
    newer = text(APPROVALS, (*question.approvals, approval))
    return (await tx.execute(update(questions).where(unchanged).values(approvals=newer))).rowcount == 1


async def supersede(tx: Tx, question_id: str, note: str) -> None:
    """An answer that was taken and did not count after all (spec H15): who gave it stays."""
    changed = update(questions).where(questions.c.id == question_id)
    await tx.execute(changed.values(state=QuestionState.SUPERSEDED.value, note=note))


async def reminded(tx: Tx, question: Question, number: int) -> bool:
    """Note that reminders up to `number` were given; True for one caller."""
    same = and_(
        questions.c.id == question.id,
        questions.c.state == QuestionState.OPEN.value,
        questions.c.reminded == question.reminded,
    )
    return (await tx.execute(update(questions).where(same).values(reminded=number))).rowcount == 1


async def _where(tx: Tx, *conditions: ColumnElement[bool]) -> tuple[Question, ...]:
    query = select(questions).where(*conditions).order_by(questions.c.asked_at, questions.c.id)
    return tuple(_question(row) for row in await tx.execute(query))


async def of_run(tx: Tx, run_id: str) -> tuple[Question, ...]:
    return await _where(tx, questions.c.run_id == run_id)


async def of_ticket(tx: Tx, ticket_id: str) -> tuple[Question, ...]:
    return await _where(tx, questions.c.ticket_id == ticket_id)


async def open_ones(tx: Tx) -> tuple[Question, ...]:
    return await _where(tx, questions.c.state == QuestionState.OPEN.value)


async def of_kind(tx: Tx, kind: QuestionKind) -> tuple[Question, ...]:
    """All of a kind, oldest first, whatever became of them."""
    return await _where(tx, questions.c.kind == kind.value)


async def overdue(tx: Tx, now: datetime) -> tuple[Question, ...]:
    return await _where(tx, questions.c.state == QuestionState.OPEN.value, questions.c.deadline <= iso(now))
