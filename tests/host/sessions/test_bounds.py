"""Answers that are too long, garbled, or meant for another request: bounded before they are parsed, told in words (spec H12)."""

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import psutil
import pytest

from host.config import ServerConfig
from host.errors import BadResult, ServerError, TimedOut

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


@contextmanager
def bounded(most: float) -> Iterator[None]:
    """The memory that Python holds at its peak grows by at most `most` MiB, and the process by about as much."""
    before = psutil.Process(os.getpid()).memory_info().rss
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * MIB, f"{peak / MIB:.1f} MiB"
    assert psutil.Process(os.getpid()).memory_info().rss - before < 2 * most * MIB


@pytest.mark.parametrize("tool", ["long", "long_id_last", "long_nameless"])
async def test_a_line_that_is_too_long_fails_its_request_alone_and_the_connection_stays(wire: Any, tool: str) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        met = sessions.process("raw")
        with bounded(12), pytest.raises(BadResult, match="raw answered with more than 4 MiB"):
            await wire.call(sessions, "raw", tool)
        assert (await wire.call(sessions, "raw", "plain")).text == "as text"
        assert sessions.process("raw") == met


async def test_only_the_request_that_a_long_line_names_fails(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        ended: dict[str, type[Exception]] = {}

        async def calling(tool: str) -> None:
            try:
                await wire.call(sessions, "raw", tool, timeout=2)
            except ServerError as error:
                ended[tool] = type(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling, "mute")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(calling, "long")
        assert ended == {"mute": TimedOut, "long": BadResult}


@pytest.mark.parametrize("tool", ["unended", "endless"])
async def test_a_line_without_an_end_costs_no_memory_and_its_server_is_started_again(wire: Any, tool: str) -> None:
    async with wire.connected(raw=wire.child(wire.RAW), other=wire.child(wire.RAW)) as sessions:
        with bounded(12), pytest.raises(BadResult, match="more than 4 MiB"):
            await wire.call(sessions, "raw", tool, timeout=30)
        assert (await wire.call(sessions, "other", "plain")).text == "as text"
        assert (await wire.call(sessions, "raw", "plain", timeout=30, retry_reads=True)).text == "as text"


@pytest.mark.parametrize("front", ["long", "longevent", "packed", "endless"])
async def test_a_body_that_is_too_long_fails_its_call_over_http(wire: Any, front: str) -> None:
    with wire.http(wire.RAW) as (port, _process):
        await wire.listening(port)
        fronts = {"raw": f"/{front}", "other": ""}
        servers = {name: ServerConfig(url=f"http://127.0.0.1:{port}{path}/mcp") for name, path in fronts.items()}
        async with wire.connected(None, **servers) as sessions:
            words = "packed body" if front == "packed" else "more than 4 MiB"
            with bounded(16), pytest.raises(BadResult, match=words):
                await wire.call(sessions, "raw", "plain")
            assert (await wire.call(sessions, "other", "plain")).text == "as text"
            assert [health.state for health in sessions.health()] == ["connected", "connected"]


@pytest.mark.parametrize("tool", ["broken_utf8", "lone_surrogate", "deep"])
async def test_a_line_that_cannot_be_read_fails_its_request_in_words(wire: Any, tool: str) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        met = sessions.process("raw")
        with pytest.raises(BadResult, match="can't be read"):
            await wire.call(sessions, "raw", tool)
        assert (await wire.call(sessions, "raw", "plain")).text == "as text"
        assert sessions.process("raw") == met


async def test_a_number_that_no_json_has_is_no_result(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        with pytest.raises(BadResult):
            await wire.call(sessions, "raw", "not_a_number")


@pytest.mark.parametrize("tool", ["noise", "other_id", "twice"])
async def test_noise_and_answers_to_other_requests_are_passed_over_and_the_right_answer_counts(wire: Any, tool: str) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        for _time in range(2):
            assert (await wire.call(sessions, "raw", tool)).text == "right"


async def test_without_the_right_answer_time_runs_out_in_words(wire: Any) -> None:
    with wire.http(wire.RAW) as (port, _process):
        await wire.listening(port)
        other = ServerConfig(url=f"http://127.0.0.1:{port}/other/mcp")
        async with wire.connected(raw=wire.child(wire.RAW), web=other) as sessions:
            with pytest.raises(TimedOut, match="raw gave no answer in time"):
                await wire.call(sessions, "raw", "string_id", timeout=0.4)
            with pytest.raises(TimedOut, match="raw gave no answer in time; what it sent could not be read"):
                await wire.call(sessions, "raw", "garbage", timeout=0.4)
            with pytest.raises(TimedOut, match="web gave no answer in time"):
                await wire.call(sessions, "web", "plain", timeout=0.4)


async def test_a_promise_with_a_slow_pattern_is_checked_in_bounded_time(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        with anyio.fail_after(5), pytest.raises(BadResult, match="its own output schema"):
            await wire.call(sessions, "raw", "backtrack")
