"""Which card draws which state: the one place that knows all kinds."""

from __future__ import annotations

from typing import assert_never

from bot.cards import changed_tool, consent, draft, input_request, may_have_run, progress, ticket
from bot.cards.rendered import Rendered
from bot.cards.words import Mentions
from host.types import QuestionKind
from host.views import Card, DraftView, ProgressView, QuestionView, TicketView, ToolView


def draw(card: Card, mentions: Mentions) -> Rendered:
    match card:
        case TicketView():
            return ticket.render(card, mentions=mentions)
        case DraftView():
            return draft.render(card, mentions=mentions)
        case ProgressView():
            return progress.render(card, mentions=mentions)
        case ToolView():
            return changed_tool.render(card, mentions=mentions)
        case QuestionView():
            return _question(card, mentions)
        case _:
            assert_never(card)


def _question(view: QuestionView, mentions: Mentions) -> Rendered:
    match view.question.kind:
        case QuestionKind.CONSENT:
            return consent.render(view, mentions=mentions)
        case QuestionKind.INPUT_REQUEST:
            return input_request.render(view, mentions=mentions)
        case QuestionKind.MAY_HAVE_RUN:
            return may_have_run.render(view, mentions=mentions)
        case QuestionKind.SIGN_OFF | QuestionKind.CHANGED_TOOL:
            raise ValueError("it is drawn from a view of its own")
        case _:
            assert_never(view.question.kind)
