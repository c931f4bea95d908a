"""server-everything asks people while its call is open, as 2025 servers do: forms with every kind of field, and addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.headless import LEAD, STAFF
from host.config import ServerConfig
from host.types import Action, Answer, NotTaken, OutcomeKind, QuestionKind, QuestionState, Taken
from models.port import Call

pytestmark = pytest.mark.anyio

#: One answer for each kind of field that the specification has.
FILLED: dict[str, Any] = {
    "name": "Marta Lindqvist",
    "check": True,
    "firstLine": "It was a bright cold day in April.",
    "email": "marta.lindqvist@example.com",
    "homepage": "https://shop.example.com/marta",
    "birthdate": "1984-04-04",
    "integer": 7,
    "number": 6.95,
    "untitledSingleSelectEnum": "Ross",
    "untitledMultipleSelectEnum": ["Piano", "Drums"],
    "titledSingleSelectEnum": "hero-2",
    "titledMultipleSelectEnum": ["fish-1", "fish-3"],
    "legacyTitledEnum": "pet-2",
}


def form() -> Call:
    return Call("all.trigger-elicitation-request", {})


def address(url: str, **more: object) -> Call:
    return Call("all.trigger-url-elicitation", {"url": url, **more})


async def test_a_form_with_every_kind_of_field_is_filled_in_and_reaches_the_server(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        ticket, question = await house.asked(form())
        assert not question.resumable
        assert question.payload["message"] == "Please provide inputs for the following fields:"
        assert set(question.payload["schema"]["properties"]) == set(FILLED)
        as_typed = {**FILLED, "integer": "7", "check": "yes"}
        assert isinstance(await house.answer(question, LEAD, Answer("accept", content=as_typed)), Taken)
        (record,) = await house.records(ticket)
        assert record.outcome is OutcomeKind.RESULT
        received = json.loads(record.text.partition("Raw result: ")[2])
        assert received == {"action": "accept", "content": FILLED}
        assert "User inputs:" in house.told()


async def test_an_answer_that_does_not_fit_is_refused_beside_its_field_and_the_question_stays(open_house, everything_url) -> None:
    wrong: list[tuple[str, Any]] = [
        ("email", "marta at example.com"),
        ("email", 7),
        ("homepage", "no address"),
        ("birthdate", "4 April"),
        ("birthdate", "1984-02-30"),
        ("integer", 6.5),
        ("integer", 101),
        ("integer", "seven"),
        ("number", "6,95"),
        ("number", -1),
        ("check", "perhaps"),
        ("check", 1),
        ("untitledSingleSelectEnum", "Gunther"),
        ("titledSingleSelectEnum", "Superman"),
        ("legacyTitledEnum", "Dogs"),
        ("untitledMultipleSelectEnum", ["Guitar", "Piano", "Violin", "Drums"]),
        ("untitledMultipleSelectEnum", "Piano"),
        ("titledMultipleSelectEnum", ["fish-1", "fish-2", "fish-3", "fish-1"]),
        ("titledMultipleSelectEnum", ["Tuna"]),
        ("nickname", "Marta"),
    ]
    async with open_house(all=ServerConfig(url=everything_url)) as house:
        ticket, question = await house.asked(form())
        for field, value in wrong:
            refused = await house.answer(question, LEAD, Answer("accept", content={**FILLED, field: value}))
            assert isinstance(refused, NotTaken), (field, value)
            assert set(refused.fields) == {field}, (field, value)
        assert (await house.open(ticket, QuestionKind.INPUT_REQUEST)).id == question.id


async def test_decline_and_cancel_go_to_the_server_and_its_own_words_to_the_model(open_house, everything) -> None:
    actions: dict[Action, str] = {"decline": "User declined", "cancel": "User cancelled"}
    async with open_house(all=everything) as house:
        for action, words in actions.items():
            ticket, question = await house.asked(form())
            assert isinstance(await house.answer(question, LEAD, Answer(action, reason="not ours to say")), Taken)
            (record,) = await house.records(ticket)
            assert words in record.text
            assert words in house.told()


async def test_only_those_may_answer_who_answer_for_this_server(open_house, everything_url) -> None:
    async with open_house(all=ServerConfig(url=everything_url)) as house:
        ticket, question = await house.asked(form())
        refused = await house.answer(question, STAFF, Answer("accept", content=FILLED))
        assert isinstance(refused, NotTaken)
        assert "Only a lead" in refused.words
        assert (await house.open(ticket, QuestionKind.INPUT_REQUEST)).state is QuestionState.OPEN


async def test_other_tickets_go_on_while_a_question_is_open_and_its_time_is_not_the_servers(open_house, everything_url) -> None:
    """The other ticket's call takes longer than the first server's whole time."""
    hasty = ServerConfig(url=everything_url, timeout_seconds=1.0)
    patient = ServerConfig(url=everything_url, tools={"trigger-long-running-operation": {"effect": "read"}})
    async with open_house(all=hasty, slow=patient) as house:
        ticket, question = await house.asked(form())
        (other,) = await house.work(Call("slow.trigger-long-running-operation", {"duration": 1.5, "steps": 1}))
        assert other.outcome is OutcomeKind.RESULT
        await house.answer(question, LEAD, Answer("accept", content=FILLED))
        assert [record.outcome for record in await house.records(ticket)] == [OutcomeKind.RESULT]


async def test_over_stdio_a_second_call_is_not_taken_for_the_one_that_asks(open_house, everything_command) -> None:
    server = ServerConfig(command=everything_command, timeout_seconds=1.0, tools={"echo": {"effect": "read"}})
    async with open_house(all=server) as house:
        ticket, question = await house.asked(form())
        (busy,) = await house.work(Call("all.echo", {"message": "meanwhile"}))
        assert busy.outcome is OutcomeKind.FAILED
        assert "busy" in busy.note
        await house.answer(question, LEAD, Answer("accept", content=FILLED))
        assert [record.outcome for record in await house.records(ticket)] == [OutcomeKind.RESULT]
        (after,) = await house.work(Call("all.echo", {"message": "afterwards"}))
        assert after.text == "Echo: afterwards"


async def test_a_question_that_nobody_answers_expires_and_the_server_is_told_cancel(open_house, everything) -> None:
    async with open_house(all=everything, question_seconds=0.5) as house:
        ticket, _question = await house.asked(form())

        async def expired() -> bool:
            return await house.running.queue.expire() > 0

        await house.until(expired)
        await house.settle()
        (record,) = await house.records(ticket)
        assert record.outcome is OutcomeKind.RESULT, "the server went on"
        assert "User cancelled" in record.text
        assert "nobody answered" in record.note
        assert "nobody answered" in house.told()


async def test_after_a_restart_the_question_is_void_and_a_person_finds_out_what_became_of_it(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        ticket, question = await house.asked(form())
    async with open_house(all=everything) as house:
        await house.running.queue.recover()
        await house.settle()
        late = await house.host.answer(question.id, LEAD, Answer("accept", content=FILLED))
        assert isinstance(late, NotTaken)
        assert "started again" in late.words
        looked = await house.open(ticket, QuestionKind.MAY_HAVE_RUN)
        assert looked.payload["tool"] == "all.trigger-elicitation-request"


async def test_an_address_is_shown_whole_and_agreed_to_or_not(open_house, everything) -> None:
    url = "https://login.pay.example.com/consent?order=O-1145&back=https%3A%2F%2Fshop.example.com"
    actions: dict[Action, str] = {"accept": "User completed", "decline": "User declined", "cancel": "User cancelled"}
    async with open_house(all=everything) as house:
        for action, words in actions.items():
            ticket, question = await house.asked(address(url, message="Please confirm at the bank."))
            assert question.payload["url"] == url
            assert question.payload["domain"] == "login.pay.example.com"
            assert question.payload["message"] == "Please confirm at the bank."
            assert isinstance(await house.answer(question, LEAD, Answer(action)), Taken)
            (record,) = await house.records(ticket)
            assert words in record.text


async def test_an_address_that_imitates_another_is_shown_with_a_warning(open_house, everything_url) -> None:
    async with open_house(all=ServerConfig(url=everything_url)) as house:
        _ticket, question = await house.asked(address("https://xn--pple-43d.example.com/sign-in"))
        assert question.payload["warnings"]


async def test_a_server_that_wants_an_address_opened_before_it_begins_is_called_again_after_consent(
    open_house, everything_command
) -> None:
    async with open_house(all=ServerConfig(command=everything_command)) as house:
        ticket, before = await house.asked(address("https://pay.example.com/order", errorPath=True))
        assert before.resumable, "nothing of the call is open: it did not run"
        assert before.payload["domain"] == "modelcontextprotocol.io"
        await house.answer(before, LEAD, Answer("accept"))
        during = await house.open(ticket, QuestionKind.INPUT_REQUEST)
        assert (during.resumable, during.payload["domain"]) == (False, "pay.example.com")
        await house.answer(during, LEAD, Answer("accept"))
        (record,) = await house.records(ticket)
        assert "User completed" in record.text


async def test_without_consent_to_the_address_the_call_does_not_run(open_house, everything_command) -> None:
    async with open_house(all=ServerConfig(command=everything_command)) as house:
        ticket, before = await house.asked(address("https://pay.example.com/order", errorPath=True))
        await house.answer(before, LEAD, Answer("decline", reason="unknown address"))
        (record,) = await house.records(ticket)
        assert record.outcome is OutcomeKind.DECLINED
