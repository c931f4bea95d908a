"""server-everything, a stranger's 2025 server on another SDK, through a whole host: over stdio and over Streamable HTTP."""

from __future__ import annotations

import os

import anyio
import pytest

from bot.headless import ADMIN, STAFF
from host.catalog import NEW, digest_of
from host.config import ServerConfig
from host.errors import ConfigError
from host.types import Answer, OutcomeKind, QuestionKind
from models.port import Call

pytestmark = pytest.mark.anyio

ALWAYS = {
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
}
#: Added once it knows that its client can ask people.
ASKING = {"trigger-elicitation-request", "trigger-url-elicitation"}
TASK = "simulate-research-query"


def one(tool: str, **arguments: object) -> Call:
    return Call(f"all.{tool}", arguments)


async def test_it_is_met_as_a_2025_server_and_every_tool_is_pinned_but_the_one_that_wants_a_task(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        health = (await house.host.status()).servers[0]
        assert (health.state, health.protocol) == ("connected", "2025-11-25")
        assert health.claims == "mcp-servers/everything 2.0.0"
        tools = {tool.remote_name: tool for tool in await house.host.tools()}
        assert set(tools) == ALWAYS | ASKING | {TASK}
        assert await house.off() == {f"all.{TASK}": "it can only run as a task, which is not supported"}
        assert f"all: {len(tools)} tools, {len(tools) - 1} usable" in house.running.report
        assert f"all: all.{TASK} is off: it can only run as a task, which is not supported" in house.running.report
        pins = await house.pins("all")
        assert set(pins) == ALWAYS | ASKING
        assert all(pin.accepted and pin.digest == digest_of(pin.definition) == tools[name].digest for name, pin in pins.items())


async def test_its_many_tools_are_too_much_for_a_small_context_and_the_start_says_so(open_house, everything) -> None:
    with pytest.raises(ExceptionGroup) as refused:
        async with open_house(all=everything, over_share="refuse"):
            pass
    words = r'the tools fill about \d+% of .* \(all about \d+\); .* over_share = "say"'
    assert refused.group_contains(ConfigError, match=words)
    async with open_house(all=everything) as house:
        assert any("the tools fill about" in line for line in house.running.report)


async def test_a_call_of_each_kind_comes_back_as_the_model_can_read_it(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        records = await house.work(
            one("echo", message="Grüße, 世界 👋"),
            one("get-sum", a=2, b=40),
            one("get-structured-content", location="Chicago"),
            one("get-annotated-message", messageType="error", includeImage=True),
            one("get-tiny-image"),
            one("get-resource-links", count=2),
            one("get-resource-reference", resourceType="Text", resourceId=1),
        )
        assert [record.outcome for record in records] == [OutcomeKind.RESULT] * 7
        echo, total, weather, annotated, image, links, reference = [record.text for record in records]
        assert echo == "Echo: Grüße, 世界 👋"
        assert total == "The sum of 2 and 40 is 42."
        assert records[2].data == {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
        assert '"humidity":82' in weather
        assert annotated == "Error: Operation failed\n[image: not shown]"
        assert "[image: not shown]" in image
        assert links.count("not opened]") == 2
        assert "Resource 1" in reference
        assert "The sum of 2 and 40 is 42." in house.told()


async def test_a_tool_that_is_not_there_and_one_that_wants_a_task_are_answered_in_words(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        strange, task = await house.work(one("get-difference", a=1), one(TASK, topic="kettles"))
        assert strange.outcome is OutcomeKind.UNKNOWN_TOOL
        assert (task.outcome, "it can only run as a task" in task.note) == (OutcomeKind.REFUSED, True)


async def test_a_call_with_an_effect_waits_for_consent_and_then_runs(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        ticket = await house.start(one("gzip-file-as-resource", data="data:text/plain,hello", outputType="resource"))
        await house.settle()
        question = await house.open(ticket, QuestionKind.CONSENT)
        await house.answer(question, STAFF, Answer("approve"))
        (zipped,) = await house.records(ticket)
        assert zipped.outcome is OutcomeKind.RESULT


async def test_a_long_operation_is_waited_for_within_the_servers_time(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        (done,) = await house.work(one("trigger-long-running-operation", duration=0.6, steps=4))
        assert done.text == "Long running operation completed. Duration: 0.6 seconds, Steps: 4."
        assert done.duration_ms >= 600


async def test_one_that_takes_longer_times_out_and_the_next_call_works(open_house, everything) -> None:
    async with open_house(all=everything.model_copy(update={"timeout_seconds": 1.0})) as house:
        late, after = await house.work(
            one("trigger-long-running-operation", duration=3, steps=10), one("echo", message="still there")
        )
        assert late.outcome is OutcomeKind.TIMED_OUT
        assert "it reported progress" in late.note
        assert after.text == "Echo: still there"


async def test_a_long_result_is_kept_whole_and_shown_cut(open_house, everything) -> None:
    async with open_house(all=everything) as house:
        (long,) = await house.work(one("echo", message="kettle " * 2600))
        assert len(long.text) == len("Echo: ") + 18_200
        assert 1000 < len(house.told()) < 7000


async def test_the_hosts_own_environment_stays_its_own(open_house, everything_command) -> None:
    assert "PYTEST_CURRENT_TEST" in os.environ, "something that stands in this process's environment alone"
    server = ServerConfig(command=everything_command, env={"SHOP_REGION": "north"}, tools={"get-env": {"effect": "read"}})
    async with open_house(all=server) as house:
        (shown,) = await house.work(one("get-env"))
        assert '"SHOP_REGION": "north"' in shown.text
        assert "PYTEST" not in shown.text


async def test_after_a_restart_it_is_met_again_without_a_probe(open_house, everything_command, wire) -> None:
    server = ServerConfig(command=wire.command(*everything_command), tools={"echo": {"effect": "read"}})
    async with open_house(all=server):
        assert wire.methods()[:2] == ["server/discover", "initialize"]
    wire.log.unlink()
    async with open_house(all=server) as house:
        (again,) = await house.work(one("echo", message="again"))
        assert again.outcome is OutcomeKind.RESULT
    assert wire.methods()[0] == "initialize"
    assert "server/discover" not in wire.methods()


async def test_a_child_that_is_killed_is_started_again_without_a_probe_and_its_pins_hold(
    open_house, everything_command, wire
) -> None:
    server = ServerConfig(command=wire.command(*everything_command), tools={"echo": {"effect": "read"}})
    async with open_house(all=server) as house:
        before = await house.host.tools()
        wire.log.unlink()
        house.child("relay.py").kill()

        async def again() -> bool:
            health = (await house.host.status()).servers[0]
            return (health.restarts, health.state) == (1, "connected")

        await house.until(again)
        (after,) = await house.work(one("echo", message="back"))
        assert after.text == "Echo: back"
        assert await house.host.tools() == before
    assert wire.methods()[0] == "initialize"
    assert "server/discover" not in wire.methods()


async def test_over_http_a_server_that_was_started_again_is_simply_used_again(open_house, everything_served) -> None:
    server = ServerConfig(url=everything_served.url, tools={"echo": {"effect": "read"}})
    async with open_house(all=server) as house:
        before = await house.host.tools()
        (first,) = await house.work(one("echo", message="first"))
        assert first.text == "Echo: first"
        await anyio.to_thread.run_sync(everything_served.stop)
        await anyio.to_thread.run_sync(everything_served.start)

        async def answers() -> bool:
            (again,) = await house.work(one("echo", message="again"))
            return again.text == "Echo: again"

        await house.until(answers)
        assert await house.host.tools() == before


async def test_while_it_is_away_a_call_fails_in_words_and_another_servers_works(
    open_house, everything_served, everything_command
) -> None:
    reads = {"echo": {"effect": "read"}}
    away = ServerConfig(url=everything_served.url, tools=reads)
    here = ServerConfig(command=everything_command, tools=reads)
    async with open_house(all=away, here=here) as house:
        await anyio.to_thread.run_sync(everything_served.stop)
        lost, kept = await house.work(one("echo", message="lost"), Call("here.echo", {"message": "kept"}))
        assert lost.outcome is OutcomeKind.FAILED
        assert "nothing ran" in lost.note
        assert kept.text == "Echo: kept"


async def test_tools_added_in_the_middle_of_a_ticket_are_off_until_accepted(open_house, everything_command, wire) -> None:
    """The server tells of its new tools while the first ticket's calls run."""
    server = ServerConfig(command=wire.command(*everything_command, late=True), tools={"echo": {"effect": "read"}})
    async with open_house(all=server) as house:
        assert {tool.remote_name for tool in await house.host.tools()} == ALWAYS
        await house.work(one("echo", message="first"), one("echo", message="second"))
        first, last = house.model.requests[0], house.model.requests[-1]
        assert first.tools == last.tools
        (new,) = await house.work(one("trigger-url-elicitation", url="https://pay.example.com/"))
        assert new.outcome is OutcomeKind.REFUSED
        assert new.note.endswith(NEW)
        off = await house.off()
        assert {name for name, why in off.items() if why == NEW} == {f"all.{name}" for name in ASKING}
        assert not {f"all.{name}" for name in ASKING} & {spec.name for spec in house.model.requests[-1].tools}
        for change in await house.host.changed_tools():
            assert (await house.host.accept_tool(change, STAFF)).ok is False
            assert (await house.host.accept_tool(change, ADMIN)).ok
        await house.work(one("echo", message="third"))
        assert {f"all.{name}" for name in ASKING} <= {spec.name for spec in house.model.requests[-1].tools}
