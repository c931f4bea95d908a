"""Several people for one call: two leads over an amount, two for an unverified sender, nobody twice (spec H19, H32)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from host.config import HostConfig, PolicyRule
from host.errors import ConfigError
from host.types import Actor, Answer, NotTaken, QuestionKind, QuestionState, Taken

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

ISSUE = "shop.issue_refund"
OVER_100 = {"amount": "amount", "two_leads_over": Decimal(100)}


def two_leads(config: HostConfig) -> HostConfig:
    shop = config.servers["shop"]
    issue = shop.tools["issue_refund"].model_copy(update={"amount": "quote_id.amount", "two_leads_over": Decimal(100)})
    shop = shop.model_copy(update={"tools": {**shop.tools, "issue_refund": issue}})
    return config.model_copy(update={"servers": {**config.servers, "shop": shop}})


def allowed_unasked(config: HostConfig) -> HostConfig:
    rules = [rule for rule in config.policy if rule.tool != ISSUE]
    return config.model_copy(update={"policy": (*rules, PolicyRule(tool=ISSUE, decision="allow"))})


def words(result: Any) -> str:
    assert isinstance(result, NotTaken)
    return result.words


async def test_over_the_amount_two_different_leads_approve_and_a_third_one_releases(open_office: Opening) -> None:
    async with open_office(change=two_leads) as office:
        await office.work("T-0004")
        asked = await office.open("T-0004", QuestionKind.CONSENT)
        assert (asked.needed, asked.roles) == (2, ("lead",))
        assert "over 100" in asked.payload["needed_why"]

        assert "Only a lead" in words(await office.approve("T-0004", office.staff))
        assert not (await office.host.may_answer(asked.id, office.staff)).ok
        first = await office.approve("T-0004", office.lead)
        assert isinstance(first, Taken)
        assert "1 of 2" in first.words
        assert (await office.open("T-0004")).state is QuestionState.OPEN
        assert office.refunds() == []
        assert "approved this already" in words(await office.approve("T-0004", office.lead))
        again = await office.host.may_answer(asked.id, office.lead)
        assert (again.ok, "approved this already" in again.words) == (False, True)
        office.clock.move(minutes=1)
        assert isinstance(await office.approve("T-0004", office.lead2), Taken)

        release = await office.open("T-0004", QuestionKind.INPUT_REQUEST)
        assert sorted(release.payload["approved_by"]) == sorted([office.lead.user, office.lead2.user])
        for lead in (office.lead, office.lead2):
            assert "another person" in (await office.host.may_answer(release.id, lead)).words
            assert "another person" in words(await office.release("T-0004", lead))
        assert (await office.host.may_answer(release.id, office.lead3)).ok
        assert isinstance(await office.release("T-0004", office.lead3), Taken)
        assert [(row["status"], row["requested_by"]) for row in office.refunds()] == [("requested", "lead-0004")]
        log = (await office.host.card(f"question:{(await office.open('T-0004')).id}")).calls
        assert log[-1].allowed_by == "Scripted lead and Second lead and Third lead"
        assert (await office.kinds("T-0004")).count("approved") == 1
        assert await office.verified("T-0004") == ""


async def test_one_lead_who_declines_after_another_approved_decides(open_rounds: Opening) -> None:
    async with open_rounds(tool=OVER_100) as office:
        ticket = await office.tries(9001, "plain amount 343.49")
        await office.approve(ticket, office.lead)
        declined = await office.answer(await office.open(ticket), office.lead2, office.declined("photos first"))
        assert isinstance(declined, Taken)
        await office.settle()
        assert (await office.call(ticket)).outcome.value == "declined"
        assert "photos first" in office.told()
        assert office.wire() == []
        assert "Second lead" in words(await office.answer(declined.question, office.lead3, Answer("approve")))

        ticket = await office.tries(9002, "plain amount 343.49")
        await office.approve(ticket, office.lead)
        assert not (await office.host.may_answer((await office.open(ticket)).id, office.lead)).ok
        assert (await office.host.may_answer((await office.open(ticket)).id, office.lead, declining=True)).ok
        changed_mind = await office.answer(await office.open(ticket), office.lead, office.declined("I looked again"))
        assert isinstance(changed_mind, Taken)


async def test_how_many_it_takes_is_told_by_the_amount_and_in_doubt_it_is_two(open_rounds: Opening) -> None:
    async with open_rounds(tool=OVER_100) as office:
        over = await office.open(await office.tries(9001, "plain amount 100.01"), QuestionKind.CONSENT)
        assert (over.needed, over.roles) == (2, ("lead",))
        unknown = await office.open(await office.tries(9002, "plain"), QuestionKind.CONSENT)
        assert (unknown.needed, "can't be told" in unknown.payload["needed_why"]) == (2, True)
        below = await office.tries(9003, "plain amount 100")
        assert (await office.call(below)).outcome.value == "result", "the policy allows it unasked"


async def test_an_unverified_senders_ticket_has_no_effect_on_one_approval_whatever_the_policy_allows(
    open_office: Opening,
) -> None:
    async with open_office(change=allowed_unasked) as office:
        known = {ticket.id: ticket for ticket in office.tickets()}
        await office.work("T-0025")
        assert [q.kind for q in await office.questions("T-0025")][:1] == [QuestionKind.INPUT_REQUEST], "allowed, unasked"
        assert [row["order_id"] for row in office.refunds()] == ["O-2289"]

        await office.work(replace(known["T-0004"], sender_verified=False))
        asked = await office.open("T-0004", QuestionKind.CONSENT)
        assert (asked.needed, "not verified" in asked.payload["needed_why"], asked.payload["may_edit"]) == (2, True, [])
        assert "1 of 2" in (await office.approve("T-0004", office.staff)).words
        assert "approved this already" in words(await office.approve("T-0004", office.staff))
        assert len(office.refunds()) == 1
        assert isinstance(await office.approve("T-0004", office.both), Taken)
        assert len(office.refunds()) == 2
        assert "another person" in words(await office.release("T-0004", office.both))


async def test_a_card_says_when_nobody_is_left_who_may_decide(open_rounds: Opening) -> None:
    asking = {"policy": (PolicyRule(tool="rounds.*", decision="ask"),)}
    async with open_rounds(**asking, lead=(), staff=()) as office:
        one = await office.open(await office.tries(9001, "plain"))
        assert (await office.host.card(f"question:{one.id}")).nobody is True
        lead, lead2 = office.lead, office.lead2
    async with open_rounds(**asking, staff=()) as office:
        assert (await office.host.card(f"question:{one.id}")).nobody is False, "leads may decide it too"
    async with open_rounds(tool=OVER_100, lead=(lead, lead2)) as office:
        two = await office.open(await office.tries(9002, "plain amount 200"))
        await office.approve("T-9002", lead)
        assert (await office.host.card(f"question:{two.id}")).nobody is False
    async with open_rounds(lead=(lead,)) as office:
        assert (await office.host.card(f"question:{two.id}")).nobody is True, "the other lead left meanwhile"
    async with open_rounds(lead=(lead,), **asking) as office:
        await office.approve(await office.tries(9003, "form"), lead)
        release = await office.open("T-9003")
        assert (await office.host.card(f"question:{release.id}")).nobody is True, "the only lead approved it"
    async with open_rounds(lead=(lead,), four_eyes=False) as office:
        assert (await office.host.card(f"question:{release.id}")).nobody is False


async def test_without_four_eyes_who_approved_may_release(open_rounds: Opening) -> None:
    asking = {"policy": (PolicyRule(tool="rounds.*", decision="ask"),)}
    async with open_rounds(four_eyes=False, **asking) as office:
        ticket = await office.tries(9001, "form")
        await office.approve(ticket, office.both)
        released = await office.answer(await office.open(ticket), office.both, Answer("accept", content={"yes": True}))
        assert isinstance(released, Taken)


@pytest.mark.parametrize(
    ("settings", "leads", "needed"),
    [
        ({"server": {"input_roles": ("lead",)}}, 2, "needs 3 different leads"),
        ({"server": {"input_roles": ("lead",)}, "four_eyes": False}, 1, "needs 2 different leads"),
        ({}, 0, "needs 2 different leads"),
    ],
)
async def test_a_rule_that_the_listed_leads_can_never_fulfil_refuses_to_start(
    open_rounds: Opening, actors: Any, settings: Any, leads: int, needed: str
) -> None:
    with pytest.raises(ConfigError, match=needed) as refused:
        async with open_rounds(tool=OVER_100, lead=actors(leads), **settings):
            pass
    assert "servers.rounds.tools.form" in str(refused.value)
    assert f"lists {leads}" in str(refused.value)


async def test_what_the_listed_leads_may_be_able_to_fulfil_starts(open_rounds: Opening, actors: Any) -> None:
    """Nobody wrote down that the server ever asks."""
    async with open_rounds(tool=OVER_100, lead=actors(2)):
        pass


@pytest.fixture
def actors() -> Callable[[int], tuple[Actor, ...]]:
    return lambda count: tuple(Actor(f"lead-{n}", f"U{n}", f"Lead {n}", frozenset({"lead"})) for n in range(count))
