"""A reminder: a waiting question once more, in a message of its own, for those who may still decide it (spec H20, B3)."""

from __future__ import annotations

from bot.cards.deciding import above_staff, decision_text, mentioned, roles_in_words
from bot.cards.elements import line, rich, t, when
from bot.cards.rendered import Rendered
from bot.cards.text import escaped
from bot.cards.words import Mentions
from host.types import Question
from host.views import ReminderView

_OVERDUE = 2
"""The reminder from which on it shows in the channel too, whoever may decide."""


def render(view: ReminderView, *, mentions: Mentions) -> Rendered:
    question = view.question
    about = f"{question.ticket_id} · {view.headline}" if question.ticket_id else view.headline
    waits = f" {_who_waits(question)} It ends unanswered "
    name = "Last reminder" if view.number >= max(_OVERDUE, len(question.remind_at)) else "Reminder"
    told = line(t(f"{name}: ", bold=True), t(about, 600), t("."), t(waits, 300), when(question.deadline), t("."))
    where = line(t(f"The buttons are on its card{' above' if question.ticket_id else ''}."), *mentioned(question, mentions))
    broadcast = above_staff(question) or view.number >= _OVERDUE
    return Rendered(escaped(f"{name}: {about} · {decision_text(question)}", 1000), (rich(told, where),), broadcast)


def _who_waits(question: Question) -> str:
    if question.approvals:
        return f"{len(question.approvals)} of {question.needed} approvals are there; it waits for another one."
    return f"It waits for {roles_in_words(question.roles)}."
