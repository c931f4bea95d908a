"""The consent card: what would happen, for whom, why, with every argument in full, and who may decide (spec B3, H18)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from bot.cards import ids
from bot.cards.deciding import GOES_ON, above_staff, count_words, decision, decision_text, waiting
from bot.cards.elements import (
    Block,
    Part,
    actions,
    bullets,
    button,
    code,
    confirm,
    header,
    line,
    own,
    pre,
    quote,
    rich,
    t,
    weight,
)
from bot.cards.rendered import Rendered
from bot.cards.text import escaped, is_cut, one_line
from bot.cards.words import (
    OUTCOMES,
    Mentions,
    money,
    outcome_line,
    provenance_words,
    question_records,
    records,
    server_parts,
    unverified,
)
from host.types import Json, Question, QuestionState
from host.views import QuestionView

_SHORT = 200
_ARGUMENT = 4000
_ALL_ARGUMENTS = 4000
_RECORDS = 2300
_SENTENCES = 900
_MOST_ELEMENTS = 90


def render(view: QuestionView, *, mentions: Mentions) -> Rendered:
    question = view.question
    blocks: list[Block] = [header(view.headline), rich(_asks(view))]
    if question.state is QuestionState.OPEN:
        blocks += [*_why(view), *argument_blocks(view, _ALL_ARGUMENTS), *_earlier(view)]
        blocks += [rich(*waiting(question, mentions, view.nobody)), actions(*_buttons(view))]
    else:
        blocks += argument_blocks(view, _ALL_ARGUMENTS)
        blocks.append(rich(decision(question), *_outcome(view)))
    text = f"{view.headline} · {question.ticket_id} · {decision_text(question)}"
    return Rendered(escaped(text, 1000), tuple(blocks), broadcast=above_staff(question))


def argument_blocks(view: QuestionView, budget: int) -> list[Block]:
    """Every argument, whole while they fit `budget`; what doesn't is cut visibly, and Details has it whole. Short ones come
    first, so that no long one hides them."""
    arguments: Mapping[str, Json] = view.question.payload.get("arguments") or {}
    if not arguments:
        return [rich(line(t("Arguments: ", bold=True), t("none")))]
    texts = {name: value if isinstance(value, str) else _compact(value) for name, value in arguments.items()}
    elements: list[Part] = [line(t("Arguments", bold=True))]
    whole, left = True, budget
    for name, text in sorted(texts.items(), key=lambda one: _is_long(one[1])):
        if left < _SHORT or len(elements) > _MOST_ELEMENTS:
            whole = False
            break
        room = min(_ARGUMENT, left)
        made = _argument(view, name, text, room)
        elements += made
        whole = whole and not is_cut(text, room)
        left -= weight(made)
    blocks = [rich(*elements)]
    if not whole:
        blocks.append(own("Not all of it fits here: “Details” shows every argument whole."))
    return blocks


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_long(text: str) -> bool:
    return len(text) > _SHORT or "\n" in text


def origin_parts(view: QuestionView, name: str) -> list[Part]:
    origin = (view.question.payload.get("provenance") or {}).get(name)
    if origin is None:
        return []
    return [t(f" · {provenance_words(str(origin.get('source', '')), view.earlier)}", 200, italic=True)]


def sentences(view: QuestionView) -> str:
    """The customer's own words: all of a short message; of a long one the sentences that name what the call is about, each with
    its neighbours, or the beginning when none does."""
    body = view.ticket.body.strip()
    if len(body) <= _SENTENCES:
        return body
    split = [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", body) if sentence.strip()]
    wanted = _numbers(view)
    naming = {n for n, sentence in enumerate(split) if any(number in re.sub(r"\D", "", sentence) for number in wanted)}
    near = sorted({m for n in naming for m in (n - 1, n, n + 1) if 0 <= m < len(split)})
    return " ".join(split[n] if n - 1 in near or n == 0 else f"… {split[n]}" for n in near) or body


def _numbers(view: QuestionView) -> set[str]:
    """The digits of every identifier that the call or its records hold; people write "o7144" for "O-7144"."""
    values = list((view.question.payload.get("arguments") or {}).values())
    values += [value for record in question_records(view.question) for value in record.values()]
    texts = [value for value in values if isinstance(value, str) and len(value) <= 40]
    return {digits for value in texts if len(digits := re.sub(r"\D", "", value)) >= 3}


def _asks(view: QuestionView) -> Part:
    question = view.question
    parts = [t("Server ", bold=True), *server_parts(question, view.server_claims), t(" · "), t("tool ", bold=True)]
    return line(*parts, code(str(question.payload.get("tool", ""))), t(f" · ticket {question.ticket_id}", 80))


def _why(view: QuestionView) -> list[Block]:
    wrote = line(t("The customer wrote", bold=True))
    elements = [*unverified(view.ticket), wrote, quote(sentences(view) or "(no text)", _SENTENCES)]
    elements += records(view.question, _RECORDS)
    if rule := str(view.question.payload.get("rule") or ""):
        elements.append(line(t("Asked because: ", bold=True), t(rule, 500)))
    return [rich(*elements)]


def _argument(view: QuestionView, name: str, text: str, room: int) -> list[Part]:
    head = [t(f"{name}: ", 120, bold=True)]
    if not _is_long(text):
        return [line(*head, code(text, room), *origin_parts(view, name))]
    return [line(*head, *origin_parts(view, name)), pre(text, room)]


def _earlier(view: QuestionView) -> list[Block]:
    if not view.earlier:
        return [rich(line(t("Earlier in this ticket: ", bold=True), t("no call has run.")))]
    rows = [
        [code(call.name, 80), t(f" {OUTCOMES[call.outcome]}"), t(f" · {call.note}" if call.note else "", 120)]
        for call in view.earlier[-6:]
    ]
    return [rich(line(t("Earlier in this ticket", bold=True)), bullets(rows))]


def _outcome(view: QuestionView) -> list[Part]:
    answer = view.question.answer
    shown = view.outcome is not None or (answer is not None and answer.action in GOES_ON)
    return [outcome_line(view.outcome)] if shown and view.question.state is QuestionState.ANSWERED else []


def _buttons(view: QuestionView) -> list[Part]:
    question = view.question
    label = approve_label(view)
    made = [
        button(
            label,
            ids.CONSENT_APPROVE,
            question.id,
            style="primary",
            confirm=_asked(view),
            label=f"{label}, ticket {question.ticket_id}",
        ),
        button("Decline…", ids.CONSENT_DECLINE, question.id, style="danger"),
    ]
    if may_edit(question):
        made.append(button("Edit…", ids.CONSENT_EDIT, question.id))
    return [*made, button("Details", ids.QUESTION_DETAILS, question.id)]


def approve_label(view: QuestionView) -> str:
    """ "Approve", or with verb and amount where money moves, and which of several it is: "Approve: refund 343.49 EUR (first of
    2 approvals)"."""
    which = f" ({count_words(view.question)})" if view.question.needed > 1 else ""
    return f"Approve: {one_line(what, 70 - len(which))}{which}" if (what := _what(view)) else f"Approve{which}"


def _what(view: QuestionView) -> str:
    """ "refund 343.49 EUR": verb and amount, or the amount alone; "" where no money moves."""
    amount = money(view.question)
    what, found, _ = view.headline.partition(amount) if amount else ("", "", "")
    verb = f"{what.strip()[:1].lower()}{what.strip()[1:]} " if found and len(what) <= 40 else ""
    return f"{verb}{amount}"


def _asked(view: QuestionView) -> Part | None:
    """The dialog before money moves, or before one of several people approves: it says what this press does."""
    question = view.question
    if not money(question) and question.needed == 1:
        return None
    last = len(question.approvals) + 1 >= question.needed
    then = "This can't be taken back here." if last else "Nothing runs until somebody else approves it too."
    return confirm("Approve this?", f"{one_line(view.headline, 200)}. {then}", _yes(view), danger=True)


def may_edit(question: Question) -> tuple[str, ...]:
    return tuple(question.payload.get("may_edit") or ())


def _yes(view: QuestionView) -> str:
    """ "Yes, refund 343.49 EUR": verb and amount, or the amount alone where both don't fit."""
    said = _what(view) or "approve"
    return f"Yes, {said}" if len(said) <= 25 else one_line(f"Yes, {money(view.question)}", 30)
