"""An effect at a server that can't be looked into: a person says whether it ran (spec H13)."""

from __future__ import annotations

from typing import Any

import pytest

from host.config import HostConfig, ToolConfig
from host.types import Answer, QuestionKind, StopReason

pytestmark = pytest.mark.anyio

TRACK = "partner.track_parcel"


def tracking_has_an_effect(config: HostConfig) -> HostConfig:
    partner = config.servers["partner"].model_copy(update={"tools": {"track_parcel": ToolConfig(effect="effect")}})
    return config.model_copy(update={"servers": {**config.servers, "partner": partner}})


@pytest.mark.parametrize(
    ("action", "outcome", "told"),
    [("it_ran", "result", "it ran"), ("it_did_not_run", "failed", "it did not run")],
)
async def test_a_person_who_looked_says_whether_an_effect_ran(
    open_office: Any, script: Any, action: Any, outcome: str, told: str
) -> None:
    turns = script.turns(script.call(TRACK, tracking_number="FX-60318842"), script.reply("Thank you."))
    async with open_office(turns, change=tracking_has_an_effect, variant="dying", remember="died.txt") as office:
        await office.work("T-0010")
        await office.approve("T-0010")
        question = await office.open("T-0010", QuestionKind.MAY_HAVE_RUN)
        assert await office.outcomes("T-0010") == []
        await office.answer(question, office.staff, Answer(action))
        await office.settle()
        assert await office.outcomes("T-0010") == [(TRACK, outcome)]
        assert told in (await office.result("T-0010")).calls[0].note


async def test_when_nobody_looks_the_call_stays_unknown_and_the_ticket_goes_to_a_person(open_office: Any, script: Any) -> None:
    turns = script.turns(script.call(TRACK, tracking_number="FX-60318842"), script.reply("Thank you."))
    async with open_office(turns, change=tracking_has_an_effect, variant="dying", remember="died.txt") as office:
        await office.work("T-0010")
        await office.approve("T-0010")
        await office.open("T-0010", QuestionKind.MAY_HAVE_RUN)
        office.clock.move(hours=25)
        await office.host_expires()
        await office.settle()
        assert await office.outcomes("T-0010") == [(TRACK, "may_have_run")]
        assert (await office.result("T-0010")).stop_reason is StopReason.NEEDS_PERSON
