"""Arguments that a person edits before approval: the edited call is judged anew, runs, and the model is told (spec H21)."""

from __future__ import annotations

from typing import Any

import pytest

from host.config import HostConfig, ToolConfig
from host.types import Answer, NotTaken

pytestmark = pytest.mark.anyio

TRACK = "partner.track_parcel"


def number_may_be_edited(config: HostConfig) -> HostConfig:
    tools = {"track_parcel": ToolConfig(effect="read", may_edit=("tracking_number",))}
    partner = config.servers["partner"].model_copy(update={"tools": tools})
    return config.model_copy(update={"servers": {**config.servers, "partner": partner}})


def tracking(script: Any) -> Any:
    return script.turns(script.call(TRACK, tracking_number="FX-60318842"), script.reply("Thank you."))


async def test_an_edit_to_a_value_that_nothing_grounds_is_refused_by_the_checkpoint(open_office: Any, script: Any) -> None:
    async with open_office(tracking(script), change=number_may_be_edited, variant="clean") as office:
        await office.work("T-0010")
        edited = Answer("approve", content={"tracking_number": "FX-99999999"})
        await office.answer(await office.open("T-0010"), office.staff, edited)
        await office.settle()
        assert await office.outcomes("T-0010") == [(TRACK, "refused")]


async def test_an_edit_that_holds_runs_and_the_model_is_told(open_office: Any, script: Any) -> None:
    async with open_office(tracking(script), change=number_may_be_edited, variant="clean") as office:
        await office.work("T-0010")
        edited = Answer("approve", content={"tracking_number": "fx 60318842"})
        await office.answer(await office.open("T-0010"), office.staff, edited)
        await office.settle()
        (call,) = (await office.result("T-0010")).calls
        assert (call.outcome.value, call.arguments) == ("result", {"tracking_number": "FX-60318842"})
        assert "a person changed the arguments" in call.note
        assert "edited arguments" in call.allowed_by


async def test_a_field_that_may_not_be_edited_is_refused_at_the_click(open_office: Any, script: Any) -> None:
    async with open_office(tracking(script), variant="clean") as office:
        await office.work("T-0010")
        edited = Answer("approve", content={"tracking_number": "FX-99999999"})
        refused = await office.answer(await office.open("T-0010"), office.staff, edited)
        assert isinstance(refused, NotTaken)
        assert "may not be edited" in refused.words
