"""What a run does next, and which of its calls its limits forbid: a function of what happened and nothing else (spec H11, H14).

Pure. `loop` takes the steps; refuses to know models, servers and people.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from host import history, prompt
from host.config import Limits
from host.history import CallLog, RunLog, TurnLog
from host.store.codec import dumps
from host.types import Json, Outcome, OutcomeKind, StopReason


@dataclass(frozen=True, slots=True)
class Begin:
    """Write down what is offered."""


@dataclass(frozen=True, slots=True)
class CallModel:
    only_reply: bool


@dataclass(frozen=True, slots=True)
class RunCalls:
    turn: TurnLog


@dataclass(frozen=True, slots=True)
class Review:
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    reason: StopReason
    words: str


STOPPED = Stop(StopReason.CANCELLED, "a person stopped this run")
Step = Begin | CallModel | RunCalls | Review | Stop


def next_step(log: RunLog, limits: Limits, cancelled: bool) -> Step:
    """What a run does next; a function of what happened and nothing else."""
    if log.started is None:
        return STOPPED if cancelled else Begin()
    turn = log.turns[-1] if log.turns else None
    if turn is not None and any(call.ended is None for call in turn.calls):
        return RunCalls(turn)
    if cancelled:
        return STOPPED
    if turn is not None:
        text = _reply_text(turn)
        if text is not None and turn.drafted is None:
            return Review(text)
        if turn.drafted is not None and turn.drafted.final:
            return _end(log)
        if log.unreadable >= 2:
            return Stop(StopReason.NEEDS_PERSON, "the model's reply could not be read twice")
    if log.busy_seconds > limits.deadline_seconds:
        return too_long(limits)
    left = _model_calls_left(log, limits)
    if left <= 0:
        return Stop(StopReason.MAX_ITERATIONS, "the limit of model calls was reached without a reply")
    return CallModel(only_reply=left == 1 or (turn is not None and (_at_a_limit(turn) or _only_words_wrong(turn))))


def too_long(limits: Limits) -> Stop:
    return Stop(StopReason.DEADLINE, f"the run took longer than {limits.deadline_seconds:.0f} seconds of work")


def _reply_text(turn: TurnLog) -> str | None:
    for call in turn.calls:
        if call.written.name == prompt.REPLY and call.ended is not None and call.ended.outcome.ok:
            return call.ended.outcome.text
    return None


def _model_calls_left(log: RunLog, limits: Limits) -> int:
    """Spec H14: a budget, one more after a correction, and a budget of its own after a person's answer."""
    if not log.person_answered():
        return limits.model_calls + log.corrections - len(log.turns)
    after = log.turns_after_answer()
    corrected = sum(1 for t in log.turns[len(log.turns) - after :] if t.drafted is not None and not t.drafted.final)
    return limits.model_calls_after_answer + corrected - after


def _only_words_wrong(turn: TurnLog) -> bool:
    """A draft went back, and no act is missing: another look-up would change nothing, the words have to."""
    drafted = turn.drafted
    return drafted is not None and not drafted.final and all(flag.tag != "action" for flag in drafted.flags)


def _at_a_limit(turn: TurnLog) -> bool:
    return any(call.ended is not None and call.ended.outcome.step in ("repeated", "batch") for call in turn.calls)


def _end(log: RunLog) -> Stop:
    if history.may_have_run(log):
        return Stop(StopReason.NEEDS_PERSON, "a call may have run: somebody has to look before the customer is told")
    if any(call.ended is not None and call.ended.outcome.step == "repeated" for call in log.calls):
        return Stop(StopReason.REPEATED_CALL, "the model asked for the same call again and was told to reply")
    if log.turns[-1].replied.only_reply and not log.person_answered() and log.corrections == 0:
        return Stop(StopReason.MAX_ITERATIONS, "the limit of model calls was reached; the reply was the last one")
    return Stop(StopReason.ANSWERED, "the model replied")


def over_limit(log: RunLog, turn: TurnLog, call: CallLog, limits: Limits) -> Outcome | None:
    """Limits of the whole batch first, then of one normalised call (spec H11, H14)."""
    if call.written.name == prompt.REPLY:
        return None
    if turn.replied.only_reply:
        return Outcome(OutcomeKind.REFUSED, "the run is at its limit: nothing but the reply could be called", step="batch")
    servers_calls = [c for c in log.calls if c.written.name != prompt.REPLY]
    if len(servers_calls) > limits.tool_calls:
        why = f"more than {limits.tool_calls} tool calls in one run: none of this batch ran; reply now"
        return Outcome(OutcomeKind.REFUSED, why, step="batch")
    same = [c for c in log.calls if c is not call and c.ended is not None and _same(c, call)]
    if any(_denied(c) for c in same) or len(same) >= limits.same_call:
        return Outcome(OutcomeKind.REFUSED, "this very call was answered already; do not ask again, reply now", step="repeated")
    return None


_DENIED = (OutcomeKind.DECLINED, OutcomeKind.EXPIRED)
_DENIED_AT = ("policy", "frozen", "pinned", "pilot")


def _denied(call: CallLog) -> bool:
    outcome = call.ended.outcome if call.ended else Outcome(OutcomeKind.RESULT)
    return outcome.kind in _DENIED or (outcome.kind is OutcomeKind.REFUSED and outcome.step in _DENIED_AT)


def _same(one: CallLog, other: CallLog) -> bool:
    """Spelling makes no difference: as written, and as the host read it."""
    if one.written.name != other.written.name:
        return False
    forms = [one.written.arguments, *(asked.payload["arguments"] for asked in one.asked)]
    forms += [one.intended.arguments] if one.intended else []
    return _spelt(other.written.arguments) in [_spelt(form) for form in forms]


def _spelt(arguments: Mapping[str, Json]) -> str:
    given = {key: _whole(value) for key, value in arguments.items() if value is not None}
    return re.sub(r"(?<!\d)\.|\.(?!\d)|(?<=\w)-|-(?!\d)|[^\w{}\[\],:.-]", "", dumps(given)).casefold()


def _whole(value: Json) -> Json:
    """10.0 is 10, as JSON has it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
