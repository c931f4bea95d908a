"""Changed and new tools, put to people as questions (spec H7).  One question a definition: a newer one supersedes an older.

Refuses to know how a definition is pinned (`catalog`) and how a question is answered (`questions`).
"""

from __future__ import annotations

from host.catalog import Catalog, ChangedTool
from host.questions import Ask, Questions
from host.store import questions as rows
from host.store.engine import Store
from host.types import Question, QuestionKind, QuestionState, RoleName

ADMINS: tuple[RoleName, ...] = ("admin",)


async def ask_about_changes(store: Store, catalog: Catalog, questions: Questions) -> int:
    """Ask about every tool that waits for a person, once; returns how many were asked. Nothing is written when nothing is new.

    A question about a definition that is no longer the server's, or that was accepted by other means, is closed as superseded.
    One that a person declined is not asked again for the same definition.
    """
    pending = {(change.name, change.digest): change for change in catalog.pending_changes()}
    async with store.read() as tx:
        known = await rows.of_kind(tx, QuestionKind.CHANGED_TOOL)
    asked = {(str(q.payload["tool"]), q.definition): q for q in known}
    new = [change for key, change in pending.items() if key not in asked or not _stands(asked[key])]
    gone = [q for key, q in asked.items() if q.state is QuestionState.OPEN and key not in pending]
    if not new and not gone:
        return 0
    async with store.write() as tx:
        for question in gone:
            await questions.supersede(tx, question, "the tool is no longer as it was shown here, or was accepted elsewhere")
        for change in new:
            await questions.ask(tx, None, _ask(change))
    return len(new)


def _stands(question: Question) -> bool:
    """Open, or declined by a person. One that expired, or was never delivered, is asked once more; so is one that was accepted,
    for it is not accepted any more: the server changed its tool since, and then back."""
    declined = question.answer is not None and question.answer.action == "decline"
    return question.state is QuestionState.OPEN or (question.state is QuestionState.ANSWERED and declined)


def _ask(change: ChangedTool) -> Ask:
    payload = {
        "tool": change.name,
        "before": change.before,
        "after": change.after,
        "why": change.why,
        "headline": f"{change.name} {'changed' if change.before else 'is new'}: it is off until an admin accepts it",
    }
    return Ask(QuestionKind.CHANGED_TOOL, "", change.server, ADMINS, change.digest, change.digest, payload)
