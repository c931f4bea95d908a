"""mcp-server-time, a stranger's 2026-07-28 server over stdio, through a whole host."""

from __future__ import annotations

import pytest

from host.catalog import digest_of
from host.config import ServerConfig, ToolConfig
from host.types import OutcomeKind
from models.port import Call

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock(time_command, time_env, wire) -> ServerConfig:
    tools = {name: ToolConfig(effect="read") for name in ("get_current_time", "convert_time")}
    return ServerConfig(command=wire.command(*time_command), env=time_env, tools=tools)


def now(zone: str) -> Call:
    return Call("clock.get_current_time", {"timezone": zone})


def convert(**arguments: str) -> Call:
    return Call("clock.convert_time", arguments)


async def test_it_is_met_as_a_2026_server_and_its_tools_are_pinned_as_they_stand(open_house, clock) -> None:
    async with open_house(clock=clock) as house:
        health = (await house.host.status()).servers[0]
        assert (health.state, health.protocol) == ("connected", "2026-07-28")
        assert health.claims == "mcp-time 2026.10.19"
        assert house.running.report[0] == "clock: 2 tools, 2 usable"
        pins = await house.pins("clock")
        assert set(pins) == {"get_current_time", "convert_time"}
        for tool in await house.host.tools():
            pin = pins[tool.remote_name]
            assert pin.accepted
            assert pin.digest == tool.digest == digest_of(pin.definition)
            assert {"inputSchema", "outputSchema", "annotations", "description"} <= set(pin.definition)


async def test_its_results_fit_their_own_schemas_and_its_own_error_is_what_the_model_reads(open_house, clock) -> None:
    async with open_house(clock=clock) as house:
        vienna, tokyo, failed = await house.work(
            now("Europe/Vienna"),
            convert(source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
            convert(source_timezone="UTC", time="noon", target_timezone="Asia/Tokyo"),
        )
        assert (vienna.outcome, vienna.data["timezone"]) == (OutcomeKind.RESULT, "Europe/Vienna")
        assert (tokyo.outcome, tokyo.data["time_difference"]) == (OutcomeKind.RESULT, "+9.0h")
        assert failed.outcome is OutcomeKind.TOOL_ERROR
        assert "+9.0h" in house.told()
        assert "Expected HH:MM" in house.told()


async def test_arguments_that_its_schema_refuses_never_reach_it(open_house, clock, wire) -> None:
    async with open_house(clock=clock) as house:
        missing, strange = await house.work(
            convert(source_timezone="UTC", time="12:00"),
            Call("clock.get_current_time", {"timezone": "UTC", "format": "short"}),
        )
        assert [missing.outcome, strange.outcome] == [OutcomeKind.REFUSED, OutcomeKind.REFUSED]
    assert "tools/call" not in wire.methods()


async def test_after_a_restart_it_is_met_again_without_a_probe(open_house, clock, wire) -> None:
    async with open_house(clock=clock):
        assert wire.methods().count("server/discover") == 1
    wire.log.unlink()
    async with open_house(clock=clock) as house:
        (again,) = await house.work(now("UTC"))
        assert again.outcome is OutcomeKind.RESULT
        assert (await house.host.status()).servers[0].claims == "mcp-time 2026.10.19"
    assert "tools/call" in wire.methods()
    assert not {"server/discover", "initialize"} & set(wire.methods())
