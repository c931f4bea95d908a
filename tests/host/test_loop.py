"""What a run does next is a function of its journal, and the journal folds into what happened (spec H11, H14, H15)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from host import history, journal
from host.asks import edits_of
from host.config import Limits
from host.history import RunLog
from host.steps import STOPPED, Begin, CallModel, Review, RunCalls, Step, Stop, next_step, over_limit
from host.types import Flag, Outcome, OutcomeKind, QuestionKind, QuestionState, StopReason

LIMITS = Limits()
NOW = datetime(2026, 6, 2, 9, 0, tzinfo=UTC)
STARTED = journal.Started(by="staff-0007", user="U1", model="scripted", tools=(), prompt_digest="d")


def fold(*entries: Any, run_id: str = "run-1") -> RunLog:
    noted = [journal.Noted(seq=n, run_id=run_id, at=NOW, entry=entry) for n, entry in enumerate(entries, 1)]
    return history.fold(noted, "run-1")


def replied(turn: int, *calls: tuple[str, Any], **more: Any) -> journal.Replied:
    written = tuple(journal.CallWritten(id=f"run-1.c{turn}{i}", name=n, arguments=a) for i, (n, a) in enumerate(calls))
    return journal.Replied(raw="x", text="", calls=written, **more)


def ended(
    call: str, name: str = "shop.find_orders", kind: OutcomeKind = OutcomeKind.RESULT, step: str = "", text: str = "", ms: int = 1
) -> journal.Ended:
    outcome = Outcome(kind, text=text, step=step)
    server = name.partition(".")[0]
    return journal.Ended(call_id=f"run-1.{call}", tool=name, server=server, arguments={}, outcome=outcome, ms=ms)


def asked(call: str, kind: QuestionKind = QuestionKind.CONSENT, number: str = "q1", **payload: Any) -> journal.Asked:
    return journal.Asked(
        question_id=number,
        question_kind=kind,
        call_id=f"run-1.{call}",
        server="shop",
        roles=("staff",),
        deadline=NOW,
        digest="d",
        definition="d",
        payload={"arguments": {}, **payload},
    )


def closed(call: str, state: QuestionState = QuestionState.ANSWERED, number: str = "q1", **more: Any) -> journal.Closed:
    call_id = f"run-1.{call}"
    return journal.Closed(question_id=number, question_kind=QuestionKind.CONSENT, call_id=call_id, state=state, **more)


def step(*entries: Any, cancelled: bool = False, limits: Limits = LIMITS) -> Step:
    return next_step(fold(*entries), limits, cancelled)


LOOK = ("shop.find_orders", {"query": "kettle"})
DRAFT = ("desk.reply", {"text": "Hello."})


def test_a_run_begins_before_anything_else_and_not_at_all_when_it_was_stopped() -> None:
    assert step() == Begin()
    assert step(cancelled=True) == STOPPED


def test_after_the_beginning_the_model_is_asked() -> None:
    assert step(STARTED) == CallModel(only_reply=False)


def test_a_reply_with_calls_left_runs_them_before_the_model_is_asked_again() -> None:
    found = step(STARTED, replied(1, LOOK, LOOK), ended("c10"))
    assert isinstance(found, RunCalls)
    assert [call.ended is None for call in found.turn.calls] == [False, True]


def test_a_stopped_run_ends_what_it_began_and_then_itself() -> None:
    assert isinstance(step(STARTED, replied(1, LOOK), cancelled=True), RunCalls)
    stop = step(STARTED, replied(1, LOOK), ended("c10"), cancelled=True)
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.CANCELLED


def test_a_reply_is_reviewed_once_and_a_final_draft_ends_the_run() -> None:
    turn = (STARTED, replied(1, DRAFT), ended("c10", "desk.reply", text="Hello."))
    assert step(*turn) == Review("Hello.")
    stop = step(*turn, journal.Drafted(text="Hello.", flags=(), final=True))
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.ANSWERED


def test_a_draft_that_goes_back_gives_one_more_model_call() -> None:
    flag = Flag("Hello.", "nothing supports it", "action")
    looks = [e for n in range(1, 4) for e in (replied(n, LOOK), ended(f"c{n}0"))]
    back = (replied(4, DRAFT, only_reply=True), ended("c40", "desk.reply", text="Hello."))
    drafted = journal.Drafted(text="Hello.", flags=(flag,), final=False)
    assert step(STARTED, *looks, *back, drafted) == CallModel(only_reply=True)


def test_on_the_last_model_call_only_the_reply_is_offered_and_then_the_run_ends() -> None:
    looks = [e for n in range(1, 4) for e in (replied(n, LOOK), ended(f"c{n}0"))]
    assert step(STARTED, *looks) == CallModel(only_reply=True)
    stop = step(STARTED, *looks, replied(4, LOOK, only_reply=True), ended("c40", kind=OutcomeKind.REFUSED))
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.MAX_ITERATIONS


def test_a_persons_answer_gives_a_budget_of_its_own() -> None:
    looks = [e for n in range(1, 4) for e in (replied(n, LOOK), ended(f"c{n}0"))]
    fourth = (replied(4, ("shop.issue_refund", {"quote_id": "Q-1"})), asked("c40"))
    assert isinstance(step(STARTED, *looks, *fourth), RunCalls)
    answered = (closed("c40", action="approve"), ended("c40", "shop.issue_refund"))
    assert step(STARTED, *looks, *fourth, *answered) == CallModel(only_reply=False)
    one_more = (replied(5, LOOK), ended("c50"))
    assert step(STARTED, *looks, *fourth, *answered, *one_more) == CallModel(only_reply=True)


def test_time_at_model_and_servers_counts_and_peoples_time_does_not() -> None:
    slow = Limits(deadline_seconds=10)
    late = step(STARTED, replied(1, LOOK, seconds=6.0), ended("c10", ms=5000), limits=slow)
    assert isinstance(late, Stop)
    assert late.reason is StopReason.DEADLINE
    assert "10 seconds" in late.words


@pytest.mark.parametrize("second", [{"unreadable": "not closed"}, {}])
def test_a_second_reply_that_cannot_be_read_goes_to_a_person(second: dict[str, Any]) -> None:
    call = journal.CallWritten(id="run-1.c20", name="shop.find_orders", arguments={}, unreadable="no JSON")
    bad = replied(2, unreadable="not closed") if second else journal.Replied(raw="x", text="", calls=(call,))
    done = () if second else (ended("c20", kind=OutcomeKind.UNREADABLE),)
    assert step(STARTED, replied(1, unreadable="not closed")) == CallModel(only_reply=False)
    stop = step(STARTED, replied(1, unreadable="not closed"), bad, *done)
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.NEEDS_PERSON


def test_a_call_that_may_have_run_needs_a_person_whatever_the_reply_says() -> None:
    turns = (
        replied(1, ("shop.issue_refund", {"quote_id": "Q-1"})),
        ended("c10", "shop.issue_refund", OutcomeKind.MAY_HAVE_RUN),
        replied(2, DRAFT),
        ended("c20", "desk.reply", text="Hello."),
        journal.Drafted(text="Hello.", flags=(), final=True),
    )
    stop = step(STARTED, *turns)
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.NEEDS_PERSON


def limited(*entries: Any) -> list[str]:
    """The step at which each call of the last reply is refused, "" where it may go on."""
    log = fold(*entries)
    turn = log.turns[-1]
    found = [over_limit(log, turn, call, LIMITS) for call in turn.calls]
    return [outcome.step if outcome else "" for outcome in found]


def test_the_third_of_one_call_is_refused_and_spelling_makes_no_difference() -> None:
    def look(order: str) -> tuple[str, Any]:
        return ("shop.get_order_status", {"order_id": order, "sku": None})

    first = (replied(1, look("O-1145")), ended("c10"))
    second = (replied(2, ("shop.get_order_status", {"order_id": "o1145"})), ended("c20"))
    assert limited(STARTED, *first, replied(2, look("O-1145"))) == [""]
    assert limited(STARTED, *first, *second, replied(3, look("o 1145"))) == ["repeated"]
    assert limited(STARTED, *first, *second, replied(3, look("O-2289"))) == [""]


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (OutcomeKind.DECLINED, "person"),
        (OutcomeKind.EXPIRED, "person"),
        (OutcomeKind.REFUSED, "policy"),
        (OutcomeKind.REFUSED, "frozen"),
        (OutcomeKind.REFUSED, "pinned"),
    ],
)
def test_a_denied_call_asked_again_is_refused_at_once(kind: OutcomeKind, where: str) -> None:
    assert limited(STARTED, replied(1, LOOK), ended("c10", kind=kind, step=where), replied(2, LOOK)) == ["repeated"]


def test_a_call_refused_for_its_arguments_may_be_corrected() -> None:
    refused = ended("c10", kind=OutcomeKind.REFUSED, step="grounded")
    assert limited(STARTED, replied(1, LOOK), refused, replied(2, LOOK)) == [""]


def test_a_batch_that_passes_the_limit_is_refused_as_a_whole_but_its_reply() -> None:
    nine = [("shop.find_orders", {"query": str(n)}) for n in range(9)]
    assert limited(STARTED, replied(1, *nine, DRAFT)) == ["batch"] * 9 + [""]
    assert limited(STARTED, replied(1, *nine[:8])) == [""] * 8


def test_entries_of_another_run_are_not_this_runs() -> None:
    assert fold(STARTED, replied(1, LOOK), run_id="run-2") == RunLog("run-1")


def test_the_newest_question_of_a_call_counts() -> None:
    log = fold(
        STARTED,
        replied(1, LOOK),
        asked("c10", number="q1"),
        closed("c10", QuestionState.SUPERSEDED, number="q1"),
        asked("c10", number="q2"),
    )
    (call,) = log.calls
    newest = call.latest(QuestionKind.CONSENT)
    assert newest is not None
    assert (newest[0].question_id, newest[1]) == ("q2", None)


def test_a_round_whose_answer_was_sent_is_no_longer_open() -> None:
    needed = journal.InputNeeded(call_id="run-1.c10", round=1, pending={"requestState": "abc"})
    log = fold(STARTED, replied(1, LOOK), needed)
    assert log.calls[0].open_input() == needed
    sent = journal.RoundSent(call_id="run-1.c10", round=1)
    assert fold(STARTED, replied(1, LOOK), needed, sent).calls[0].open_input() is None


def test_call_ids_in_a_prompt_are_the_same_in_every_run() -> None:
    turn = fold(STARTED, replied(1, LOOK), ended("c10")).turns[0].turn()
    assert [call.id for call in turn.calls] == ["c10"]
    assert set(turn.outcomes) == {"c10"}


def test_what_a_person_edited_stays_when_the_edited_call_is_asked_once_more() -> None:
    log = fold(
        STARTED,
        replied(1, LOOK),
        asked("c10", number="q1"),
        closed("c10", number="q1", action="approve", content={"query": "pan"}),
        asked("c10", number="q2"),
    )
    assert edits_of(log.calls[0]) == {"query": "pan"}, "while it is asked"
    log.calls[0].closed["q2"] = closed("c10", number="q2", action="approve")
    assert edits_of(log.calls[0]) == {"query": "pan"}
    log.calls[0].closed["q1"] = closed("c10", number="q1", action="decline", content={"query": "pan"})
    assert edits_of(log.calls[0]) == {}, "only an approval edits"


def test_what_a_finished_run_gives_and_nothing_before_its_end() -> None:
    turns = (STARTED, replied(1, LOOK), ended("c10"), replied(2, DRAFT), ended("c20", "desk.reply", text="Hello."))
    drafted = journal.Drafted(text="Hello.", flags=(), final=True)
    assert history.answer(fold(*turns, drafted)) is None
    given = history.answer(fold(*turns, drafted, journal.Stopped(reason=StopReason.ANSWERED, words="the model replied")))
    assert given is not None
    assert (given.text, given.stop_reason) == ("Hello.", StopReason.ANSWERED)
    assert [(call.name, call.ok, call.duration_ms) for call in given.calls] == [("shop.find_orders", True, 1)], "no reply in it"
