"""Who may decide a question, who has approved it so far, and what became of it: sentences that all question cards share.

Everything is said in words; no meaning hangs on a colour or a sign alone. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from bot.cards.elements import Part, line, t, user, when
from bot.cards.words import Mentions, because
from host.types import Action, Actor, Approval, Question, QuestionKind, QuestionState, RoleName

_MOST_MENTIONS = 20
_ROLES: Mapping[RoleName, str] = {"staff": "support staff", "lead": "a lead", "admin": "an admin"}
_MEMBERS: Mapping[RoleName, str] = {"staff": "member of support staff", "lead": "lead", "admin": "admin"}
_PLURAL: Mapping[RoleName, str] = {"staff": "support staff", "lead": "leads", "admin": "admins"}
_DID: Mapping[Action, str] = {
    "approve": "Approved",
    "decline": "Declined",
    "accept": "Answered",
    "cancel": "Cancelled",
    "send": "Signed off for sending",
    "edit_and_send": "Edited and signed off for sending",
    "reject": "Rejected",
    "work_again": "Given back to be worked again",
    "it_ran": "Found to have run",
    "it_did_not_run": "Found not to have run",
}
_DID_WITH_TOOL: Mapping[Action, str] = {"accept": "Accepted", "decline": "Kept off"}
#: What is so when a question of this kind ends without an answer.
_UNANSWERED: Mapping[QuestionKind, str] = {
    QuestionKind.CONSENT: "nothing ran",
    QuestionKind.INPUT_REQUEST: "the server got no answer",
    QuestionKind.SIGN_OFF: "nothing was sent",
    QuestionKind.CHANGED_TOOL: "the tool stays off",
    QuestionKind.MAY_HAVE_RUN: "it is still not known whether it ran",
}
#: Answers after which the call goes on; their outcome is still to come when there is none.
GOES_ON: frozenset[Action] = frozenset({"approve", "accept"})


def roles_in_words(roles: Sequence[RoleName]) -> str:
    """ "support staff or a lead"."""
    return " or ".join(_ROLES[role] for role in roles) or "nobody"


def above_staff(question: Question) -> bool:
    """A question that support staff can't decide: it shows in the channel too (spec B3)."""
    return bool(question.roles) and "staff" not in question.roles


def waiting(question: Question, mentions: Mentions, nobody: bool) -> list[Part]:
    """An open question's lines: approvals so far, who may decide and until when, and loudly when nobody can (spec H19)."""
    lines = [_approvals(question)] if question.needed > 1 else []
    lines.append(line(*_who(question), *mentioned(question, mentions), t(" · until "), when(question.deadline)))
    return [*lines, line(t(nobody_words(question), bold=True))] if nobody else lines


def mentioned(question: Question, mentions: Mentions) -> list[Part]:
    """Those who may still decide, as mentions: an update of the same message notifies nobody a second time (spec B3)."""
    done = {approval.actor.user for approval in question.approvals}
    listed = dict.fromkeys(person for role in question.roles for person in mentions.get(role, ()))
    people = [person for person in listed if person not in done]
    parts = [part for person in people[:_MOST_MENTIONS] for part in (t(" "), user(person))]
    return parts if len(people) <= _MOST_MENTIONS else [*parts, t(f" and {len(people) - _MOST_MENTIONS} more")]


def nobody_words(question: Question) -> str:
    """What is missing, and who can mend it."""
    mend = "An admin has to add one to [roles] in deskhand.toml."
    if question.roles == ("admin",):
        mend = "Whoever runs Deskhand has to add one to [roles] in deskhand.toml."
    if question.needed - len(question.approvals) > 1:
        people = " and ".join(_PLURAL[role] for role in question.roles) or "people"
        return f"Nobody can decide this: it takes {question.needed} different {people}, and fewer are configured. {mend}"
    members = " and no ".join(_MEMBERS[role] for role in question.roles) or "role"
    besides = " besides those who approved" if question.approvals or question.payload.get("approved_by") else ""
    return f"Nobody can decide this: no {members} is configured{besides}. {mend}"


def count_words(question: Question) -> str:
    """Which of several approvals the next one is: "first of 2 approvals"; "" where one is enough."""
    names = ("first", "second", "third", "fourth", "fifth")
    at = len(question.approvals)
    ordinal = names[at] if at < len(names) else f"{at + 1}th"
    return f"{ordinal} of {question.needed} approvals" if question.needed > 1 else ""


def decision(question: Question) -> Part:
    """What became of the question itself: who, when, what, why."""
    match question.state:
        case QuestionState.OPEN:
            return line(t("Waiting for a person.", bold=True))
        case QuestionState.ANSWERED:
            return _answered(question)
        case QuestionState.SUPERSEDED:
            return _superseded(question)
        case QuestionState.EXPIRED:
            said = f": nobody answered, {_UNANSWERED[question.kind]}."
            return line(t("Expired", bold=True), t(" at "), when(question.deadline), t(said), *_approved_before(question))
        case QuestionState.CANCELLED:
            said = f" {_sentence(_UNANSWERED[question.kind])}{_note(question)}"
            return line(t("Cancelled.", bold=True), t(said, 800), *_approved_before(question))
        case QuestionState.UNDELIVERABLE:
            said = f" {_sentence(_UNANSWERED[question.kind])}{_note(question)}"
            return line(t("Could not be shown to anyone who may decide.", bold=True), t(said, 800))
        case _:
            assert_never(question.state)


def decision_text(question: Question) -> str:
    """The same in one plain sentence, for `text` fields (not yet escaped)."""
    match question.state:
        case QuestionState.OPEN if question.needed > 1:
            return f"{len(question.approvals)} of {question.needed} approvals, waits for another person"
        case QuestionState.OPEN:
            return "waits for a person"
        case QuestionState.EXPIRED:
            return "expired, nobody answered"
        case QuestionState.SUPERSEDED if question.answered_by is not None:
            return f"answered by {name(question.answered_by)}, but that did not count"
        case QuestionState.SUPERSEDED:
            return "no longer counts"
        case QuestionState.UNDELIVERABLE:
            return "could not be shown to anyone"
        case QuestionState.CANCELLED:
            return "cancelled"
        case QuestionState.ANSWERED:
            by = " and ".join([*(name(a.actor) for a in _counting(question)), name(question.answered_by)])
            return f"{_did(question).lower()} by {by}"
        case _:
            assert_never(question.state)


def name(actor: Actor | None) -> str:
    return actor.name or actor.user if actor else "somebody"


def _who(question: Question) -> tuple[Part, Part]:
    further = " (somebody who has not approved yet)" if question.approvals else ""
    return t("May decide: ", bold=True), t(f"{roles_in_words(question.roles)}{further}")


def _approvals(question: Question) -> Part:
    """ "1 of 2 approvals · approved by Lea Brandt at …", and why it takes more than one."""
    parts = [t(f"{len(question.approvals)} of {question.needed} approvals", bold=True)]
    for approval in question.approvals:
        parts += [t(f" · approved by {name(approval.actor)} at ", 200), when(approval.at)]
    why = str(question.payload.get("needed_why") or f"it takes {question.needed} different people")
    return line(*parts, t(" · ", bold=True), t(why, 400))


def _counting(question: Question) -> Sequence[Approval]:
    """The approvals that led to the answer; a refusal after them was one person's."""
    goes_on = question.answer is not None and question.answer.action in GOES_ON
    return question.approvals if goes_on else ()


def _answered(question: Question) -> Part:
    answer = question.answer
    if answer is None:
        return line(t("Answered.", bold=True))
    parts = [t(_did(question), bold=True), t(" by ")]
    for approval in _counting(question):
        parts += [t(f"{name(approval.actor)}, ", 200), when(approval.at), t(" and ")]
    parts.append(t(name(question.answered_by), 200))
    if question.answered_at:
        parts += [t(", "), when(question.answered_at)]
    before = () if answer.action in GOES_ON else _approved_before(question)
    return line(*parts, t(because(answer.reason) or ".", 1200), t(_note(question), 600), *before)


def _superseded(question: Question) -> Part:
    note = because(question.note) or "."
    if question.answered_by is None:
        return line(t("No longer counts", bold=True), t(note, 800), *_approved_before(question))
    parts = [t(f"{_did(question)} by {name(question.answered_by)}", 300)]
    if question.answered_at:
        parts += [t(", "), when(question.answered_at)]
    return line(*parts, t("; did not count", bold=True), t(note, 800))


def _approved_before(question: Question) -> list[Part]:
    parts: list[Part] = []
    for approval in question.approvals:
        parts += [t(f" Approved before by {name(approval.actor)}, ", 200), when(approval.at), t(".")]
    return parts


def _did(question: Question) -> str:
    action = question.answer.action if question.answer else "accept"
    if question.kind is QuestionKind.CHANGED_TOOL:
        return _DID_WITH_TOOL.get(action, _DID[action])
    if action == "accept" and "url" in question.payload:
        return "Agreed to be opened"
    return _DID[action]


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _note(question: Question) -> str:
    return f" {question.note}" if question.note else ""
