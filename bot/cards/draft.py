"""The draft card: the reply as the customer would get it, its flags beside the sentences, the log of what ran (spec B5, H25)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.cards import ids
from bot.cards.deciding import decision, decision_text, waiting
from bot.cards.elements import Block, Part, actions, bullets, button, code, confirm, header, line, own, rich, t, weight
from bot.cards.rendered import Rendered
from bot.cards.text import cut, escaped, is_cut, pieces
from bot.cards.words import OUTCOMES, Mentions, arguments_in_words, seconds, unverified
from host.types import Flag, QuestionState, StopReason, ToolCallRecord
from host.views import DraftView, by_sentence

_REPLY = 4500
_LOG = 3000
_FLAGS = 1800
_STOPPED = {
    StopReason.ANSWERED: "the reply is finished",
    StopReason.MAX_ITERATIONS: "the limit of model calls was reached",
    StopReason.REPEATED_CALL: "the model asked for the same call again",
    StopReason.DEADLINE: "the time for this ticket ran out",
    StopReason.NEEDS_PERSON: "a person is needed: what the customer asked for was not done",
    StopReason.CANCELLED: "it was stopped",
    StopReason.FAILED: "it failed",
}


def render(view: DraftView, *, mentions: Mentions) -> Rendered:
    view = replace(view, flags=by_sentence(view.flags))
    question = view.question
    blocks: list[Block] = [header(_title(view)), rich(_about(view), *unverified(view.ticket))]
    blocks.append(rich({"type": "rich_text_quote", "elements": marked(view.text, view.flags, _REPLY)}))
    if is_cut(view.text, _REPLY):
        blocks.append(own("The reply is longer than what fits here: “Edit and send…” shows all of it."))
    blocks += [*_flags(view), *_log(view)]
    if question.state is QuestionState.OPEN:
        blocks += [rich(*waiting(question, mentions, view.nobody)), actions(*_buttons(view))]
    else:
        blocks.append(rich(decision(question), *_delivery(view)))
    text = f"Draft for {question.ticket_id} · {_flag_words(view.flags)} · {_state_words(view)}"
    return Rendered(escaped(text, 1000), tuple(blocks))


def marked(text: str, flags: Sequence[Flag], budget: int) -> list[Part]:
    """The reply with each flagged sentence in bold and its flag's number behind it, cut as a whole at `budget`."""
    text = cut(text, budget)
    places = sorted(
        (text.find(cut(f.sentence, budget)), n, cut(f.sentence, budget)) for n, f in enumerate(flags, 1) if f.sentence
    )
    parts: list[Part] = []
    done = 0
    for start, number, sentence in places:
        if start < done:  # not in what is shown, or the same sentence flagged twice
            if start >= 0 and parts:
                parts.append(t(f" ⚑{number}", bold=True))
            continue
        parts += [t(piece) for piece in pieces(text[done:start], 2900)]
        parts += [t(piece, bold=True) for piece in pieces(sentence, 2900)]
        parts.append(t(f" ⚑{number}", bold=True))
        done = start + len(sentence)
    parts += [t(piece) for piece in pieces(text[done:], 2900)]
    return parts or [t("(no text)")]


def log_rows(calls: Sequence[ToolCallRecord], budget: int) -> list[list[Part]]:
    """The call log, one bullet a call: tool, arguments, outcome, who allowed it, seconds (spec B5)."""
    return [
        [
            code(call.name, 80),
            t(f" {arguments_in_words(call.arguments)}", budget),
            t(f" · {OUTCOMES[call.outcome]}", bold=not call.ok),
            t(f" · allowed by {call.allowed_by or 'nobody'} · {seconds(call.duration_ms)}", 160),
            t(f" · {call.note}" if call.note else "", 200),
        ]
        for call in calls
    ]


def _title(view: DraftView) -> str:
    return f"Draft reply · {view.question.ticket_id} · {_flag_words(view.flags)}"


def _flag_words(flags: Sequence[Flag]) -> str:
    return "no flags" if not flags else f"{len(flags)} sentence{'s' if len(flags) > 1 else ''} flagged"


def _about(view: DraftView) -> Part:
    to = f"{view.ticket.sender_name} <{view.ticket.sender_mail}>"
    why = _STOPPED[view.stop_reason]
    ended = f" · {why}" if view.stop_reason is StopReason.ANSWERED else f" · stopped because {why}"
    written = f" · written by {view.model}" if view.model else ""
    return line(t("To ", bold=True), t(to, 300), t(f"{ended}{written}", 300))


def _flags(view: DraftView) -> list[Block]:
    if not view.flags:
        return []
    room = max(_FLAGS // (2 * len(view.flags)), 60)
    rows = [
        [t(f"⚑{n} ", bold=True), t(f"“{cut(f.sentence, room)}”", room + 2), t(f" {cut(f.why, room)}", bold=True)]
        for n, f in enumerate(view.flags[:15], 1)
    ]
    more = [line(t(f"and {len(view.flags) - 15} more flags."))] if len(view.flags) > 15 else []
    return [rich(line(t("Nothing that ran supports these sentences:", bold=True)), bullets(rows), *more)]


def _log(view: DraftView) -> list[Block]:
    if not view.calls:
        return [rich(line(t("What really ran: ", bold=True), t("Nothing ran.")))]
    rows = log_rows(view.calls, 240)
    shown = len(rows)
    while shown and weight(rows[:shown]) > _LOG:
        shown -= 1
    blocks = [rich(line(t("What really ran", bold=True)), bullets(rows[:shown]))]
    if shown < len(rows):
        blocks.append(own(f"{len(rows) - shown} more calls: “Call log” shows all of them."))
    return blocks


def _delivery(view: DraftView) -> list[Part]:
    words = {
        "sending": "The reply is on its way.",
        "sent": f"Delivered to the customer, receipt {view.receipt}.",
        "unknown": f"Nobody knows whether the reply reached the customer; it is not sent again by itself. {view.receipt}",
        "failed": f"The reply was NOT delivered. {view.receipt}",
    }
    return [line(t("Delivery: ", bold=True), t(words[view.delivery], 600))] if view.delivery in words else []


def _state_words(view: DraftView) -> str:
    return f"delivery: {view.delivery}" if view.delivery else decision_text(view.question)


def _buttons(view: DraftView) -> list[Part]:
    question = view.question
    made = [
        _send(view),
        button("Edit and send…", ids.DRAFT_EDIT, question.id),
        button("Reject…", ids.DRAFT_REJECT, question.id, style="danger"),
        button("Work again…", ids.DRAFT_AGAIN, question.id),
    ]
    return [*made, button("Call log", ids.DRAFT_LOG, question.id)] if view.calls else made


def _send(view: DraftView) -> Part:
    """Flagged and `confirm`: a dialog asks once more. Flagged and `refuse`: the host answers the press with the reason."""
    if not view.flags:
        return button("Send", ids.DRAFT_SEND, view.question.id, style="primary")
    if view.on_flag != "confirm":
        return button("Send", ids.DRAFT_SEND, view.question.id)
    what = f"{_flag_words(view.flags).capitalize()}: nothing that ran supports it. Send it all the same?"
    asked = confirm("Send a flagged reply?", what, "Send all the same", "Don't send", danger=True)
    return button("Send", ids.DRAFT_SEND_CONFIRMED, view.question.id, confirm=asked)
