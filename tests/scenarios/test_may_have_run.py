"""An effect at a server that can't be looked into: a person says whether it ran (spec H13)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.config import HostConfig
from host.types import Answer, NotTaken, QuestionKind, StopReason

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("action", "outcome", "told"),
    [("it_ran", "result", "it ran"), ("it_did_not_run", "failed", "it did not run")],
)
async def test_a_person_who_looked_says_whether_an_effect_ran(open_rounds: Any, action: Any, outcome: str, told: str) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "dies")
        question = await office.open(ticket, QuestionKind.MAY_HAVE_RUN)
        assert await office.outcomes(ticket) == []
        assert isinstance(await office.answer(question, office.stranger, Answer(action)), NotTaken)
        await office.answer(question, office.staff, Answer(action))
        await office.settle()
        record = await office.call(ticket)
        assert (record.outcome.value, told in record.note) == (outcome, True)
        assert told in office.told()


async def test_when_nobody_looks_the_call_stays_unknown_and_the_ticket_goes_to_a_person(open_rounds: Any) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "dies")
        await office.open(ticket, QuestionKind.MAY_HAVE_RUN)
        office.clock.move(hours=25)
        await office.host_expires()
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "may_have_run"
        assert "It is not known whether this ran" in office.told()
        assert (await office.result(ticket)).stop_reason is StopReason.NEEDS_PERSON


async def test_an_effect_that_a_person_stopped_in_the_middle_of_stays_unknown_and_asks_nobody(open_rounds: Any) -> None:
    async with open_rounds() as office:
        ticket = await office.tries(9001, "dies")
        question = await office.open(ticket, QuestionKind.MAY_HAVE_RUN)
        await office.host.stop(office.admin, ticket)
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "may_have_run"
        assert isinstance(await office.answer(question, office.staff, Answer("it_ran")), NotTaken)


async def test_what_an_earlier_process_of_the_server_gave_is_not_sent_again_where_its_record_is_not_durable(
    open_office: Any,
) -> None:
    """The quote is the first process's; the refund is written down and never reaches the second one."""

    def change(config: HostConfig) -> HostConfig:
        shop = config.servers["shop"].model_copy(update={"durable": False})
        return config.model_copy(update={"servers": {"shop": shop}})

    async with open_office(change=change) as office:
        await office.work("T-0004")
        shop = office.server_process("servers.shop")
        shop.suspend()
        await office.answer(await office.open("T-0004"), office.staff, Answer("approve"))
        async with anyio.create_task_group() as group:
            group.start_soon(office.settle)
            await office.until(lambda: intended(office))
            shop.kill()
        question = await office.open("T-0004", QuestionKind.MAY_HAVE_RUN)
        assert "was started again since and may not remember, so it was not sent again" in question.payload["why"]
        assert office.refunds() == []
        await office.answer(question, office.staff, Answer("it_did_not_run"))
        await office.settle()
        assert (await office.outcomes("T-0004"))[-1] == ("shop.issue_refund", "failed")


async def intended(office: Any) -> bool:
    kinds: list[str] = await office.kinds("T-0004")
    return kinds.count("intended") == 2


@pytest.mark.parametrize("said", ["it_did_not_run", "nothing"])
async def test_once_people_were_asked_nothing_is_sent_again_also_where_looking_has_become_possible(
    open_office: Any, said: Any
) -> None:
    """The look in the shop's book fails while it is frozen; let go again, a person's word stands and no refund is made."""
    async with open_office() as office:
        await office.work("T-0004")
        shop = office.server_process("servers.shop")
        shop.suspend()
        await office.answer(await office.open("T-0004"), office.staff, Answer("approve"))
        async with anyio.create_task_group() as group:
            group.start_soon(office.settle)
            await office.until(lambda: intended(office))
            await office.host.freeze("shop", office.admin)
            shop.kill()
        question = await office.open("T-0004", QuestionKind.MAY_HAVE_RUN)
        await office.host.unfreeze("shop", office.admin)
        if said == "nothing":
            office.clock.move(hours=25)
            await office.host_expires()
        else:
            await office.answer(question, office.staff, Answer(said))
        await office.settle()
        assert office.refunds() == []
        expected = "may_have_run" if said == "nothing" else "failed"
        assert (await office.outcomes("T-0004"))[-1] == ("shop.issue_refund", expected)
        looks = [noted.entry.found for noted in await office.entries("T-0004") if noted.entry.kind == "looked_back"]
        assert looks[-1] == "it is not there"
