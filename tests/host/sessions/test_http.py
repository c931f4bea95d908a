"""The same over Streamable HTTP: each call has a client of its own (spec H3, H4)."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types.version import LATEST_MODERN_VERSION

from host.config import ServerConfig
from host.errors import Answered, Gone, ServerError, TimedOut, Unavailable
from host.types import Finished

pytestmark = pytest.mark.anyio


async def test_a_restarted_process_reconnects_without_asking_what_it_speaks(wire: Any, memory: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    with wire.http(wire.BENCH, BENCH_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        async with wire.connected(memory, web=config):
            assert "server/discover" in wire.methods(log)
        log.write_text("")
        async with wire.connected(memory, web=config) as sessions:
            assert (await wire.call(sessions, "web", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
            assert sessions.health()[0].claims == "Bench 1.0"
    assert "tools/call" in wire.methods(log)
    assert not {"server/discover", "initialize"} & set(wire.methods(log))


async def test_an_older_server_is_remembered_as_such(wire: Any, memory: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    with wire.http(wire.RAW, RAW_ERA="2025", RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        for _process_of_ours in range(2):
            async with wire.connected(memory, web=config) as sessions:
                assert (await wire.call(sessions, "web", "plain")).text == "as text"
    assert wire.methods(log).count("server/discover") == 1


@pytest.mark.parametrize(("before", "after"), [("2026", "2025"), ("2025", "2026")])
async def test_a_server_that_changed_what_it_speaks_is_asked_anew(
    wire: Any, memory: Any, tmp_path: Path, before: str, after: str
) -> None:
    era = tmp_path / "era"
    era.write_text(before)
    with wire.http(wire.RAW, RAW_ERA_FILE=str(era)) as (port, _process):
        await wire.listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        async with wire.connected(memory, web=config):
            pass
        era.write_text(after)
        async with wire.connected(memory, web=config) as sessions:
            assert (await wire.call(sessions, "web", "plain")).text == "as text"


async def test_a_version_error_in_a_call_did_not_run_it_and_has_the_server_asked_anew(
    wire: Any, memory: Any, tmp_path: Path
) -> None:
    log = tmp_path / "wire"
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(memory, web=ServerConfig(url=f"http://127.0.0.1:{port}/later/mcp")) as sessions:
            with pytest.raises(Unavailable, match="it is asked anew"):
                await wire.call(sessions, "web", "plain")
            assert (await wire.call(sessions, "web", "plain")).text == "as text"
    assert wire.methods(log).count("server/discover") == 2


async def test_a_resource_read_a_second_time_sends_no_request(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    with wire.http(wire.BENCH, BENCH_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            for _read in range(3):
                assert await sessions.read_resource("web", "bench://terms") == "Returns within 30 days."
    assert wire.methods(log).count("resources/read") == 1


async def test_every_request_has_a_number_of_its_own_though_each_call_has_a_client_of_its_own(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    with wire.http(wire.BENCH, BENCH_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            asked = await wire.call(sessions, "web", "release", arguments={"order": "O-1145"})
            done = await wire.call(sessions, "web", "release", arguments={"order": "O-1145"}, **wire.accept(asked, release=True))
            assert done.text == "O-1145 released: True"
    ids = [entry["id"] for entry in wire.entries(log) if "id" in entry]
    assert len(ids) == len(set(ids)) >= 4


async def test_http_calls_reconnect_without_a_probe_and_survive_a_restarted_server(wire: Any) -> None:
    memory = wire.Memory()
    with wire.http(wire.BENCH) as (port, process):
        await wire.listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        async with wire.connected(memory, web=config) as sessions:
            assert sessions.health()[0].protocol == LATEST_MODERN_VERSION
            assert (await wire.call(sessions, "web", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
            process.kill()
            process.wait(10)
            with pytest.raises(Unavailable):
                await wire.call(sessions, "web", "add", arguments={"a": 1, "b": 2})
            with wire.http(wire.BENCH, port):
                await wire.listening(port)
                await wire.state(sessions, "web", "connected")
                assert (await wire.call(sessions, "web", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
                assert await sessions.read_resource("web", "bench://terms") == "Returns within 30 days."


async def test_a_server_that_dies_in_an_http_call_may_have_run_it(wire: Any) -> None:
    with wire.http(wire.BENCH) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            with pytest.raises(Gone):
                await wire.call(sessions, "web", "stop")


async def test_one_failed_http_call_leaves_the_calls_beside_it_alone(wire: Any) -> None:
    with wire.http(wire.RAW) as (port, _process), wire.http(wire.BENCH) as (good, _other):
        await wire.listening(port)
        await wire.listening(good)
        urls = {"cut": f"http://127.0.0.1:{port}/cut/mcp", "web": f"http://127.0.0.1:{good}/mcp"}
        results: list[Any] = []

        async def keep(prefix: str, tool: str, **more: Any) -> None:
            try:
                results.append(await wire.call(sessions, prefix, tool, **more))
            except ServerError as error:
                results.append(type(error))

        configured = {name: ServerConfig(url=url) for name, url in urls.items()}
        async with wire.connected(None, **configured) as sessions, anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: keep("web", "slow", arguments={"seconds": 0.5}))
            tasks.start_soon(lambda: keep("web", "slow", arguments={"seconds": 30}, timeout=0.2))
            tasks.start_soon(keep, "cut", "plain")
        assert Finished(text="done", data={"result": "done"}, is_error=False) in results
        assert Gone in results
        assert TimedOut in results


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unavailable), (404, Unavailable), (413, Answered), (429, Unavailable), (500, Gone), (503, Gone)]
)
async def test_an_http_status_decides_whether_the_call_may_have_run(wire: Any, status: int, kind: type[ServerError]) -> None:
    with wire.http(wire.RAW) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/status/{status}/mcp")) as sessions:
            with pytest.raises(kind):
                await wire.call(sessions, "web", "plain")


async def test_an_older_http_server_is_called_too(wire: Any) -> None:
    with wire.http(wire.RAW, RAW_ERA="2025") as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            assert (await wire.call(sessions, "web", "plain")).text == "as text"


async def test_a_tool_that_wants_an_argument_in_a_header_gets_it(wire: Any) -> None:
    with wire.http(wire.BENCH) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=ServerConfig(url=f"http://127.0.0.1:{port}/mcp")) as sessions:
            assert (await wire.call(sessions, "web", "regional", arguments={"region": "eu"})).text == "eu"
