"""Where consent happens: asked once, answered once, by the right person, in time, and only for what was shown (spec H18-H22)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host import journal
from host.config import HostConfig
from host.questions import Ask, Late, Questions, digest
from host.signal import Signal
from host.store import outbox, tickets
from host.store import questions as rows
from host.store.engine import Store
from host.types import (
    SERVICE,
    Actor,
    Answer,
    NotTaken,
    Question,
    QuestionKind,
    QuestionState,
    RoleName,
    Run,
    RunState,
    StopReason,
    Taken,
    Ticket,
)

pytestmark = pytest.mark.anyio

STAFF = Actor("staff-0007", "U7", "Noor Bakker", frozenset({"staff"}))
LEAD = Actor("lead-0002", "U2", "Jonas Weber", frozenset({"lead"}))
GUEST = Actor("", "U9", "A guest")
RUN = "run-1"
FORM = {
    "type": "object",
    "properties": {"release": {"type": "boolean"}, "mail": {"type": "string", "format": "email"}},
    "required": ["release"],
}


class Desk:
    """The questions over one waiting run; `definition` is what the tool's definition is now."""

    def __init__(self, store: Store, clock: Any, changed: Signal) -> None:
        self.definition = "def-1"
        self.store, self.clock, self.run = store, clock, Run(RUN, "T-9001", RunState.WORKING, SERVICE, clock.now())
        self.questions = Questions(store, HostConfig(servers={}), clock, changed, lambda _: self.definition)

    async def ask(
        self, kind: QuestionKind = QuestionKind.CONSENT, needed: int = 1, resumable: bool = True, **payload: Any
    ) -> Question:
        roles: tuple[RoleName, ...] = ("lead",) if kind is QuestionKind.INPUT_REQUEST else ("staff", "lead")
        call_id = "" if kind is QuestionKind.SIGN_OFF else "run-1.c1"
        payload = {"tool": "shop.issue_refund", "arguments": {}, "schema": FORM, **payload}
        ask = Ask(kind, call_id, "shop", roles, "digest", "def-1", payload, needed, resumable)
        async with self.store.write() as tx:
            return await self.questions.ask(tx, self.run, ask)

    async def delivered(self, question: Question) -> None:
        """Its card stands in the channel."""
        async with self.store.write() as tx:
            found = await outbox.by_key(tx, f"question:{question.id}")
            assert found is not None
            await outbox.done(tx, found[0], {"channel": "C1", "ts": "1.1"})

    async def late(self) -> int:
        return (await self.questions.look_at_the_clock()).ended

    async def state(self, question: Question) -> QuestionState:
        async with self.store.read() as tx:
            return (await rows.get(tx, question.id)).state

    async def run_state(self) -> RunState:
        async with self.store.read() as tx:
            return (await tickets.run(tx, RUN)).state

    async def closed(self) -> list[journal.Closed]:
        async with self.store.read() as tx:
            return [n.entry for n in await journal.entries(tx, "T-9001") if isinstance(n.entry, journal.Closed)]


@pytest.fixture
async def desk(store: Store, clock: Any, ticket: Ticket) -> Desk:
    made = Desk(store, clock, Signal())
    async with store.write() as tx:
        await tickets.add_ticket(tx, ticket)
        await tickets.add_run(tx, made.run)
    return made


def refused(result: object) -> str:
    assert isinstance(result, NotTaken)
    return result.words


def test_a_digest_is_of_exact_arguments_whatever_their_order() -> None:
    assert digest("shop.a", {"x": 1, "y": "2"}) == digest("shop.a", {"y": "2", "x": 1})
    others = [digest("shop.b", {"x": 1}), digest("shop.a", {"x": 2}), digest("shop.a", {"x": "1"}), digest("shop.a", {})]
    assert len({digest("shop.a", {"x": 1}), *others}) == 5


async def test_asking_puts_the_run_to_rest_and_an_answer_makes_it_ready(desk: Desk) -> None:
    question = await desk.ask()
    assert await desk.run_state() is RunState.WAITING
    assert isinstance(await desk.questions.answer(question.id, STAFF, Answer("approve")), Taken)
    assert await desk.run_state() is RunState.READY


async def test_a_sign_off_leaves_its_run_as_it_is(desk: Desk) -> None:
    async with desk.store.write() as tx:
        await tickets.finish(tx, RUN, StopReason.ANSWERED)
    question = await desk.ask(QuestionKind.SIGN_OFF)
    await desk.questions.answer(question.id, STAFF, Answer("send"))
    assert await desk.run_state() is RunState.DONE


async def test_a_question_is_answered_once_and_whoever_comes_later_is_told_by_whom(desk: Desk) -> None:
    question = await desk.ask()
    await desk.questions.answer(question.id, STAFF, Answer("decline", reason="no photos"))
    words = refused(await desk.questions.answer(question.id, LEAD, Answer("approve")))
    assert "Noor Bakker" in words
    assert "decline" in words
    (closed,) = await desk.closed()
    assert (closed.by, closed.user, closed.reason) == ("staff-0007", "U7", "no photos")


async def test_nobody_but_the_named_roles_may_answer_at_click_and_at_submit(desk: Desk) -> None:
    question = await desk.ask(QuestionKind.INPUT_REQUEST)
    for actor in (STAFF, GUEST):
        assert "Only a lead" in refused(await desk.questions.may_answer(question.id, actor))
        assert "Only a lead" in refused(await desk.questions.answer(question.id, actor, Answer("decline")))
    assert await desk.questions.may_answer(question.id, LEAD) is None


async def test_what_nobody_answers_in_time_expires_and_is_nobodys_answer(desk: Desk) -> None:
    question = await desk.ask()
    await desk.delivered(question)
    assert await desk.late() == 0
    desk.clock.move(hours=24)
    assert "expired" in refused(await desk.questions.answer(question.id, STAFF, Answer("approve")))
    assert await desk.state(question) is QuestionState.OPEN, "the timer closes it, not a click"
    assert await desk.late() == 1
    assert await desk.late() == 0
    assert await desk.state(question) is QuestionState.EXPIRED
    (closed,) = await desk.closed()
    assert (closed.by, closed.action) == ("", None)
    assert await desk.run_state() is RunState.READY


@pytest.mark.parametrize("now", ["def-2", ""])
async def test_an_answer_to_a_changed_definition_does_not_count_and_says_so(desk: Desk, now: str) -> None:
    question = await desk.ask()
    desk.definition = now
    assert "does not count" in refused(await desk.questions.answer(question.id, STAFF, Answer("approve")))
    assert await desk.state(question) is QuestionState.SUPERSEDED
    assert "out of date" in refused(await desk.questions.answer(question.id, STAFF, Answer("approve")))
    assert await desk.run_state() is RunState.READY, "it is checked again, and asked again where it may be"


async def test_a_stopped_run_cancels_what_it_asked(desk: Desk) -> None:
    question = await desk.ask()
    async with desk.store.write() as tx:
        await desk.questions.cancel(tx, RUN, "stopped by Noor Bakker")
    assert "stopped by Noor Bakker" in refused(await desk.questions.answer(question.id, STAFF, Answer("approve")))


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        (QuestionKind.CONSENT, "accept"),
        (QuestionKind.CONSENT, "send"),
        (QuestionKind.INPUT_REQUEST, "approve"),
        (QuestionKind.SIGN_OFF, "approve"),
    ],
)
async def test_a_button_of_another_card_changes_nothing(desk: Desk, kind: QuestionKind, action: Any) -> None:
    question = await desk.ask(kind)
    assert "does not belong to this card" in refused(await desk.questions.answer(question.id, LEAD, Answer(action)))
    assert await desk.state(question) is QuestionState.OPEN


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({}, "release"),
        ({"release": "perhaps"}, "release"),
        ({"release": True, "mail": "not a mail"}, "mail"),
        ({"release": True, "amount": 9999}, "amount"),
    ],
)
async def test_a_form_that_does_not_fit_is_told_beside_its_field(desk: Desk, content: Any, field: str) -> None:
    question = await desk.ask(QuestionKind.INPUT_REQUEST)
    result = await desk.questions.answer(question.id, LEAD, Answer("accept", content=content))
    assert isinstance(result, NotTaken)
    assert list(result.fields) == [field]
    assert await desk.state(question) is QuestionState.OPEN
    right = Answer("accept", content={"release": False, "mail": "jonas.weber@example.com"})
    assert isinstance(await desk.questions.answer(question.id, LEAD, right), Taken)


async def test_who_approved_may_not_release(desk: Desk) -> None:
    question = await desk.ask(QuestionKind.INPUT_REQUEST, approved_by="U2")
    words = refused(await desk.questions.answer(question.id, LEAD, Answer("accept", content={"release": True})))
    assert "another person" in words
    assert isinstance(await desk.questions.answer(question.id, LEAD, Answer("decline", reason="no")), Taken)


async def test_only_fields_that_the_card_offers_may_be_edited(desk: Desk) -> None:
    question = await desk.ask(may_edit=["reason"])
    edited = Answer("approve", content={"quote_id": "Q-0123456789"})
    assert "may not be edited" in refused(await desk.questions.answer(question.id, STAFF, edited))
    assert isinstance(await desk.questions.answer(question.id, STAFF, Answer("approve", content={"reason": "broken"})), Taken)


# --- several people (spec H19) ------------------------------------------------------------------------------------------------


async def test_the_first_of_two_approvals_leaves_it_open_and_its_run_at_rest(desk: Desk) -> None:
    question = await desk.ask(needed=2)
    first = await desk.questions.answer(question.id, STAFF, Answer("approve"))
    assert isinstance(first, Taken)
    assert [approval.actor for approval in first.question.approvals] == [STAFF]
    assert (await desk.state(question), await desk.run_state()) == (QuestionState.OPEN, RunState.WAITING)
    assert await desk.closed() == []
    assert "approved this already" in refused(await desk.questions.answer(question.id, STAFF, Answer("approve")))
    assert isinstance(await desk.questions.answer(question.id, LEAD, Answer("approve")), Taken)
    (closed,) = await desk.closed()
    assert (closed.users, closed.by) == (("U7", "U2"), "lead-0002")
    assert await desk.run_state() is RunState.READY


async def test_of_many_first_approvals_at_once_by_one_person_one_counts(desk: Desk) -> None:
    question = await desk.ask(needed=2)
    results: list[object] = []

    async def click() -> None:
        results.append(await desk.questions.answer(question.id, STAFF, Answer("approve")))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(click)
    assert sum(isinstance(result, Taken) for result in results) == 1
    assert await desk.state(question) is QuestionState.OPEN


async def test_approvals_given_before_the_definition_changed_count_for_nothing(desk: Desk) -> None:
    question = await desk.ask(needed=2)
    await desk.questions.answer(question.id, STAFF, Answer("approve"))
    desk.definition = "def-2"
    assert "does not count" in refused(await desk.questions.answer(question.id, LEAD, Answer("approve")))
    assert await desk.state(question) is QuestionState.SUPERSEDED


async def test_who_approved_first_may_still_decline_and_may_answer_tells_them_apart(desk: Desk) -> None:
    question = await desk.ask(needed=2)
    await desk.questions.answer(question.id, STAFF, Answer("approve"))
    assert "approved this already" in refused(await desk.questions.may_answer(question.id, STAFF))
    assert await desk.questions.may_answer(question.id, STAFF, Answer("decline", reason="no")) is None
    assert await desk.questions.may_answer(question.id, LEAD) is None
    assert "Only support staff" in refused(await desk.questions.may_answer(question.id, GUEST, Answer("decline")))


# --- time and delivery (spec H20) ---------------------------------------------------------------------------------------------


async def test_reminders_come_at_half_and_at_four_fifths_once_each(desk: Desk) -> None:
    question = await desk.ask()
    given = []
    for hours in (11.99, 0.01, 0, 7.19, 0.01, 1):
        desk.clock.move(hours=hours)
        given.append((await desk.questions.look_at_the_clock()).reminded)
    assert given == [0, 1, 0, 0, 1, 0]
    async with desk.store.read() as tx:
        notices = [item for item in await outbox.due(tx, desk.clock.now(), 100) if item.key.startswith("reminder:")]
    assert [(item.key, item.payload["number"]) for item in notices] == [
        (f"reminder:{question.id}:1", 1),
        (f"reminder:{question.id}:2", 2),
    ]


async def test_two_timers_at_once_remind_once(desk: Desk) -> None:
    await desk.ask()
    desk.clock.move(hours=12)
    reminded: list[int] = []

    async def look() -> None:
        reminded.append((await desk.questions.look_at_the_clock()).reminded)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(look)
    assert sum(reminded) == 1


async def test_what_was_answered_is_not_reminded_of(desk: Desk) -> None:
    question = await desk.ask()
    await desk.questions.answer(question.id, STAFF, Answer("decline"))
    desk.clock.move(hours=20)
    assert await desk.questions.look_at_the_clock() == Late(0, 0)


async def test_a_question_whose_card_was_never_delivered_was_undeliverable_and_did_not_expire(desk: Desk) -> None:
    question = await desk.ask()
    desk.clock.move(hours=24)
    assert await desk.late() == 1
    assert await desk.state(question) is QuestionState.UNDELIVERABLE
    (closed,) = await desk.closed()
    assert "reached nobody" in closed.reason
    assert "could not be delivered" in refused(await desk.questions.answer(question.id, STAFF, Answer("approve")))


async def test_a_question_whose_card_may_have_arrived_expired(desk: Desk) -> None:
    question = await desk.ask()
    async with desk.store.write() as tx:
        found = await outbox.by_key(tx, f"question:{question.id}")
        assert found is not None
        await outbox.retry(tx, found[0], desk.clock.now(), "no answer from Slack", uncertain=True)
    desk.clock.move(hours=24)
    await desk.late()
    assert await desk.state(question) is QuestionState.EXPIRED


async def test_a_final_error_ends_a_question_once_and_not_one_that_was_answered(desk: Desk) -> None:
    open_one, answered = await desk.ask(), await desk.ask(QuestionKind.INPUT_REQUEST)
    await desk.questions.answer(answered.id, LEAD, Answer("decline"))
    for question in (open_one, answered, open_one):
        async with desk.store.write() as tx:
            await desk.questions.undeliverable(tx, question.id, "channel_not_found")
    assert await desk.state(open_one) is QuestionState.UNDELIVERABLE
    assert await desk.state(answered) is QuestionState.ANSWERED
    assert len(await desk.closed()) == 2


async def test_a_start_ends_the_questions_of_calls_that_died_with_the_last_process_alone(desk: Desk) -> None:
    kept = await desk.ask(QuestionKind.INPUT_REQUEST)
    lost = await desk.ask(QuestionKind.INPUT_REQUEST, resumable=False)
    async with desk.store.write() as tx:
        await desk.questions.lost(tx)
    assert (await desk.state(kept), await desk.state(lost)) == (QuestionState.OPEN, QuestionState.SUPERSEDED)
    assert "started again" in refused(await desk.questions.answer(lost.id, LEAD, Answer("decline")))


async def test_whoever_waits_for_a_questions_end_is_told_it_at_once(desk: Desk) -> None:
    question = await desk.ask(QuestionKind.INPUT_REQUEST, resumable=False)
    ends: list[QuestionState] = []

    async def wait() -> None:
        ends.append((await desk.questions.ended(question.id)).state)

    with anyio.fail_after(1.5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await desk.questions.answer(question.id, LEAD, Answer("decline"))
    assert ends == [QuestionState.ANSWERED]
