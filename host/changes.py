"""Changed and new tools, put to people as questions (spec H7).  One question a definition: a newer one supersedes an older.

Refuses to know how a definition is pinned (`catalog`) and how a question is answered (`questions`).
"""

from __future__ import annotations

from datetime import datetime

from host.catalog import Catalog, ChangedTool
from host.questions import Ask, Questions
from host.store import questions as rows
from host.store.engine import Store
from host.types import Question, QuestionKind, QuestionState, RoleName

ADMINS: tuple[RoleName, ...] = ("admin",)


async def ask_about_changes(store: Store, catalog: Catalog, questions: Questions, now: datetime) -> int:
    """Ask about every tool that waits for a person, once; returns how many were asked. Nothing is written when nothing is new.

    A question about a definition that is no longer the server's, or that was accepted by other means, is closed as superseded.
    One that a person declined is not asked again for the same definition.
    """
    pending = {(change.name, change.digest): change for change in catalog.pending_changes()}
    async with store.read() as tx:
        known = await rows.of_kind(tx, QuestionKind.CHANGED_TOOL)
    asked = {(str(q.payload["tool"]), q.definition): q for q in known}
    new = [change for key, change in pending.items() if key not in asked or not _stands(asked[key], now)]
    gone = [q for key, q in asked.items() if q.state is QuestionState.OPEN and key not in pending]
    if not new and not gone:
        return 0
    async with store.write() as tx:
        for question in gone:
            await questions.supersede(tx, question, "the tool is no longer as it was shown here, or was accepted elsewhere")
        for change in new:
            await questions.ask(tx, None, _ask(change))
    return len(new)


def _stands(question: Question, now: datetime) -> bool:
    """Open, or declined by a person. One that expired is asked once more, and so is one that was accepted: the server changed its
    tool since, and then back. One that reached nobody is not asked again before its time is over: nobody can be reached."""
    match question.state:
        case QuestionState.ANSWERED:
            return question.answer is not None and question.answer.action == "decline"
        case QuestionState.UNDELIVERABLE:
            return question.deadline > now
        case state:
            return state is QuestionState.OPEN


def _ask(change: ChangedTool) -> Ask:
    payload = {
        "tool": change.name,
        "before": change.before,
        "after": change.after,
        "why": change.why,
        "headline": f"{change.name} {'changed' if change.before else 'is new'}: it is off until an admin accepts it",
    }
    return Ask(QuestionKind.CHANGED_TOOL, "", change.server, ADMINS, change.digest, change.digest, payload)
