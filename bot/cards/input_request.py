"""The card of a server's own question: who asks, its message as its claim, the record, the way to the form (spec B4, H22)."""

from __future__ import annotations

from bot.cards import ids
from bot.cards.consent import argument_blocks
from bot.cards.elements import Block, Part, actions, bullets, button, code, header, line, quote, rich, t
from bot.cards.forms import fields
from bot.cards.rendered import Rendered
from bot.cards.text import escaped
from bot.cards.words import (
    GOES_ON,
    Mentions,
    above_staff,
    decision,
    decision_text,
    money,
    outcome_line,
    question_records,
    record_lines,
    roles_in_words,
    server_parts,
    who_may,
)
from host.types import Json, QuestionState
from host.views import QuestionView

_MESSAGE = 2500
_ANSWER = 1500


def render(view: QuestionView, *, mentions: Mentions) -> Rendered:
    question = view.question
    blocks: list[Block] = [header(_title(view)), rich(*_asks(view))]
    for record in question_records(question)[:2]:
        blocks.append(rich(line(t("The record says", bold=True)), bullets(record_lines(record))))
    blocks += argument_blocks(view, 2500)
    if question.state is QuestionState.OPEN:
        blocks += [rich(_wants(view), who_may(question, mentions)), actions(*_buttons(view))]
    else:
        blocks.append(rich(decision(question), *_said(view), *_outcome(view)))
    text = f"{question.server} asks: {view.headline} · {question.ticket_id} · {decision_text(question)}"
    return Rendered(escaped(text, 1000), tuple(blocks), broadcast=above_staff(question))


def _title(view: QuestionView) -> str:
    """Ours, not the server's words: those stand below as what they are."""
    amount = money(view.question)
    return f"{view.question.server} asks {roles_in_words(view.question.roles)}{f' about {amount}' if amount else ''}"


def _asks(view: QuestionView) -> list[Part]:
    question = view.question
    intro = [t("Server ", bold=True), *server_parts(question, view.server_claims), t(" asks while running ")]
    tool = [code(str(question.payload.get("tool", ""))), t(f" · ticket {question.ticket_id} · its words:", 120)]
    shown = [line(*intro, *tool), quote(str(question.payload.get("message") or "(no message)"), _MESSAGE)]
    if url := question.payload.get("url"):
        shown.append(line(t("It names this address, which Deskhand has not opened: "), code(str(url), 1000)))
    return shown


def _wants(view: QuestionView) -> Part:
    asked = [
        f"{field.title}{'' if field.required else ' (optional)'}" for field in fields(view.question.payload.get("schema") or {})
    ]
    return line(t("The form asks for: ", bold=True), t(", ".join(asked) or "nothing but a yes", 800))


def _said(view: QuestionView) -> list[Part]:
    answer = view.question.answer
    if answer is None or not answer.content:
        return []
    rows = [[t(f"{name}: ", 120, bold=True), t(_shown(value), 300)] for name, value in list(answer.content.items())[:10]]
    return [line(t("Answer given", bold=True)), bullets(rows)]


def _shown(value: Json) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _outcome(view: QuestionView) -> list[Part]:
    answer = view.question.answer
    goes_on = answer is not None and answer.action in GOES_ON
    shown = view.question.state is QuestionState.ANSWERED and (view.outcome is not None or goes_on)
    return [outcome_line(view.outcome)] if shown else []


def _buttons(view: QuestionView) -> list[Part]:
    question = view.question
    amount = money(question)
    return [
        button(f"Answer… ({amount})" if amount else "Answer…", ids.INPUT_ANSWER, question.id, style="primary"),
        button("Decline", ids.INPUT_DECLINE, question.id, style="danger"),
        button("Cancel", ids.INPUT_CANCEL, question.id),
        button("Details", ids.QUESTION_DETAILS, question.id),
    ]
