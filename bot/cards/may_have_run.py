"""A call that may have run: nobody knows, so a person looks and says which (spec H13)."""

from __future__ import annotations

from bot.cards import ids
from bot.cards.consent import argument_blocks
from bot.cards.deciding import above_staff, decision, decision_text, waiting
from bot.cards.elements import Block, actions, button, code, confirm, header, line, rich, t
from bot.cards.rendered import Rendered
from bot.cards.text import escaped
from bot.cards.words import Mentions, server_parts
from host.types import QuestionState
from host.views import QuestionView


def render(view: QuestionView, *, mentions: Mentions) -> Rendered:
    question = view.question
    about = [t("Server ", bold=True), *server_parts(question, view.server_claims), t(" · "), t("tool ", bold=True)]
    why = str(question.payload.get("why") or "the connection was lost after the call was sent")
    told = line(t("May have run: ", bold=True), t(why, 600), t(". It is not tried again by itself. Please look at the server."))
    blocks: list[Block] = [header(view.headline), rich(line(*about, code(str(question.payload.get("tool", "")))), told)]
    blocks += argument_blocks(view, 4000)
    if question.state is QuestionState.OPEN:
        ran = confirm("It ran?", "The ticket goes on as if the call had succeeded.", "It ran")
        not_run = confirm("It did not run?", "The ticket goes on as if the call had never been made.", "It did not run")
        blocks.append(rich(*waiting(question, mentions, view.nobody)))
        blocks.append(
            actions(
                button("It ran", ids.IT_RAN, question.id, confirm=ran),
                button("It did not run", ids.IT_DID_NOT_RUN, question.id, confirm=not_run),
                button("Details", ids.QUESTION_DETAILS, question.id),
            )
        )
    else:
        blocks.append(rich(decision(question)))
    return Rendered(escaped(f"{view.headline} · {decision_text(question)}", 1000), tuple(blocks), broadcast=above_staff(question))
