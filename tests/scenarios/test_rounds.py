"""A server's own questions, round by round: in any order, within bounds, answered by people or by nobody (spec H15, H20, H22)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from host.types import Answer, NotTaken, OutboxItem, QuestionKind, QuestionState, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

YES, NO = Answer("accept", content={"yes": True}), Answer("decline", reason="not today")
CANCEL = Answer("cancel")


async def answered(office: Any, question: Any, answer: Answer = YES) -> None:
    taken = await office.answer(question, office.lead, answer)
    assert isinstance(taken, Taken), taken
    await office.settle()


async def asked(office: Any, ticket: str) -> dict[str, Any]:
    """The open questions of a ticket by their message."""
    found = [q for q in await office.questions(ticket) if q.kind is QuestionKind.INPUT_REQUEST]
    return {q.payload["message"]: q for q in found if q.state is QuestionState.OPEN}


def open_calls() -> list[str]:
    return [task.name or "" for task in anyio.get_running_tasks() if "OpenCalls" in (task.name or "")]


# --- servers of 2026: the question comes back, the call is sent again with its answers ----------------------------------------


async def test_an_answer_goes_back_with_the_servers_state_byte_for_byte_under_a_new_id(open_rounds: Opening) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "form")
        question = await office.open(ticket)
        assert (question.kind, question.server, question.resumable) == (QuestionKind.INPUT_REQUEST, "rounds", True)
        await answered(office, question)
        first, second = office.wire()
        assert first["id"] != second["id"]
        assert second["requestState"] == '"état"\\/form/1'
        assert second["inputResponses"] == {"q": {"action": "accept", "content": {"yes": True}}}
        assert first["arguments"] == second["arguments"]
        record = await office.call(ticket)
        assert (record.outcome.value, '"action": "accept"' in record.text) == ("result", True)
        assert await office.verified(ticket) == ""


async def test_several_questions_of_one_round_are_answered_in_any_order_and_sent_together(open_rounds: Opening) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "three")
        questions = await asked(office, ticket)
        assert sorted(questions) == ["First?", "Second?", "Third?"]
        await answered(office, questions["Third?"], YES)
        await answered(office, questions["First?"], NO)
        assert len(office.wire()) == 1, "nothing is sent while one of them is open"
        await answered(office, questions["Second?"], CANCEL)
        said = {key: value["action"] for key, value in office.wire()[1]["inputResponses"].items()}
        assert said == {"a": "decline", "b": "cancel", "c": "accept"}
        assert (await office.call(ticket)).outcome.value == "result"


@pytest.mark.parametrize("answer", [NO, CANCEL])
async def test_a_refusal_goes_to_the_server_and_its_own_answer_is_what_the_model_reads(
    open_rounds: Opening, answer: Answer
) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "form")
        await answered(office, await office.open(ticket), answer)
        assert office.wire()[1]["inputResponses"] == {"q": {"action": answer.action}}
        assert (await office.call(ticket)).outcome.value == "result"
        assert f'"action": "{answer.action}"' in office.told()


async def test_a_question_that_nobody_answers_sends_nothing_and_one_of_several_is_enough(open_rounds: Opening) -> None:
    """The others of its round end with it: nobody is asked for an answer that is never sent (spec H20)."""
    async with open_rounds() as office:
        ticket = await office.tries(9001, "three")
        questions = await asked(office, ticket)
        await answered(office, questions["First?"])
        office.clock.move(hours=25)
        assert await office.host_expires() == 2
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "expired"
        assert "Nobody answered in time" in office.told()
        assert len(office.wire()) == 1


async def test_a_stop_between_the_answers_of_a_round_sends_none_of_them(open_rounds: Opening) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "three")
        questions = await asked(office, ticket)
        await answered(office, questions["First?"])
        await office.host.stop(office.admin, ticket)
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "cancelled"
        assert len(office.wire()) == 1
        assert await asked(office, ticket) == {}


async def test_a_state_that_the_server_forgot_is_asked_anew_and_the_answer_is_said_not_to_count(open_rounds: Opening) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "forgetful")
        old = await office.open(ticket)
        await answered(office, old)
        new = await office.open(ticket)
        assert new.id != old.id
        late = await office.answer(old, office.lead, YES)
        assert isinstance(late, NotTaken)
        assert "no longer knew what this answered" in late.words
        assert "newer card" in late.words
        superseded = [q for q in await office.questions(ticket) if q.id == old.id]
        assert [(q.state.value, q.answered_by.user) for q in superseded] == [("superseded", office.lead.user)]
        await answered(office, new)
        states = [call.get("requestState") for call in office.wire()]
        assert states == [None, '"état"\\/forgetful/1'] * 2
        assert (await office.call(ticket)).outcome.value == "result"
        assert await office.verified(ticket) == ""


async def test_rounds_are_bounded_whatever_the_server_does_in_them(open_rounds: Opening) -> None:
    async with open_rounds(limits={"input_rounds": 3}) as office:
        endless = await office.tries(9001, "endless")
        for number in (1, 2, 3):
            question = await office.open(endless)
            assert question.payload["message"] == f"Round {number}?"
            await answered(office, question)
        record = await office.call(endless)
        assert (record.outcome.value, "asked more than 3 times" in record.note) == ("failed", True)

        lapsed = await office.tries(9002, "lapsed")
        for _ in (1, 2, 3):
            await answered(office, await office.open(lapsed))
        assert (await office.call(lapsed)).outcome.value == "failed"
        assert await asked(office, lapsed) == {}

        never = await office.tries(9003, "never")
        record = await office.call(never)
        assert (record.outcome.value, "asked more than 3 times" in record.note) == ("failed", True)
        assert [call["name"] for call in office.wire()].count("never") == 4


async def test_a_server_that_only_wants_to_be_called_again_asks_nobody(open_rounds: Opening) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "patient")
        assert (await office.call(ticket)).outcome.value == "result"
        states = [call.get("requestState") for call in office.wire()]
        assert states == [None, '"état"\\/patient/1', '"état"\\/patient/2']
        assert all("inputResponses" not in call for call in office.wire())
        assert (await office.kinds(ticket)).count("round_sent") == 2, "each state is marked used before it is sent"
        assert [q.kind for q in await office.questions(ticket)] == [QuestionKind.SIGN_OFF]


@pytest.mark.parametrize("era", ["2026", "2025"])
async def test_what_asks_for_a_secret_is_shown_to_nobody(open_rounds: Opening, era: str) -> None:
    async with open_rounds(era) as office:
        ticket = await office.tries(9001, "secret")
        record = await office.call(ticket)
        assert "can't be shown" in record.note
        assert "secret" in record.note
        assert [q.kind for q in await office.questions(ticket)] == [QuestionKind.SIGN_OFF]
        assert "can't be shown" in office.told()
        told = [entry["answer"] for entry in office.wire() if "answer" in entry]
        assert told == ([{"action": "cancel"}] if era == "2025" else [])
        assert record.outcome.value == ("result" if era == "2025" else "undeliverable"), "what the older server did counts"


@pytest.mark.parametrize("era", ["2026", "2025"])
async def test_an_address_is_shown_with_its_domain_and_agreeing_carries_nothing(open_rounds: Opening, era: str) -> None:
    async with open_rounds(era) as office:
        ticket = await office.tries(9001, "address")
        question = await office.open(ticket)
        assert question.payload["url"] == "https://xn--shp-uma.example.com/sign-in?next=%2F"
        assert question.payload["domain"] == "xn--shp-uma.example.com"
        assert question.payload["warnings"], "its name is not what it looks like"
        filled = await office.answer(question, office.lead, Answer("accept", content={"password": "1234"}))
        assert isinstance(filled, NotTaken)
        await answered(office, question, Answer("accept"))
        said = [entry.get("answer") or (entry.get("inputResponses") or {}).get("q") for entry in office.wire()[1:]]
        assert said == [{"action": "accept"}]
        assert (await office.call(ticket)).outcome.value == "result"


# --- servers of 2025: they ask while the call stays open ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [(YES, 'accept {"yes": true}'), (NO, "decline null"), (CANCEL, "cancel null")],
    ids=["accept", "decline", "cancel"],
)
async def test_an_older_server_is_answered_while_its_call_is_open(open_rounds: Opening, answer: Answer, said: str) -> None:
    async with open_rounds("2025") as office:
        ticket = await office.tries(9001, "form")
        question = await office.open(ticket)
        assert question.resumable is False
        assert len(open_calls()) == 1, "its call alone is held"
        assert await office.outcomes(ticket) == []
        await answered(office, question, answer)
        record = await office.call(ticket)
        assert (record.outcome.value, record.text) == ("result", said)
        assert open_calls() == []


@pytest.mark.parametrize(("tool", "messages"), [("two", 1), ("both", 1)])
async def test_an_older_servers_questions_come_one_after_the_other(open_rounds: Opening, tool: str, messages: int) -> None:
    async with open_rounds("2025") as office:
        ticket = await office.tries(9001, tool)
        first = await office.open(ticket)
        assert first.payload["message"] == "First?"
        await answered(office, first, NO)
        second = await office.open(ticket)
        assert (second.payload["message"], second.payload["round"]) == ("Second?", 2)
        await answered(office, second, YES)
        record = await office.call(ticket)
        assert record.outcome.value == "result"
        assert sorted(record.text.split(" and ")) == ['accept {"yes": true}', "decline null"]


async def test_an_older_server_is_told_cancel_when_nobody_answers_and_the_model_why(open_rounds: Opening) -> None:
    async with open_rounds("2025") as office:
        expired = await office.tries(9001, "form")
        office.clock.move(hours=25)
        assert await office.host_expires() == 1
        await office.settle()
        words = "nobody answered the server's question in time; the server was told so and went on"
        assert (await office.call(expired)).note == words
        assert words in office.told()

        stopped = await office.tries(9002, "form")
        await office.host.stop(office.admin, stopped)
        await office.settle()
        assert (await office.call(stopped)).note.startswith("stopped by Deskhand")

        frozen = await office.tries(9003, "form")
        question = await office.open(frozen)
        await office.host.freeze("rounds", office.admin)
        await office.answer(question, office.lead, YES)
        await office.settle()
        record = await office.call(frozen)
        assert "frozen" in record.note
        assert [entry["answer"] for entry in office.wire() if "answer" in entry] == [{"action": "cancel"}] * 3
        assert open_calls() == []


async def test_an_older_server_that_never_stops_asking_is_told_cancel_and_given_up(open_rounds: Opening) -> None:
    async with open_rounds("2025", limits={"input_rounds": 2}) as office:
        ticket = await office.tries(9001, "three")
        for _ in (1, 2):
            await answered(office, await office.open(ticket))
        record = await office.call(ticket)
        assert (record.outcome.value, "asked more than 2 times" in record.note) == ("result", True)
        assert [entry["answer"]["action"] for entry in office.wire() if "answer" in entry] == ["accept", "accept", "cancel"]

        ticket = await office.tries(9002, "endless")
        for _ in (1, 2):
            await answered(office, await office.open(ticket))
        question = await office.open(ticket)
        assert (question.kind, "was given up" in question.payload["why"]) == (QuestionKind.MAY_HAVE_RUN, True)
        assert open_calls() == []


async def test_an_older_server_that_wants_an_address_opened_first_is_called_again(open_rounds: Opening) -> None:
    async with open_rounds("2025") as office:
        ticket = await office.tries(9001, "must_open")
        await answered(office, await office.open(ticket), Answer("accept"))
        assert (await office.call(ticket)).outcome.value == "result"
        assert [call["name"] for call in office.wire()] == ["must_open", "must_open"]
        assert "answer" not in office.wire()[1]


async def test_who_does_not_agree_to_open_an_address_ends_the_call_before_it_ran(open_rounds: Opening) -> None:
    async with open_rounds("2025") as office:
        ticket = await office.tries(9001, "must_open")
        await answered(office, await office.open(ticket), NO)
        record = await office.call(ticket)
        assert (record.outcome.value, "did not run" in record.note, NO.reason in office.told()) == ("declined", True, True)
        assert len(office.wire()) == 1


async def test_an_older_server_that_takes_its_question_back_lets_its_run_go_on(open_rounds: Opening) -> None:
    async with open_rounds("2025") as office:
        ticket = await office.tries(9001, "form")
        old = await office.open(ticket)
        office.server_process(office.rounds).send_signal(signal.SIGUSR1)
        await office.until(lambda: ended(office, ticket))
        assert ((await office.call(ticket)).outcome.value, (await office.call(ticket)).text) == ("result", "withdrawn")
        late = await office.answer(old, office.lead, YES)
        assert isinstance(late, NotTaken)
        assert "the server took its question back" in late.words
        assert [entry for entry in office.wire() if "answer" in entry] == []


@pytest.mark.parametrize(("effect", "kind"), [("effect", QuestionKind.MAY_HAVE_RUN), ("read", QuestionKind.SIGN_OFF)])
async def test_an_older_server_that_dies_over_its_question_is_not_waited_for(
    open_rounds: Opening, effect: str, kind: QuestionKind
) -> None:
    async with open_rounds("2025", effect=effect) as office:
        ticket = await office.tries(9001, "form")
        old = await office.open(ticket)
        await office.restart_server(office.rounds)
        await office.until(lambda: ended(office, ticket, old))
        assert (await office.open(ticket)).kind is kind
        assert isinstance(await office.answer(old, office.lead, YES), NotTaken)
        if effect == "read":
            assert (await office.call(ticket)).outcome.value == "failed"


async def ended(office: Any, ticket: str, question: Any = None) -> bool:
    await office.settle()
    if question is None:
        return bool(await office.outcomes(ticket))
    newest = await office.open(ticket)
    return bool(newest.id != question.id)


async def test_the_other_questions_of_a_round_end_with_one_that_reached_nobody(open_rounds: Opening, script: Any) -> None:
    """At once, while the run goes on with its next call."""
    two = script.batch(script.call("rounds.three"), script.call("rounds.form"))
    async with open_rounds(script=script.turns(two, script.reply("Thank you for writing."))) as office:
        refused: list[str] = []

        def the_first(item: OutboxItem) -> bool:
            refused.extend([item.key] if item.key.startswith("question:") and not refused else [])
            return item.key in refused

        office.desk.refused = the_first
        await office.work("T-0004")
        record = await office.call("T-0004")
        assert (record.name, record.outcome.value) == ("rounds.three", "undeliverable")
        assert [call["name"] for call in office.wire()] == ["three", "form"]
        assert list(await asked(office, "T-0004")) == ["Sure?"], "nobody is asked for an answer that is never sent"
        (question,) = (await asked(office, "T-0004")).values()
        await answered(office, question)
        assert "reached nobody" in office.told()


@pytest.mark.parametrize(("effect", "outcome"), [("effect", "may_have_run"), ("read", "asked again")])
async def test_a_call_that_was_open_when_the_program_ended_is_found_out(open_rounds: Opening, effect: str, outcome: str) -> None:
    """The question can't be answered any more: an effect may have run, a read is simply read again (spec H15)."""
    async with open_rounds("2025", effect=effect) as office:
        ticket = await office.tries(9001, "form")
        old = await office.open(ticket)
    async with open_rounds("2025", effect=effect) as office:
        await office.running.queue.recover()
        late = await office.answer(old, office.lead, YES)
        assert isinstance(late, NotTaken)
        assert "started again" in late.words
        await office.settle()
        question = await office.open(ticket)
        if outcome == "may_have_run":
            assert question.kind is QuestionKind.MAY_HAVE_RUN
            await office.answer(question, office.staff, Answer("it_did_not_run"))
            await office.settle()
            assert (await office.call(ticket)).outcome.value == "failed"
        else:
            assert question.kind is QuestionKind.INPUT_REQUEST
            await answered(office, question)
            assert (await office.call(ticket)).outcome.value == "result"
        assert await office.verified(ticket) == ""
