"""A ticket's journal, folded into the row that figures are made of (spec H29).  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from host import history
from host.history import RunLog
from host.score import TicketResult, first_tool
from host.types import QuestionKind


def result(ticket_id: str, logs: Sequence[RunLog]) -> TicketResult:
    """Over all runs of a ticket; draft, flags and stop reason are the last one's."""
    turns = [turn for log in logs for turn in log.turns]
    calls = [call for turn in turns for call in turn.calls]
    asked = [(question, call) for call in calls for question in call.asked]
    replies = [turn.replied for turn in turns]
    draft = history.last_draft(logs[-1]) if logs else None
    return TicketResult(
        ticket_id=ticket_id,
        calls=history.records(logs),
        draft=draft.text if draft else "",
        flags=draft.flags if draft else (),
        stop_reason=logs[-1].stopped.reason if logs and logs[-1].stopped else None,
        first_tool=first_tool([call.written.name for call in calls]),
        consents=tuple(call.written.name for question, call in asked if question.question_kind is QuestionKind.CONSENT),
        input_requests=sum(question.question_kind is QuestionKind.INPUT_REQUEST for question, _ in asked),
        model_calls=len(replies),
        model_seconds=sum(reply.seconds for reply in replies),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        evaluated_tokens=sum(reply.evaluated_tokens for reply in replies),
        sampled_tokens=sum(reply.sampled_tokens for reply in replies),
        forced_tokens=sum(reply.forced_tokens for reply in replies),
        prompt_digest=logs[-1].started.prompt_digest if logs and logs[-1].started else "",
    )
