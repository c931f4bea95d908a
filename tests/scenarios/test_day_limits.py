"""Policy over what already ran: a ticket's second call, a day's total, and what is under way or may have run (spec H8)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from host.config import HoursConfig, PolicyRule
from host.types import Answer, QuestionKind

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

PLAIN = "rounds.plain"
ALLOWED = PolicyRule(tool=PLAIN, decision="allow")
MONEY = {"amount": "amount"}
BERLIN = HoursConfig(zone="Europe/Berlin", days=("mon", "tue", "wed", "thu", "fri", "sat", "sun"), start="00:00", end="24:00")


def denied(**when: str) -> tuple[PolicyRule, ...]:
    return (
        ALLOWED,
        PolicyRule(tool=PLAIN, decision="deny", when={k.replace("__", "."): v for k, v in when.items()}, why="enough"),
    )


async def outcome(office: Any, ticket: str) -> str:
    return str((await office.result(ticket)).calls[-1].outcome.value)


async def test_a_days_total_counts_what_every_ticket_moved_and_a_new_day_begins_at_the_configured_midnight(
    open_rounds: Opening,
) -> None:
    async with open_rounds(policy=denied(today__amount="> 100"), tool=MONEY, hours=BERLIN) as office:
        office.clock.moment = datetime(2026, 6, 2, 20, 0, tzinfo=UTC)
        assert await outcome(office, await office.tries(9001, "plain amount 60.05")) == "result"
        assert await outcome(office, await office.tries(9002, "plain amount 39.95")) == "result"
        assert await outcome(office, await office.tries(9003, "plain amount 0.01")) == "result", "100.00 is not over 100"
        over = await office.tries(9004, "plain amount 0.01")
        assert (await office.call(over)).outcome.value == "refused"
        assert "enough" in (await office.call(over)).note
        office.clock.moment = datetime(2026, 6, 2, 21, 59, tzinfo=UTC)
        assert await outcome(office, await office.tries(9005, "plain amount 1")) == "refused", "one minute to midnight in Berlin"
        office.clock.moment = datetime(2026, 6, 2, 22, 0, tzinfo=UTC)
        assert await outcome(office, await office.tries(9006, "plain amount 1")) == "result"
    async with open_rounds(policy=denied(today__amount="> 0"), tool=MONEY, hours=BERLIN) as office:
        assert await outcome(office, await office.tries(9007, "plain amount 1")) == "refused", "another process counts the same"


async def test_the_second_call_of_a_ticket_is_told_from_the_first_in_whichever_run(open_rounds: Opening) -> None:
    rules = (ALLOWED, PolicyRule(tool=PLAIN, decision="ask", when={f"ticket.{PLAIN}": ">= 1"}, why="the second of this ticket"))
    async with open_rounds(policy=rules) as office:
        ticket = await office.tries(9001, "plain")
        assert await outcome(office, ticket) == "result"
        await office.again(ticket)
        asked = await office.open(ticket, QuestionKind.CONSENT)
        assert "the second of this ticket" in asked.payload["rule"]
        await office.approve(ticket)
        assert [call.outcome.value for call in (await office.result(ticket)).calls] == ["result", "result"], (
            "it is not its own second"
        )
        assert await outcome(office, await office.tries(9002, "plain")) == "result", "another ticket has its own first"


async def test_what_is_under_way_counts_so_that_two_at_once_never_both_pass(open_rounds: Opening) -> None:
    """Both were judged when nothing had run; the first waits for its server's question, the second comes to be sent."""
    rules = (
        PolicyRule(tool="rounds.form", decision="ask"),
        PolicyRule(tool="rounds.form", decision="deny", when={"today.rounds.form": ">= 1"}, why="one a day"),
    )
    async with open_rounds(policy=rules) as office:
        first, second = await office.tries(9001, "form"), await office.tries(9002, "form")
        for ticket in (first, second):
            await office.answer(await office.open(ticket), office.staff, Answer("approve"))
        async with anyio.create_task_group() as workers:
            for _ in range(2):
                workers.start_soon(office.running.queue.work_one)
        await office.settle()
        assert len(office.wire()) == 1
        (begun,) = [ticket for ticket in (first, second) if not await office.outcomes(ticket)]
        (too_late,) = {first, second} - {begun}
        assert "one a day" in (await office.call(too_late)).note

        office.clock.move(hours=20)  # another day
        third = await office.tries(9003, "form")
        assert "one a day" in (await office.call(third)).note, "what is under way since yesterday may still run today"


async def test_a_call_that_waits_for_its_server_does_not_stand_in_its_own_way(open_rounds: Opening) -> None:
    rules = (
        PolicyRule(tool="rounds.form", decision="allow"),
        PolicyRule(tool="rounds.form", decision="deny", when={"today.rounds.form": ">= 1"}),
        PolicyRule(tool="rounds.form", decision="deny", when={"ticket.rounds.form": ">= 1"}),
    )
    async with open_rounds(policy=rules) as office:
        ticket = await office.tries(9001, "form")
        await office.answer(await office.open(ticket), office.lead, Answer("accept", content={"yes": True}))
        await office.settle()
        assert await outcome(office, ticket) == "result"


async def test_what_may_have_run_counts_and_what_certainly_did_not_does_not(open_rounds: Opening) -> None:
    rules = (
        PolicyRule(tool="rounds.form", decision="allow"),
        PolicyRule(tool=PLAIN, decision="allow"),
        PolicyRule(tool=PLAIN, decision="deny", when={"today.amount": ">= 10"}, why="enough"),
    )
    async with open_rounds("2025", policy=rules, tool=MONEY) as office:
        unknown = await office.tries(9001, "form amount 10")
        await office.restart_server(office.rounds)
        await office.until(lambda: may_have_run(office, unknown))
        assert await outcome(office, await office.tries(9002, "plain amount 1")) == "refused"
        await office.answer(await office.open(unknown), office.staff, Answer("it_did_not_run"))
        await office.settle()
        assert await outcome(office, await office.tries(9003, "plain amount 1")) == "result"


async def may_have_run(office: Any, ticket: str) -> bool:
    await office.settle()
    return bool((await office.open(ticket)).kind is QuestionKind.MAY_HAVE_RUN)


async def test_a_policy_made_stricter_between_approval_and_call_counts(open_rounds: Opening) -> None:
    """The operator restarts with other rules while an approved call has not been sent, and while its server's question waits."""
    asking = {name: PolicyRule(tool=f"rounds.{name}", decision="ask") for name in ("plain", "form")}
    deny = tuple(PolicyRule(tool=f"rounds.{name}", decision="deny", why="closed since today") for name in ("plain", "form"))
    async with open_rounds(policy=tuple(asking.values())) as office:
        approved, begun = await office.tries(9001, "plain"), await office.tries(9002, "form")
        await office.approve(begun)
        release = await office.open(begun, QuestionKind.INPUT_REQUEST)
        assert len(office.wire()) == 1
        await office.answer(await office.open(approved), office.staff, Answer("approve"))
    async with open_rounds(policy=deny) as office:
        await office.settle()
        assert ((await office.call(approved)).outcome.value, "closed since today" in (await office.call(approved)).note) == (
            "refused",
            True,
        )
        await office.answer(release, office.lead, Answer("accept", content={"yes": True}))
        await office.settle()
        assert "closed since today" in (await office.call(begun)).note
        assert len(office.wire()) == 1, "nothing was sent under the new rules"


async def test_what_is_allowed_no_longer_unasked_is_asked(open_rounds: Opening) -> None:
    """Denied before, asked now, and allowed before, asked now: the rules of the moment count."""
    async with open_rounds(policy=(PolicyRule(tool=PLAIN, decision="deny"),)) as office:
        assert await outcome(office, await office.tries(9001, "plain")) == "refused"
    async with open_rounds(policy=()) as office:
        assert (await office.open(await office.tries(9002, "plain"))).kind is QuestionKind.CONSENT
