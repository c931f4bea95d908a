"""A tool that changed or is new since it was pinned: what differs, readable, and who may accept it (spec H7).

It belongs to no ticket, so it stands in the channel itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from bot.cards import ids
from bot.cards.deciding import decision, decision_text, waiting
from bot.cards.differences import Difference, differences, hidden_in, hidden_words
from bot.cards.elements import Block, Part, actions, button, code, confirm, header, line, own, rich, t, weight
from bot.cards.rendered import Rendered
from bot.cards.text import cut, escaped, is_cut
from bot.cards.words import Mentions, server_parts
from host.types import QuestionState
from host.views import ToolView

_SIDE, _ALL, _MOST = 900, 5500, 25
_WORDS = 600
"""Words of a text at most that are compared one by one; longer ones are shown whole, without marks."""


def render(view: ToolView, *, mentions: Mentions) -> Rendered:
    question = view.question
    found = differences(question.payload.get("before"), question.payload.get("after"))
    blocks: list[Block] = [header(view.headline), rich(_about(view), *_why(view)), *_shown(found)]
    if question.state is QuestionState.OPEN:
        off = line(t("The tool is off until an admin accepts it; nothing else waits for this.", bold=True))
        blocks += [rich(off, *waiting(question, mentions, view.nobody)), actions(*_buttons(view))]
    else:
        blocks.append(rich(decision(question), *_after(view)))
    return Rendered(escaped(f"{view.headline} · {decision_text(question)}", 1000), tuple(blocks))


def marked(was: str, now: str) -> tuple[list[Part], list[Part]]:
    """Both texts, with the words that went struck through in the one and the words that came in bold in the other."""
    old, new = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (was, now))
    if max(len(old), len(new)) > _WORDS:
        return [t(cut(was, _SIDE))], [t(cut(now, _SIDE))]
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    gone = [("".join(old[a:b]), tag != "equal") for tag, a, b, _, _ in steps]
    came = [("".join(new[a:b]), tag != "equal") for tag, _, _, a, b in steps]
    return _run(gone, "strike"), _run(came, "bold")


def _run(pieces: Sequence[tuple[str, bool]], style: str) -> list[Part]:
    """The pieces one after another, as many as fit."""
    left, parts = _SIDE, list[Part]()
    for text, changed in pieces:
        if text and left > 0:
            part = t(text, left)
            parts.append({**part, "style": {style: True}} if changed else part)
            left -= weight([part])
    return parts


def _about(view: ToolView) -> Part:
    question = view.question
    about = [t("Server ", bold=True), *server_parts(question, view.server_claims), t(" · "), t("tool ", bold=True)]
    return line(*about, code(str(question.payload.get("tool", ""))))


def _why(view: ToolView) -> list[Part]:
    why = str(view.question.payload.get("why") or "")
    return [line(t("Off because: ", bold=True), t(why, 900))] if why else []


def _shown(found: Sequence[Difference]) -> list[Block]:
    if not found:
        return [rich(line(t("Nothing in it differs from what was accepted.")))]
    elements: list[Part] = []
    whole = True
    for one in found[:_MOST]:
        if weight(elements) > _ALL:
            break
        elements += _difference(one)
        whole = whole and not any(is_cut(side or "", _SIDE) for side in (one.was, one.now))
        shown = one
    blocks = [rich(*elements)]
    if not whole or shown is not found[-1]:
        blocks.append(own("Not all of the difference fits here: “Details” shows all of it."))
    return blocks


def _difference(one: Difference) -> list[Part]:
    title = line(t(f"{one.what} {one.verb}", 300, bold=True))
    if one.was is None or one.now is None:
        side = one.now if one.was is None else one.was
        return [title, _quoted("now" if one.was is None else "was", [t(side or "(empty)", _SIDE)]), *_hidden(one)]
    was, now = marked(one.was, one.now)
    return [title, _quoted("was", was), _quoted("now", now), *_hidden(one)]


def _quoted(which: str, parts: Sequence[Part]) -> Part:
    return {"type": "rich_text_quote", "elements": [t(f"{which}: ", italic=True), *(parts or [t("(empty)")])]}


def _hidden(one: Difference) -> list[Part]:
    count = hidden_in(one.now or "")
    return [line(t(hidden_words(count), bold=True))] if count else []


def _after(view: ToolView) -> list[Part]:
    """What the decision means; nothing where the note says it already."""
    question = view.question
    if question.state is not QuestionState.ANSWERED or question.answer is None:
        return []
    accepted = question.answer.action == "accept"
    words = "The model is offered it from the next ticket on." if accepted else "It stays off until its definition changes again."
    return [line(t(words))]


def _buttons(view: ToolView) -> list[Part]:
    question = view.question
    tool = str(question.payload.get("tool", ""))
    asked = confirm("Accept this definition?", f"The model will be offered {tool} as it is described now.", "Accept")
    return [
        button("Accept", ids.TOOL_ACCEPT, question.id, style="primary", confirm=asked, label=f"Accept {tool}"),
        button("Keep it off", ids.TOOL_DECLINE, question.id, style="danger"),
        button("Details", ids.QUESTION_DETAILS, question.id),
    ]
