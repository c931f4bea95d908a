"""Folds the journal's entries into what happened: runs, turns, calls.  Pure; a run's state is nothing else (spec H15)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from host import journal
from host.prompt import READ_RESOURCE, REPLY
from host.types import (
    Attached,
    HostAnswer,
    Outcome,
    OutcomeKind,
    ProposedCall,
    QuestionKind,
    QuestionState,
    ToolCallRecord,
    Turn,
)


@dataclass(slots=True)
class CallLog:
    """One call from the model's words to its outcome. `inputs` are the server's questions, by round."""

    written: journal.CallWritten
    asked: list[journal.Asked] = field(default_factory=list)
    closed: dict[str, journal.Closed] = field(default_factory=dict)
    approved: list[journal.Approved] = field(default_factory=list)
    intended: journal.Intended | None = None
    inputs: list[journal.InputNeeded] = field(default_factory=list)
    sent_rounds: set[int] = field(default_factory=set)
    ended: journal.Ended | None = None
    allowed_by: str = ""  # where no intent says it
    answered_at: datetime | None = None  # when people answered last
    #: What became of a question of an older server that nobody answered, while its call is in this process's hands.
    unanswered: Outcome | None = None

    def latest(self, kind: QuestionKind) -> tuple[journal.Asked, journal.Closed | None] | None:
        """The newest question of a kind and its end, if it has one."""
        for asked in reversed(self.asked):
            if asked.question_kind is kind:
                return asked, self.closed.get(asked.question_id)
        return None

    def open_input(self) -> journal.InputNeeded | None:
        """The server's question whose answer was not sent yet."""
        last = self.inputs[-1] if self.inputs else None
        return last if last is not None and last.round not in self.sent_rounds else None

    def inputs_answered(self) -> list[tuple[journal.Asked, journal.Closed]]:
        """Every question of the server that has an end, in order."""
        asked = [a for a in self.asked if a.question_kind is QuestionKind.INPUT_REQUEST]
        return [(a, self.closed[a.question_id]) for a in asked if a.question_id in self.closed]

    def answers_to(self, needed: journal.InputNeeded) -> list[tuple[journal.Asked, journal.Closed | None]]:
        asked = [a for a in self.asked if a.question_kind is QuestionKind.INPUT_REQUEST and a.payload["round"] == needed.round]
        return [(a, self.closed.get(a.question_id)) for a in asked]


@dataclass(slots=True)
class TurnLog:
    replied: journal.Replied
    calls: list[CallLog] = field(default_factory=list)
    drafted: journal.Drafted | None = None

    def turn(self, note: str = "") -> Turn:
        """For the prompt: call ids without their run's, so that the same ticket gives the same bytes (spec H24, M7)."""
        outcomes = {_short(c.written.id): c.ended.outcome for c in self.calls if c.ended is not None}
        calls = tuple(ProposedCall(_short(c.written.id), c.written.name, c.written.arguments) for c in self.calls)
        return Turn(self.replied.text, calls, outcomes, self.replied.unreadable, note)


@dataclass(slots=True)
class RunLog:
    """Everything one run did."""

    run_id: str
    started: journal.Started | None = None
    turns: list[TurnLog] = field(default_factory=list)
    stopped: journal.Stopped | None = None

    @property
    def calls(self) -> list[CallLog]:
        return [call for turn in self.turns for call in turn.calls]

    @property
    def corrections(self) -> int:
        return sum(1 for turn in self.turns if turn.drafted is not None and not turn.drafted.final)

    @property
    def unreadable(self) -> int:
        """Replies of which something could not be read."""
        return sum(1 for turn in self.turns if turn.replied.unreadable or any(c.written.unreadable for c in turn.calls))

    @property
    def busy_seconds(self) -> float:
        """Time spent by model and servers; people's time is not in it."""
        return sum(t.replied.seconds for t in self.turns) + sum(c.ended.ms for c in self.calls if c.ended) / 1000

    def person_answered(self) -> bool:
        """Whether a person has answered a question about a call of this run (spec H14: a budget of its own from there)."""
        return any(c.state is QuestionState.ANSWERED for call in self.calls for c in call.closed.values())

    def turns_after_answer(self) -> int:
        """Replies after the last turn in which a person answered."""
        for index in range(len(self.turns) - 1, -1, -1):
            if any(c.state is QuestionState.ANSWERED for call in self.turns[index].calls for c in call.closed.values()):
                return len(self.turns) - 1 - index
        return len(self.turns)


def _short(call_id: str) -> str:
    return call_id.rpartition(".")[2]


def fold(entries: Iterable[journal.Noted], run_id: str) -> RunLog:
    """One run's entries → what happened in it."""
    log = RunLog(run_id)
    calls: dict[str, CallLog] = {}
    for noted in entries:
        if noted.run_id == run_id:
            _apply(log, calls, noted)
    return log


def _apply(log: RunLog, calls: dict[str, CallLog], noted: journal.Noted) -> None:
    match noted.entry:
        case journal.Started() as started:
            log.started = started
        case journal.Replied() as replied:
            turn = TurnLog(replied, [CallLog(written) for written in replied.calls])
            calls.update({call.written.id: call for call in turn.calls})
            log.turns.append(turn)
        case journal.Drafted() as drafted:
            log.turns[-1].drafted = drafted
        case journal.Stopped() as stopped:
            log.stopped = stopped
        case (
            journal.Taken()
            | journal.Delivered()
            | journal.Freeze()
            | journal.DayClosed()
            | journal.Erased()
            | journal.Reminded()
            | journal.LookedBack()
        ):
            pass
        case entry:
            if entry.call_id in calls:
                _apply_to_call(calls[entry.call_id], entry)
                if isinstance(entry, journal.Closed) and entry.state is QuestionState.ANSWERED:
                    calls[entry.call_id].answered_at = noted.at


CallEntry = (
    journal.Asked | journal.Approved | journal.Closed | journal.Intended | journal.InputNeeded | journal.RoundSent | journal.Ended
)


def _apply_to_call(call: CallLog, entry: CallEntry) -> None:
    match entry:
        case journal.Asked():
            call.asked.append(entry)
        case journal.Approved():
            call.approved.append(entry)
        case journal.Closed():
            call.closed[entry.question_id] = entry
        case journal.Intended():
            call.intended = entry
        case journal.InputNeeded():
            call.inputs.append(entry)
        case journal.RoundSent():
            call.sent_rounds.add(entry.round)
        case journal.Ended():
            call.ended = entry


def runs(entries: Sequence[journal.Noted]) -> list[RunLog]:
    """All runs of a ticket, in order."""
    ids = dict.fromkeys(noted.run_id for noted in entries if noted.run_id)
    return [fold(entries, run_id) for run_id in ids]


def record(call: CallLog) -> ToolCallRecord | None:
    """One line of the call log, None while the call has no outcome."""
    if call.ended is None:
        return None
    ended = call.ended
    return ToolCallRecord(
        name=ended.tool,
        arguments=ended.arguments,
        ok=ended.outcome.ok,
        duration_ms=ended.ms,
        note=ended.outcome.why,
        call_id=ended.call_id,
        outcome=ended.outcome.kind,
        allowed_by=ended.allowed_by,
        data=ended.outcome.data,
        server=ended.server,
        text=ended.outcome.text,
        process=ended.process,
    )


def records(logs: Iterable[RunLog]) -> tuple[ToolCallRecord, ...]:
    """The call log over any runs of a ticket; the reply is no tool call (spec H29)."""
    found = (record(call) for log in logs for call in log.calls)
    return tuple(r for r in found if r is not None and r.name != REPLY)


def resources(logs: Iterable[RunLog]) -> tuple[Attached, ...]:
    """What the runs of a ticket read besides what every prompt holds: added by a person, or read by the model (spec H23)."""
    found: list[Attached] = []
    for log in logs:
        found += log.started.added if log.started is not None else ()
        for call in log.calls:
            if call.written.name == READ_RESOURCE and call.ended is not None and call.ended.outcome.ok:
                uri = str(call.ended.arguments.get("uri", ""))
                found.append(Attached(uri=uri, server="desk", text=call.ended.outcome.text))
    return tuple(found)


def answer(log: RunLog) -> HostAnswer | None:
    """What a finished run gives (spec H14), None while it is under way."""
    if log.stopped is None:
        return None
    draft = last_draft(log)
    return HostAnswer(draft.text if draft else "", log.stopped.reason, records((log,)))


def last_draft(log: RunLog) -> journal.Drafted | None:
    return next((turn.drafted for turn in reversed(log.turns) if turn.drafted is not None), None)


def may_have_run(log: RunLog) -> bool:
    return any(call.ended is not None and call.ended.outcome.kind is OutcomeKind.MAY_HAVE_RUN for call in log.calls)
