"""Time and delivery: reminders once over restarts, working hours, and four ends of a question that nobody answered (spec H20)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from host.config import HoursConfig, PolicyRule
from host.types import Answer, NotTaken, OutboxItem, QuestionKind, QuestionState, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

ASKING = {"policy": (PolicyRule(tool="rounds.*", decision="ask"),)}
BERLIN = HoursConfig(zone="Europe/Berlin")
SAID = {
    "declined": "A person declined this call",
    "expired": "Nobody answered in time",
    "cancelled": "This call was cancelled",
    "undeliverable": "The question about this call reached nobody",
}


def reminders(office: Any) -> list[int]:
    return [item.payload["number"] for item in office.desk.items if item.key.startswith("reminder:")]


async def hours_later(office: Any, hours: float) -> int:
    office.clock.move(hours=hours)
    ended: int = await office.host_expires()
    await office.settle()
    return ended


async def test_a_waiting_question_is_reminded_of_at_half_and_at_four_fifths_once_each_over_restarts(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        ticket = await office.tries(9001, "plain")
        question = await office.open(ticket)
        await hours_later(office, 11.9)
        assert reminders(office) == []
        await hours_later(office, 0.1)
        await hours_later(office, 0)
        assert reminders(office) == [1]
        view = await office.host.reminder(question.id, 1)
        assert (view.question.id, view.number) == (question.id, 1)
    async with open_rounds(**ASKING) as office:
        await hours_later(office, 0)
        assert reminders(office) == []
        await hours_later(office, 7.2)
        await hours_later(office, 1)
        assert reminders(office) == [2]
        assert (await office.kinds(ticket)).count("reminded") == 2
        await office.answer(await office.open(ticket), office.staff, office.declined("no"))
        assert await office.host.reminder(question.id, 2) is None, "there is nothing to remind of any more"
        assert await office.verified(ticket) == ""


async def test_a_program_that_was_away_reminds_once_and_not_of_what_is_over(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        await office.tries(9001, "plain")
        await hours_later(office, 20)
        assert reminders(office) == [2], "one reminder, the later one"
        await office.tries(9002, "plain")
        await hours_later(office, 30)
        assert reminders(office) == [2]
        assert {q.state.value for n in (9001, 9002) for q in await office.questions(f"T-{n}") if q.call_id} == {"expired"}


async def test_clocks_count_working_hours_and_each_kind_has_its_own(open_rounds: Opening) -> None:
    """Asked on a Tuesday at 16:00 in Berlin: of eight hours, one is left of that day, and the rest is Wednesday's."""
    limits = {"hours_for": {QuestionKind.CONSENT: 8.0}}
    async with open_rounds(hours=BERLIN, limits=limits, **ASKING) as office:
        office.clock.moment = datetime(2026, 6, 2, 14, 0, tzinfo=UTC)
        ticket = await office.tries(9001, "form")
        consent = await office.open(ticket)
        assert consent.deadline == datetime(2026, 6, 3, 14, 0, tzinfo=UTC)
        assert consent.remind_at == (datetime(2026, 6, 3, 10, 0, tzinfo=UTC), datetime(2026, 6, 3, 12, 24, tzinfo=UTC))
        assert await hours_later(office, 16) == 0, "nobody works at night"
        assert reminders(office) == []
        await office.approve(ticket)
        asked = await office.open(ticket, QuestionKind.INPUT_REQUEST)
        assert asked.deadline - office.clock.now() > timedelta(days=2), "24 hours of work"


async def test_each_end_of_a_question_is_told_to_the_model_as_itself_and_none_as_another(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:

        async def told(ticket: str, outcome: str) -> None:
            assert (await office.call(ticket)).outcome.value == outcome
            assert [end for end, words in SAID.items() if words in office.told()] == [outcome]
            assert office.wire() == []
            assert await office.verified(ticket) == ""

        ticket = await office.tries(9001, "plain")
        await office.answer(await office.open(ticket), office.staff, office.declined("he must send photos first"))
        await office.settle()
        await told(ticket, "declined")
        assert "he must send photos first" in office.told()

        ticket = await office.tries(9002, "plain")
        await hours_later(office, 24)
        await told(ticket, "expired")

        office.desk.away = True  # for as long as the question lives: its card stands nowhere
        ticket = await office.tries(9003, "plain")
        question = await office.open(ticket)
        office.clock.move(hours=24)
        assert await office.host_expires() == 2, "and a draft that waited"
        office.desk.away = False
        await office.settle()
        await told(ticket, "undeliverable")
        late = await office.answer(question, office.staff, Answer("approve"))
        assert isinstance(late, NotTaken)
        assert "could not be delivered" in late.words

        office.desk.refused = is_a_question
        ticket = await office.tries(9004, "plain")
        await told(ticket, "undeliverable")
        (question,) = [q for q in await office.questions(ticket) if q.kind is QuestionKind.CONSENT]
        assert "channel_not_found" in question.note
        office.desk.refused = lambda _: False


async def test_a_question_whose_run_is_stopped_is_cancelled_in_words(open_rounds: Opening) -> None:
    async with open_rounds(**ASKING) as office:
        ticket = await office.tries(9001, "plain")
        question = await office.open(ticket)
        await office.host.stop(office.admin, ticket)
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "cancelled"
        assert [q.state for q in await office.questions(ticket)] == [QuestionState.CANCELLED]
        late = await office.answer(question, office.staff, Answer("approve"))
        assert isinstance(late, NotTaken)
        assert "was cancelled" in late.words


async def test_a_card_that_can_no_longer_be_redrawn_was_seen_all_the_same(open_rounds: Opening) -> None:
    """Once it stood in the channel, a final error of a later redraw ends no question."""
    async with open_rounds(**ASKING) as office:
        ticket = await office.tries(9001, "plain")
        office.desk.refused = is_a_question
        await hours_later(office, 12)
        assert (await office.open(ticket)).kind is QuestionKind.CONSENT
        office.desk.refused = lambda _: False
        assert isinstance(await office.approve(ticket), Taken)
        assert (await office.call(ticket)).outcome.value == "result"


def is_a_question(item: OutboxItem) -> bool:
    return item.key.startswith("question:")
