"""The card of a server's own question: who asks, its message as its claim, the record, and the way to the form or the address it
wants opened (spec B4, H22).

An address is shown as text and is nobody's link: it is neither opened nor fetched, and accepting supports no claim.
"""

from __future__ import annotations

from bot.cards import ids
from bot.cards.consent import argument_blocks
from bot.cards.deciding import GOES_ON, above_staff, decision, decision_text, roles_in_words, waiting
from bot.cards.elements import Block, Part, actions, bullets, button, code, confirm, header, line, own, pre, quote, rich, t
from bot.cards.forms import fields
from bot.cards.rendered import Rendered
from bot.cards.text import escaped, is_cut
from bot.cards.words import Mentions, money, outcome_line, records, server_parts, unverified
from host.types import Json, QuestionState
from host.views import QuestionView

_MESSAGE, _ARGUMENTS, _RECORDS = 1800, 1500, 1500
_URL, _WARNING = 4000, 300


def render(view: QuestionView, *, mentions: Mentions) -> Rendered:
    question = view.question
    blocks: list[Block] = [header(_title(view)), rich(*_asks(view)), *_address(view)]
    if known := records(question, _RECORDS):
        blocks.append(rich(*known))
    blocks += argument_blocks(view, _ARGUMENTS)
    if question.state is QuestionState.OPEN:
        lines = [*_wants(view), *_held_open(view), *waiting(question, mentions, view.nobody)]
        blocks += [rich(*lines), actions(*_buttons(view))]
    else:
        blocks.append(rich(decision(question), *_said(view), *_outcome(view)))
    text = f"{_title(view)} · {question.ticket_id} · {view.headline} · {decision_text(question)}"
    return Rendered(escaped(text, 1000), tuple(blocks), broadcast=above_staff(question))


def wants_opened(view: QuestionView) -> bool:
    """Whether the server wants an address opened, and asks for nothing to be filled in."""
    return "url" in view.question.payload


def _title(view: QuestionView) -> str:
    """Ours, not the server's words: those stand below as what they are."""
    who = roles_in_words(view.question.roles)
    if wants_opened(view):
        return f"{view.question.server} asks {who} to open a web address"
    amount = money(view.question)
    return f"{view.question.server} asks {who}{f' about {amount}' if amount else ''}"


def _asks(view: QuestionView) -> list[Part]:
    question = view.question
    intro = [t("Server ", bold=True), *server_parts(question, view.server_claims), t(" asks while running ")]
    tool = [code(str(question.payload.get("tool", ""))), t(f" · ticket {question.ticket_id} · its words:", 120)]
    shown = [line(*intro, *tool), quote(str(question.payload.get("message") or "(no message)"), _MESSAGE)]
    return [*shown, *unverified(view.ticket)]


def _address(view: QuestionView) -> list[Block]:
    if not wants_opened(view):
        return []
    payload = view.question.payload
    url = str(payload.get("url") or "")
    warnings = [line(t(f"Warning: {warning}", _WARNING, bold=True)) for warning in list(payload.get("warnings") or ())[:6]]
    leads = code(str(payload.get("domain") or "(no domain)"), 260)
    domain = line(t("It leads to ", bold=True), leads, t(" · the whole address:"))
    unopened = line(t("Deskhand has not opened it and never does. Copy it only if you trust where it leads."))
    blocks = [rich(*warnings, domain, pre(url, _URL), unopened)]
    if is_cut(url, _URL):
        blocks.append(own("The address is longer than what fits here: “Details” shows all of it."))
    return blocks


def _wants(view: QuestionView) -> list[Part]:
    if wants_opened(view):
        return []
    asked = [
        f"{field.title}{'' if field.required else ' (optional)'}" for field in fields(view.question.payload.get("schema") or {})
    ]
    return [line(t("The form asks for: ", bold=True), t(", ".join(asked) or "nothing but a yes", 800))]


def _held_open(view: QuestionView) -> list[Part]:
    """A server of the older protocol asks while its call stays open (spec H15)."""
    if view.question.resumable:
        return []
    words = "The server holds its call open for this answer: the question does not survive a restart of Deskhand."
    return [line(t(words, bold=True), t(" After one, the call is looked into, as it may have run."))]


def _said(view: QuestionView) -> list[Part]:
    answer = view.question.answer
    if answer is None or not answer.content:
        return []
    rows = [[t(f"{name}: ", 120, bold=True), t(_shown(value), 300)] for name, value in list(answer.content.items())[:10]]
    return [line(t("Answer given", bold=True)), bullets(rows)]


def _shown(value: Json) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one) for one in value) or "(none chosen)"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _outcome(view: QuestionView) -> list[Part]:
    """What became of the call; after an answer that makes it go on, also that it is on its way."""
    question, answer = view.question, view.question.answer
    goes_on = question.state is QuestionState.ANSWERED and answer is not None and answer.action in GOES_ON
    ended = view.outcome is not None and question.state is not QuestionState.SUPERSEDED
    return [outcome_line(view.outcome)] if ended or goes_on else []


def _buttons(view: QuestionView) -> list[Part]:
    question = view.question
    return [
        _open(view) if wants_opened(view) else _answer(view),
        button("Decline", ids.INPUT_DECLINE, question.id, style="danger"),
        button("Cancel", ids.INPUT_CANCEL, question.id),
        button("Details", ids.QUESTION_DETAILS, question.id),
    ]


def _answer(view: QuestionView) -> Part:
    amount = money(view.question)
    return button(f"Answer… ({amount})" if amount else "Answer…", ids.INPUT_ANSWER, view.question.id, style="primary")


def _open(view: QuestionView) -> Part:
    """Consent that the address be opened, and nothing more; a warned-of address is no primary button."""
    domain = str(view.question.payload.get("domain") or "an address without a domain")
    what = f"{view.question.server} is told that you agree to open {domain}. Deskhand itself opens nothing."
    asked = confirm("Agree to open this address?", what, "I agree", danger=bool(view.question.payload.get("warnings")))
    style = None if view.question.payload.get("warnings") else "primary"
    return button("I agree to open it", ids.INPUT_OPEN, view.question.id, style=style, confirm=asked)
