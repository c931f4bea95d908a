"""Real servers over real stdio and HTTP: what a connection survives, and what its calls come back as (spec H1-H5, H12, H15)."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import TypeAdapter, ValidationError

from host.config import OAuthConfig, ServerConfig
from host.errors import Answered, BadResult, Gone, NotFound, ServerError, StateRefused, TimedOut, Unavailable
from host.probes import config_digest
from host.replies import FOREIGN, Mark, mapped
from host.sessions import Sessions
from host.types import Finished, NeedsInput

pytestmark = pytest.mark.anyio

SERVERS = Path(__file__).parent / "servers"
BENCH, RAW = str(SERVERS / "bench.py"), str(SERVERS / "raw.py")


class Memory:
    """Remembers what probes learned, as the store does."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def load_discovered(self, prefix: str, config_digest: str) -> str | None:
        return self.kept.get((prefix, config_digest))

    async def save_discovered(self, prefix: str, config_digest: str, value: str | None) -> None:
        if value is None:
            self.kept.pop((prefix, config_digest), None)
        else:
            self.kept[prefix, config_digest] = value


def child(*command: str, **env: str) -> ServerConfig:
    return ServerConfig(command=(sys.executable, *command), env=env)


def tee(log: Path, *command: str, **env: str) -> ServerConfig:
    return child(str(SERVERS / "tee.py"), str(log), sys.executable, *command, **env)


def methods_in(log: Path) -> list[str]:
    return [json.loads(line).get("method", "") for line in log.read_text().splitlines()]


@asynccontextmanager
async def connected(memory: Memory | None = None, **servers: ServerConfig) -> AsyncIterator[Sessions]:
    with anyio.fail_after(60):
        async with Sessions(servers, memory or Memory()) as sessions:
            await sessions.connect_all()
            yield sessions


async def call(sessions: Sessions, prefix: str, tool: str, /, *, timeout: float = 10.0, **more: Any) -> Any:
    arguments = more.pop("arguments", {})
    given = {"meta": {}, "subject": "service", **more}
    return await sessions.call(prefix, tool, arguments, timeout=timeout, **given)


def accept(reply: NeedsInput, **content: Any) -> dict[str, Any]:
    answers = {key: {"action": "accept", "content": content} for key in reply.pending["inputRequests"]}
    return {"responses": answers, "state": reply.pending["requestState"]}


@contextmanager
def http_server(script: str, port: int = 0, **env: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = port or free_port()
    process = subprocess.Popen(
        [sys.executable, script, "--http", str(port)], env={**os.environ, **env}, stderr=subprocess.DEVNULL
    )
    try:
        yield port, process
    finally:
        process.kill()
        process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def listening(port: int) -> None:
    with anyio.fail_after(20):
        while True:
            try:
                async with await anyio.connect_tcp("127.0.0.1", port):
                    return
            except OSError:
                await anyio.lowlevel.checkpoint()


async def state(sessions: Sessions, prefix: str, wanted: str) -> None:
    with anyio.fail_after(20):
        while next(health for health in sessions.health() if health.prefix == prefix).state != wanted:
            await anyio.lowlevel.checkpoint()


# Connections


async def test_a_restarted_process_reconnects_without_asking_what_the_server_speaks(tmp_path: Path) -> None:
    memory, log = Memory(), tmp_path / "wire"
    config = tee(log, BENCH)
    async with connected(memory, shop=config):
        assert "server/discover" in methods_in(log)
    log.unlink()
    async with connected(memory, shop=config) as sessions:
        assert (await call(sessions, "shop", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        assert sessions.health()[0].claims == "Bench 1.0"
    assert "tools/call" in methods_in(log)
    assert not {"server/discover", "initialize"} & set(methods_in(log))


async def test_a_server_of_the_older_handshake_is_remembered_as_such(tmp_path: Path) -> None:
    memory, log = Memory(), tmp_path / "wire"
    config = tee(log, RAW, RAW_ERA="2025")
    async with connected(memory, old=config) as sessions:
        assert sessions.health()[0].protocol == "2025-06-18"
        assert (await call(sessions, "old", "plain")).text == "as text"
    assert json.loads(memory.kept["old", config_digest(config)])["protocol"] == "2025-06-18"
    log.unlink()
    async with connected(memory, old=config):
        pass
    assert methods_in(log)[0] == "initialize"
    assert "server/discover" not in methods_in(log)


@pytest.mark.parametrize(("before", "after"), [("2026", "2025"), ("2025", "2026")])
async def test_a_server_that_changed_what_it_speaks_is_asked_anew(tmp_path: Path, before: str, after: str) -> None:
    memory = Memory()
    async with connected(memory, x=child(RAW, RAW_ERA=before)):
        pass
    stale = memory.kept.popitem()[1]
    config = child(RAW, RAW_ERA=after)
    memory.kept["x", config_digest(config)] = stale
    async with connected(memory, x=config) as sessions:
        assert sessions.health()[0].state == "connected"
        assert (await call(sessions, "x", "plain")).text == "as text"


async def test_a_dead_server_is_started_again_and_another_one_never_notices() -> None:
    async with connected(a=child(BENCH), b=child(BENCH)) as sessions:
        with pytest.raises(Gone):
            await call(sessions, "a", "stop")
        assert (await call(sessions, "b", "add", arguments={"a": 1, "b": 1})).data == {"total": 2}
        assert (await call(sessions, "a", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        assert sessions.generation("a") == 2
        assert sessions.generation("b") == 1


async def test_a_death_between_calls_is_noticed_without_a_call(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    launcher = (
        f"import os,sys;open({str(pid_file)!r},'w').write(str(os.getpid()));os.execv(sys.executable,[sys.executable,{BENCH!r}])"
    )
    async with connected(a=child("-c", launcher)) as sessions:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        await state(sessions, "a", "connecting")
        await state(sessions, "a", "connected")
        assert sessions.generation("a") == 2


async def test_servers_that_cannot_be_reached_are_named_with_what_to_check() -> None:
    unreachable = ServerConfig(url=f"http://127.0.0.1:{free_port()}/mcp")
    config = {
        "good": child(BENCH),
        "missing": ServerConfig(command=("no-such-command",)),
        "early": child("-c", "raise SystemExit('set SHOP_KEY')"),
        "far": unreachable,
    }
    async with connected(None, **config) as sessions:
        health = {item.prefix: item for item in sessions.health()}
        assert health["good"].state == "connected"
        assert "'no-such-command' was not found" in health["missing"].why
        assert "set SHOP_KEY" in health["early"].why
        assert "check that it runs and its url" in health["far"].why
        for prefix in ("missing", "early", "far"):
            with pytest.raises(Unavailable):
                await call(sessions, prefix, "add")


async def test_an_unknown_prefix_is_an_error_that_lists_what_exists() -> None:
    async with connected(good=child(BENCH)) as sessions:
        with pytest.raises(NotFound, match="good"):
            await call(sessions, "evil", "add")


# Calls


async def test_a_timeout_ends_one_call_and_leaves_the_server_running() -> None:
    async with connected(a=child(BENCH)) as sessions:
        with pytest.raises(TimedOut):
            await call(sessions, "a", "slow", arguments={"seconds": 30}, timeout=0.3)
        assert (await call(sessions, "a", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        assert sessions.generation("a") == 1


async def test_a_server_that_hangs_is_ended_and_started_again() -> None:
    async with connected(a=child(BENCH)) as sessions:
        with pytest.raises(TimedOut):
            await call(sessions, "a", "hang", timeout=0.5)
        await state(sessions, "a", "connecting")
        assert (await call(sessions, "a", "add", arguments={"a": 1, "b": 2}, timeout=20)).data == {"total": 3}


@pytest.mark.parametrize("size", [5_000, 500_000])
async def test_a_large_argument_to_a_server_that_does_not_read_ends_in_a_timeout_and_others_go_on(size: int) -> None:
    async with connected(deaf=child(str(SERVERS / "deaf.py")), good=child(BENCH)) as sessions:
        with pytest.raises(TimedOut):
            await call(sessions, "deaf", "plain", arguments={"text": "x" * size}, timeout=0.5)
        assert (await call(sessions, "good", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        await state(sessions, "deaf", "connecting")


async def test_a_read_is_sent_once_more_after_a_lost_connection_and_an_effect_is_not(tmp_path: Path) -> None:
    config = child(BENCH, BENCH_DIR=str(tmp_path))
    async with connected(a=config) as sessions:
        assert (await call(sessions, "a", "stop_once", retry_reads=True)).text == "still here"
        (tmp_path / "stopped-once").unlink()
        with pytest.raises(Gone):
            await call(sessions, "a", "stop_once")


async def test_an_input_request_is_answered_by_another_process_with_the_same_state() -> None:
    config = child(BENCH)
    async with connected(a=config) as first:
        asked = await call(first, "a", "release", arguments={"order": "O-1145"})
    assert isinstance(asked, NeedsInput)
    stored = NeedsInput(pending=json.loads(json.dumps(asked.pending)))
    async with connected(a=config) as second:
        done = await call(second, "a", "release", arguments={"order": "O-1145"}, **accept(stored, release=True))
    assert done == Finished(text="O-1145 released: True", data={"result": "O-1145 released: True"}, is_error=False)


async def test_a_state_that_the_server_refuses_means_that_the_call_did_not_run() -> None:
    async with connected(a=child(BENCH)) as sessions:
        asked = await call(sessions, "a", "release", arguments={"order": "O-1145"})
        with pytest.raises(StateRefused):
            await call(sessions, "a", "release", arguments={"order": "O-2289"}, **accept(asked, release=True))


async def test_a_word_against_itself_is_an_error() -> None:
    async with connected(a=child(BENCH)) as sessions:
        assert await call(sessions, "a", "declined") == Finished(text="card declined", data=None, is_error=True)
        unknown = await call(sessions, "a", "no_such_tool")
        assert unknown.is_error


async def test_results_that_cannot_be_used_say_so_without_their_values() -> None:
    async with connected(raw=child(RAW), bench=child(BENCH)) as sessions:
        with pytest.raises(BadResult, match=r"\$\.total breaks type") as broken:
            await call(sessions, "raw", "liar")
        assert "4711" not in str(broken.value)
        with pytest.raises(BadResult, match="sent none"):
            await call(sessions, "raw", "silent")
        with pytest.raises(BadResult, match="at most 200,000"):
            await call(sessions, "bench", "flood")


async def test_an_unknown_kind_of_block_leaves_the_other_blocks_readable() -> None:
    async with connected(raw=child(RAW)) as sessions:
        reply = await call(sessions, "raw", "strange")
        assert reply.text == "[a part of kind 'hologram' that can't be shown]\nas text"
        assert (await call(sessions, "raw", "no_content")).data == {"a": 1}


async def test_a_protocol_error_is_answered_and_a_line_of_garbage_times_out() -> None:
    async with connected(raw=child(RAW)) as sessions:
        with pytest.raises(Answered, match="I would rather not"):
            await call(sessions, "raw", "refuse")
        with pytest.raises(TimedOut):
            await call(sessions, "raw", "garbage", timeout=0.3)
        assert (await call(sessions, "raw", "plain")).text == "as text"


async def test_a_server_that_breaks_off_may_have_run_the_call() -> None:
    async with connected(a=child(BENCH)) as sessions:
        with pytest.raises(BadResult, match="the database did not answer"):
            await call(sessions, "a", "crash")


async def test_a_2025_servers_question_is_cancelled_unless_somebody_takes_it_up() -> None:
    async with connected(old=child(RAW, RAW_ERA="2025")) as sessions:
        assert (await call(sessions, "old", "ask")).text == "cancel None"
        asked: list[Any] = []

        async def agree(params: Mapping[str, Any]) -> Mapping[str, Any]:
            asked.append(params["message"])
            return {"action": "accept", "content": {"yes": True}}

        assert (await call(sessions, "old", "ask", ask=agree)).text == "accept {'yes': True}"
        assert asked == ["Sure?"]


async def test_an_argument_that_is_no_json_never_reaches_the_connection() -> None:
    async with connected(a=child(BENCH)) as sessions:
        for bad in ("\ud800", float("nan")):
            with pytest.raises(Unavailable, match="can't be written as JSON"):
                await call(sessions, "a", "add", arguments={"a": bad, "b": 1})
        assert sessions.generation("a") == 1


# Listings


@pytest.mark.parametrize("era", ["2025", "2026"])
async def test_a_bad_tool_is_dropped_and_named_and_the_others_stay_over_all_pages(era: str) -> None:
    async with connected(raw=child(RAW, RAW_ERA=era)) as sessions:
        listed = {tool.name: tool for tool in await sessions.list_tools("raw")}
    assert listed["plain"].dropped == ""
    assert listed["plain"].definition["inputSchema"] == {"type": "object", "properties": {}}
    assert "inputSchema" in listed["no_schema"].dropped
    assert "description" in listed["no_name_type"].dropped
    assert "another document" in listed["remote_ref"].dropped
    assert ("x-mcp-header" in listed["bad_header"].dropped) == (era == "2026")
    assert listed["no_content"].dropped == ""


async def test_resources_are_listed_with_their_audience_and_read_through_the_cache(tmp_path: Path) -> None:
    log = tmp_path / "wire"
    async with connected(a=tee(log, BENCH)) as sessions:
        listed = {resource.uri: resource for resource in await sessions.list_resources("a")}
        assert listed["bench://terms"].audience == ("assistant",)
        assert listed["bench://terms"].priority == 1.0
        for _read in range(2):
            assert await sessions.read_resource("a", "bench://terms") == "Returns within 30 days."
        with pytest.raises(ServerError):
            await sessions.read_resource("a", "bench://nothing")
    reads = [line for line in log.read_text().splitlines() if "bench://terms" in line]
    assert len(reads) == 1


async def test_a_changed_tool_list_is_noted() -> None:
    async with connected(a=child(BENCH)) as sessions:
        before = sessions.changes("a")
        await call(sessions, "a", "grow")
        with anyio.fail_after(10):
            while sessions.changes("a") == before:
                await anyio.lowlevel.checkpoint()


# HTTP


async def test_http_calls_reconnect_without_a_probe_and_survive_a_restarted_server() -> None:
    memory = Memory()
    with http_server(BENCH) as (port, process):
        await listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        async with connected(memory, web=config) as sessions:
            assert sessions.health()[0].protocol == LATEST_MODERN_VERSION
            assert (await call(sessions, "web", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
            process.kill()
            process.wait(10)
            with pytest.raises(Unavailable):
                await call(sessions, "web", "add", arguments={"a": 1, "b": 2})
            with http_server(BENCH, port):
                await listening(port)
                await state(sessions, "web", "connected")
                assert (await call(sessions, "web", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
                assert await sessions.read_resource("web", "bench://terms") == "Returns within 30 days."


async def test_a_server_that_dies_in_an_http_call_may_have_run_it() -> None:
    with http_server(BENCH) as (port, _process):
        await listening(port)
        async with connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            with pytest.raises(Gone):
                await call(sessions, "web", "stop")


async def test_one_failed_http_call_leaves_the_calls_beside_it_alone() -> None:
    with http_server(RAW) as (port, _process), http_server(BENCH) as (good, _other):
        await listening(port)
        await listening(good)
        urls = {"cut": f"http://127.0.0.1:{port}/cut/mcp", "web": f"http://127.0.0.1:{good}/mcp"}
        results: list[Any] = []

        async def keep(prefix: str, tool: str, **more: Any) -> None:
            try:
                results.append(await call(sessions, prefix, tool, **more))
            except ServerError as error:
                results.append(type(error))

        configured = {name: ServerConfig(url=url) for name, url in urls.items()}
        async with connected(None, **configured) as sessions, anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: keep("web", "slow", arguments={"seconds": 0.5}))
            tasks.start_soon(lambda: keep("web", "slow", arguments={"seconds": 30}, timeout=0.2))
            tasks.start_soon(keep, "cut", "plain")
        assert Finished(text="done", data={"result": "done"}, is_error=False) in results
        assert Gone in results
        assert TimedOut in results


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unavailable), (404, Unavailable), (413, Answered), (429, Unavailable), (500, Gone), (503, Gone)]
)
async def test_an_http_status_decides_whether_the_call_may_have_run(status: int, kind: type[ServerError]) -> None:
    with http_server(RAW) as (port, _process):
        await listening(port)
        async with connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/status/{status}/mcp")) as sessions:
            with pytest.raises(kind):
                await call(sessions, "web", "plain")


async def test_an_older_http_server_is_called_too() -> None:
    with http_server(RAW, RAW_ERA="2025") as (port, _process):
        await listening(port)
        async with connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            assert (await call(sessions, "web", "plain")).text == "as text"


async def test_the_person_who_acts_decides_the_token_and_a_state_belongs_to_its_principal(tmp_path: Path) -> None:
    tokens = tmp_path / "staff.json"
    tokens.write_text(json.dumps({"service": "t0", "staff-0007": "t7", "staff-0008": "t8"}))
    with http_server(BENCH, BENCH_TOKENS="t0=service,t7=staff-0007,t8=staff-0008") as (port, _process):
        await listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp", staff_tokens_file=str(tokens))
        async with connected(shop=config) as sessions:
            meta = {"bench.example/ticket": "T-0009"}
            assert (await call(sessions, "shop", "whoami", subject="staff-0007", meta=meta)).text == "staff-0007 T-0009"
            with pytest.raises(Unavailable, match="no token for staff-0099"):
                await call(sessions, "shop", "whoami", subject="staff-0099")
            asked = await call(sessions, "shop", "release", arguments={"order": "O-1"}, subject="staff-0007")
            answer = accept(asked, release=True)
            with pytest.raises(StateRefused):
                await call(sessions, "shop", "release", arguments={"order": "O-1"}, subject="staff-0008", **answer)
            done = await call(sessions, "shop", "release", arguments={"order": "O-1"}, subject="staff-0007", **answer)
            assert done.text == "O-1 released: True"


async def test_a_wrong_or_missing_token_is_named_as_the_reason() -> None:
    with http_server(BENCH, BENCH_TOKENS="t0=service") as (port, _process):
        await listening(port)
        url = f"http://127.0.0.1:{port}/mcp"
        async with connected(none=ServerConfig(url=url), unset=ServerConfig(url=url, token_env="BENCH_NO_TOKEN")) as sessions:
            health = {item.prefix: item for item in sessions.health()}
            assert health["none"].state == "down"
            assert "token" in health["none"].why
            assert "set BENCH_NO_TOKEN" in health["unset"].why


async def test_a_fetched_token_is_kept_until_shortly_before_its_end() -> None:
    with (
        http_server(RAW) as (issuer, _issuing),
        http_server(BENCH, BENCH_TOKENS="oauth-1=robot,oauth-2=other") as (port, _serving),
    ):
        await listening(issuer)
        await listening(port)
        oauth = OAuthConfig(token_url=f"http://127.0.0.1:{issuer}/token", client_id="deskhand", secret_env="PATH")
        async with connected(shop=ServerConfig(url=f"http://127.0.0.1:{port}/mcp", oauth=oauth)) as sessions:
            for _call in range(2):
                assert (await call(sessions, "shop", "whoami")).text == "robot -"


async def test_a_tool_that_wants_an_argument_in_a_header_gets_it() -> None:
    with http_server(BENCH) as (port, _process):
        await listening(port)
        async with connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            assert (await call(sessions, "web", "regional", arguments={"region": "eu"})).text == "eu"


async def test_a_failing_token_endpoint_is_named_as_the_reason() -> None:
    oauth = OAuthConfig(token_url=f"http://127.0.0.1:{free_port()}/token", client_id="deskhand", secret_env="PATH")
    config = ServerConfig(url=f"http://127.0.0.1:{free_port()}/mcp", oauth=oauth)
    async with connected(shop=config) as sessions:
        assert "no token from" in sessions.health()[0].why


# Errors and logs


def foreign_samples() -> list[BaseException]:
    with pytest.raises(ValidationError) as invalid:
        TypeAdapter(int).validate_python("x")
    return [
        MCPError(-32000, "Connection closed"),
        MCPError(-32001, "timed out"),
        MCPError(-32603, "oops"),
        invalid.value,
        RuntimeError("x"),
        TimeoutError(),
        FileNotFoundError("x"),
        ExceptionGroup("x", [httpx2.ReadError("x")]),
        ExceptionGroup("x", [ExceptionGroup("y", [RuntimeError("x"), MCPError(-32000, "Connection closed")])]),
        httpx2.ConnectError("x"),
        httpx2.InvalidURL("x"),
        anyio.ClosedResourceError(),
        anyio.BrokenResourceError(),
        anyio.EndOfStream(),
    ]


@pytest.mark.parametrize("sent", [True, False])
def test_every_foreign_error_is_caught_and_becomes_one_of_ours(sent: bool) -> None:
    for sample in foreign_samples():
        assert isinstance(sample, FOREIGN), sample
        ours = mapped(sample, prefix="shop", mark=Mark("tools/call", sent=sent))
        assert isinstance(ours, ServerError)
        assert "shop" in str(ours)


def test_a_lost_connection_may_have_run_the_call_only_when_it_was_sent() -> None:
    lost = MCPError(-32000, "Connection closed")
    assert isinstance(mapped(lost, prefix="x", mark=Mark("tools/call", sent=True)), Gone)
    assert isinstance(mapped(lost, prefix="x", mark=Mark("tools/call")), Unavailable)
    refused = MCPError(-32602, "no", {"reason": "invalid_request_state"})
    assert isinstance(mapped(refused, prefix="x", mark=Mark("tools/call", sent=True)), StateRefused)
    plain = MCPError(-32602, "no")
    assert isinstance(mapped(plain, prefix="x", mark=Mark("tools/call", sent=True), state_given=True), StateRefused)
    assert isinstance(mapped(plain, prefix="x", mark=Mark("tools/call", sent=True)), Answered)


async def test_no_value_reaches_a_log_even_with_the_libraries_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("", "mcp", "client", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    async with connected(raw=child(RAW), bench=child(BENCH)) as sessions:
        with pytest.raises(BadResult):
            await call(sessions, "raw", "liar", arguments={"text": "secret-4711"})
        with pytest.raises(TimedOut):
            await call(sessions, "raw", "garbage", arguments={"text": "secret-4711"}, timeout=0.2)
    assert "secret-4711" not in caplog.text
    assert "no JSON" not in caplog.text
    assert "bench: connected, 2026-07-28, 13 tools listed" in caplog.text
