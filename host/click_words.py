"""What a click is told: that it counted, or why it did not, in words for the clicker alone (spec B8, H19).  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from host.types import Action, Actor, NotTaken, Question, QuestionKind, QuestionState

DONE: Mapping[Action, str] = {
    "approve": "Approved: it is looked at once more, and then runs",
    "decline": "Declined: nothing runs, and the model is told why",
    "accept": "Your answer goes to the server",
    "cancel": "Cancelled: the server is told",
    "send": "The reply is on its way",
    "edit_and_send": "The edited reply is on its way",
    "reject": "Rejected: nothing is sent",
    "work_again": "The ticket is worked again with your hint",
    "it_ran": "Noted: it ran",
    "it_did_not_run": "Noted: it did not run",
}


_PAST: Mapping[Action, str] = {
    "approve": "approved",
    "decline": "declined",
    "accept": "answered",
    "cancel": "cancelled",
    "send": "sent",
    "edit_and_send": "edited and sent",
    "reject": "rejected",
    "work_again": "worked again",
    "it_ran": "it ran",
    "it_did_not_run": "it did not run",
}


def _unanswered(question: Question) -> str:
    """What it means that nobody answered, by kind."""
    match question.kind:
        case QuestionKind.CONSENT:
            return "Nothing ran."
        case QuestionKind.INPUT_REQUEST:
            return "The server got no answer." if question.resumable else "The server was told that nobody answered."
        case QuestionKind.SIGN_OFF:
            return "Nothing was sent."
        case QuestionKind.CHANGED_TOOL:
            return "The tool stays off."
        case QuestionKind.MAY_HAVE_RUN:
            return "Whether the call ran is still not known."


def _decision(question: Question) -> str:
    return _PAST[question.answer.action] if question.answer else "closed"


def wrong_person(question: Question, actor: Actor) -> NotTaken | None:
    """Why this person may not decide; None when their role may."""
    if actor.roles & set(question.roles):
        return None
    names = {"staff": "support staff", "lead": "a lead", "admin": "an admin"}
    who = " or ".join(names[role] for role in question.roles) or "nobody (no one is configured)"
    return NotTaken(f"Only {who} may decide this. Nothing was changed.")


def why_closed(question: Question, now: datetime) -> NotTaken | None:
    """Why a question can't be answered any more; None while it can."""
    when = question.answered_at.strftime("%H:%M") if question.answered_at else ""
    who = question.answered_by.name if question.answered_by else "somebody"
    match question.state:
        case QuestionState.OPEN:
            late = question.deadline <= now
            return NotTaken(f"This expired: nobody answered in time. {_unanswered(question)}") if late else None
        case QuestionState.ANSWERED:
            return NotTaken(f"Already decided by {who} at {when} UTC: {_decision(question)}. Your click changed nothing.")
        case QuestionState.EXPIRED:
            return NotTaken(f"This expired: nobody answered in time. {_unanswered(question)}")
        case QuestionState.CANCELLED:
            return NotTaken(f"This was cancelled ({question.note}). Your click changed nothing.")
        case QuestionState.SUPERSEDED:
            newer = " Please use the newer card in the thread." if question.call_id and question.resumable else ""
            return NotTaken(f"This card is out of date ({question.note}). Your click changed nothing.{newer}")
        case QuestionState.UNDELIVERABLE:
            return NotTaken(f"This question could not be delivered in time. {_unanswered(question)}")
