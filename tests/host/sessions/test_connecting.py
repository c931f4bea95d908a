"""How servers are met, remembered, lost and met again (spec H1-H5)."""

import json
import logging
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.config import ServerConfig
from host.errors import BadResult, Gone, NotFound, ServerError, Unavailable
from host.link import CONNECT_SECONDS
from host.probes import config_digest
from host.store.engine import Store
from host.store.servers import ServerMemory

pytestmark = pytest.mark.anyio


async def test_a_restarted_process_reconnects_without_asking_what_the_server_speaks(wire: Any, tmp_path: Path) -> None:
    memory, log = wire.Memory(), tmp_path / "wire"
    config = wire.tee(log, wire.BENCH)
    async with wire.connected(memory, shop=config):
        assert "server/discover" in wire.methods(log)
    log.unlink()
    async with wire.connected(memory, shop=config) as sessions:
        assert (await wire.call(sessions, "shop", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        assert sessions.health()[0].claims == "Bench 1.0"
    assert "tools/call" in wire.methods(log)
    assert not {"server/discover", "initialize"} & set(wire.methods(log))


async def test_a_server_of_the_older_handshake_is_remembered_as_such(wire: Any, tmp_path: Path) -> None:
    memory, log = wire.Memory(), tmp_path / "wire"
    config = wire.tee(log, wire.RAW, RAW_ERA="2025")
    async with wire.connected(memory, old=config) as sessions:
        assert sessions.health()[0].protocol == "2025-06-18"
        assert (await wire.call(sessions, "old", "plain")).text == "as text"
    assert json.loads(memory.kept["old", config_digest(config)])["protocol"] == "2025-06-18"
    log.unlink()
    async with wire.connected(memory, old=config):
        pass
    assert wire.methods(log)[0] == "initialize"
    assert "server/discover" not in wire.methods(log)


@pytest.mark.parametrize(("before", "after"), [("2026", "2025"), ("2025", "2026")])
async def test_a_server_that_changed_what_it_speaks_is_asked_anew(wire: Any, tmp_path: Path, before: str, after: str) -> None:
    memory = wire.Memory()
    async with wire.connected(memory, x=wire.child(wire.RAW, RAW_ERA=before)):
        pass
    stale = memory.kept.popitem()[1]
    config = wire.child(wire.RAW, RAW_ERA=after)
    memory.kept["x", config_digest(config)] = stale
    async with wire.connected(memory, x=config) as sessions:
        assert sessions.health()[0].state == "connected"
        assert (await wire.call(sessions, "x", "plain")).text == "as text"


async def test_what_was_learned_outlives_the_process_in_the_database(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    config = wire.tee(log, wire.RAW)
    for _process_of_ours in range(2):
        async with (
            Store(f"sqlite:///{tmp_path}/deskhand.db") as store,
            wire.connected(ServerMemory(store), raw=config) as sessions,
        ):
            assert (await wire.call(sessions, "raw", "plain")).text == "as text"
    assert wire.methods(log).count("server/discover") == 1


async def test_a_version_error_in_a_call_has_the_server_asked_anew(wire: Any, memory: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    async with wire.connected(memory, raw=wire.tee(log, wire.RAW)) as sessions:
        with pytest.raises(Unavailable, match="it is asked anew"):
            await wire.call(sessions, "raw", "other_version")
        assert (await wire.call(sessions, "raw", "plain", timeout=20)).text == "as text"
    assert wire.methods(log).count("server/discover") == 2


async def test_a_dead_server_is_started_again_and_another_one_never_notices(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH), b=wire.child(wire.BENCH)) as sessions:
        met = {prefix: sessions.process(prefix) for prefix in ("a", "b")}
        assert 0 < met["a"] < 2**48
        assert met["a"] != met["b"]
        with pytest.raises(Gone):
            await wire.call(sessions, "a", "stop")
        assert (await wire.call(sessions, "b", "add", arguments={"a": 1, "b": 1})).data == {"total": 2}
        assert (await wire.call(sessions, "a", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        assert sessions.process("a") not in (0, met["a"])
        assert sessions.process("b") == met["b"]


async def test_a_death_between_calls_is_noticed_without_a_call(wire: Any, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    async with wire.connected(a=wire.child(wire.RAW, RAW_PID=str(pid_file))) as sessions:
        met = sessions.process("a")
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        await wire.state(sessions, "a", "connecting")
        assert sessions.process("a") == 0
        await wire.state(sessions, "a", "connected")
        assert sessions.process("a") not in (0, met)


async def test_a_server_that_keeps_dying_is_tried_again_ever_later(wire: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="host")
    async with wire.connected(bad=wire.child("-c", "raise SystemExit(1)"), good=wire.child(wire.RAW)) as sessions:
        with anyio.fail_after(30):
            while "bad: down, tried again in 2.0 s" not in caplog.messages:
                assert (await wire.call(sessions, "good", "plain")).text == "as text"
    tries = [message for message in caplog.messages if message.startswith("bad:")]
    assert tries == [f"bad: down, tried again in {pause} s" for pause in ("0.5", "1.0", "2.0")]


async def test_servers_that_cannot_be_reached_are_named_with_what_to_check(wire: Any) -> None:
    unreachable = ServerConfig(url=f"http://127.0.0.1:{wire.free_port()}/mcp")
    config = {
        "good": wire.child(wire.BENCH),
        "missing": ServerConfig(command=("no-such-command",)),
        "early": wire.child("-c", "raise SystemExit('set SHOP_KEY')"),
        "far": unreachable,
    }
    async with wire.connected(None, **config) as sessions:
        health = {item.prefix: item for item in sessions.health()}
        assert health["good"].state == "connected"
        assert "'no-such-command' was not found" in health["missing"].why
        assert "set SHOP_KEY" in health["early"].why
        assert "check that it runs and its url" in health["far"].why
        for prefix in ("missing", "early", "far"):
            with pytest.raises(Unavailable):
                await wire.call(sessions, prefix, "add")


async def test_a_server_that_never_answers_is_waited_for_as_long_as_a_call_may_take_and_no_longer(wire: Any) -> None:
    """Once for all: what wants it after that time gets an error at once, and the other servers are at work."""
    hung = wire.child(wire.HUNG).model_copy(update={"timeout_seconds": 0.5})
    with anyio.fail_after(CONNECT_SECONDS - 10):
        async with wire.connected(hung=hung, good=wire.child(wire.BENCH)) as sessions:
            assert (sessions.connected("hung"), sessions.connected("good")) == (False, True)
            assert sessions.health()[0].state == "connecting"
            assert sessions.health()[0].why, "in words"
            with anyio.CancelScope() as at_once:
                at_once.deadline = anyio.current_time() + 0.4
                for asked in (sessions.list_tools, sessions.list_anew, sessions.list_resources):
                    with pytest.raises(Unavailable, match="hung is still connecting: it has not answered yet"):
                        await asked("hung")
            assert not at_once.cancelled_caught
            assert (await wire.call(sessions, "good", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}


async def test_an_unknown_prefix_is_an_error_that_lists_what_exists(wire: Any) -> None:
    async with wire.connected(good=wire.child(wire.BENCH)) as sessions:
        with pytest.raises(NotFound, match="good"):
            await wire.call(sessions, "evil", "add")


# Listings


@pytest.mark.parametrize("era", ["2025", "2026"])
async def test_a_bad_tool_is_dropped_and_named_and_the_others_stay_over_all_pages(wire: Any, era: str) -> None:
    async with wire.connected(raw=wire.child(wire.RAW, RAW_ERA=era)) as sessions:
        listed = {tool.name: tool for tool in await sessions.list_tools("raw")}
    assert listed["plain"].dropped == ""
    assert listed["plain"].definition["inputSchema"] == {"type": "object", "properties": {}}
    assert "inputSchema" in listed["no_schema"].dropped
    assert "description" in listed["no_name_type"].dropped
    assert "another document" in listed["remote_ref"].dropped
    assert ("x-mcp-header" in listed["bad_header"].dropped) == (era == "2026")
    assert listed["no_content"].dropped == ""
    assert "inputSchema" in listed["late_and_bad"].dropped
    assert listed["last"].dropped == ""


async def test_a_list_without_an_end_is_cut_off_and_says_so(wire: Any, tmp_path: Path) -> None:
    offered = tmp_path / "tools.json"
    offered.write_text(json.dumps([{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(3000)]))
    async with wire.connected(raw=wire.child(wire.RAW, RAW_TOOLS=str(offered))) as sessions:
        listed = await sessions.list_tools("raw")
        assert len(listed) == 501
        assert listed[-1].dropped == "its list has no end: 100 pages were read"
        big = {"name": "big", "description": "x" * 3_000_000, "inputSchema": {"type": "object"}}
        offered.write_text(json.dumps([big | {"name": f"tool_{number}"} for number in range(20)]))
        with pytest.raises(BadResult, match="more than 4 MiB"):
            await sessions.list_tools("raw")
        offered.write_text(json.dumps([{"name": "tool", "inputSchema": {"type": "object"}}]))
        assert [tool.name for tool in await sessions.list_tools("raw")] == ["tool"]


async def test_resources_are_listed_with_their_audience_and_read_through_the_cache(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    async with wire.connected(a=wire.tee(log, wire.BENCH)) as sessions:
        listed = {resource.uri: resource for resource in await sessions.list_resources("a")}
        assert listed["bench://terms"].audience == ("assistant",)
        assert listed["bench://terms"].priority == 1.0
        for _read in range(2):
            assert await sessions.read_resource("a", "bench://terms") == "Returns within 30 days."
        with pytest.raises(ServerError):
            await sessions.read_resource("a", "bench://nothing")
    reads = [line for line in log.read_text().splitlines() if "bench://terms" in line]
    assert len(reads) == 1


async def test_a_changed_tool_list_is_noted(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        before = sessions.changes("a")
        await wire.call(sessions, "a", "grow")
        with anyio.fail_after(10):
            while sessions.changes("a") == before:
                await anyio.lowlevel.checkpoint()
