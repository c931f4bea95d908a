"""A tool that changed or is new since it was pinned: the difference, readable, and who may accept it (spec H7)."""

from __future__ import annotations

import difflib
import json
from typing import Any

from bot.cards import ids
from bot.cards.elements import Block, actions, button, code, confirm, header, line, own, pre, rich, t
from bot.cards.rendered import Rendered
from bot.cards.text import escaped, is_cut
from bot.cards.words import Mentions, decision, decision_text, server_parts, who_may
from host.types import QuestionState
from host.views import ToolView

_DIFF = 3000


def render(view: ToolView, *, mentions: Mentions) -> Rendered:
    question = view.question
    change = difference(question.payload.get("before"), question.payload.get("after"))
    about = [t("Server ", bold=True), *server_parts(question, view.server_claims), t(" · "), t("tool ", bold=True)]
    tool = code(str(question.payload.get("tool", "")))
    blocks: list[Block] = [header(view.headline), rich(line(*about, tool), pre(change or "(no difference)", _DIFF))]
    if is_cut(change, _DIFF):
        blocks.append(own("The difference is longer than what fits here: “Details” shows all of it."))
    if question.state is QuestionState.OPEN:
        asked = confirm("Accept this definition?", "The model will be offered the tool as it is described now.", "Accept")
        blocks.append(rich(line(t("The tool is off until somebody accepts it.", bold=True)), who_may(question, mentions)))
        blocks.append(
            actions(
                button("Accept", ids.TOOL_ACCEPT, question.id, style="primary", confirm=asked),
                button("Keep it off", ids.TOOL_DECLINE, question.id, style="danger"),
                button("Details", ids.QUESTION_DETAILS, question.id),
            )
        )
    else:
        blocks.append(rich(decision(question)))
    return Rendered(escaped(f"{view.headline} · {decision_text(question)}", 1000), tuple(blocks))


def difference(before: Any, after: Any) -> str:
    """Both definitions as JSON, as a unified difference without its header."""
    old, new = (json.dumps(side or {}, indent=1, ensure_ascii=False, sort_keys=True).splitlines() for side in (before, after))
    return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=1))[2:])
