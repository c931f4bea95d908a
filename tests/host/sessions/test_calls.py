"""What calls over stdio come back as, whatever a server does (spec H4, H12, H16)."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from pydantic import TypeAdapter, ValidationError

from host.config import ServerConfig
from host.errors import Answered, BadResult, Gone, ServerError, StateRefused, TimedOut, Unavailable
from host.replies import FOREIGN, Mark, mapped
from host.types import Finished, NeedsInput

pytestmark = pytest.mark.anyio


async def test_a_timeout_ends_one_call_and_leaves_the_server_running(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        met = sessions.process("a")
        with pytest.raises(TimedOut):
            await wire.call(sessions, "a", "slow", arguments={"seconds": 30}, timeout=0.3)
        assert (await wire.call(sessions, "a", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        assert sessions.process("a") == met


async def test_a_server_that_hangs_is_ended_and_started_again(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        with pytest.raises(TimedOut):
            await wire.call(sessions, "a", "hang", timeout=0.5)
        await wire.state(sessions, "a", "connecting")
        assert (await wire.call(sessions, "a", "add", arguments={"a": 1, "b": 2}, timeout=20)).data == {"total": 3}


@pytest.mark.parametrize("size", [5_000, 500_000])
async def test_a_large_argument_to_a_server_that_does_not_read_ends_in_a_timeout_and_others_go_on(wire: Any, size: int) -> None:
    async with wire.connected(deaf=wire.child(wire.DEAF), good=wire.child(wire.BENCH)) as sessions:
        with pytest.raises(TimedOut):
            await wire.call(sessions, "deaf", "plain", arguments={"text": "x" * size}, timeout=0.5)
        assert (await wire.call(sessions, "good", "add", arguments={"a": 1, "b": 2})).data == {"total": 3}
        await wire.state(sessions, "deaf", "connecting")


async def test_a_read_is_sent_once_more_after_a_lost_connection_and_an_effect_is_not(wire: Any, tmp_path: Path) -> None:
    config = wire.child(wire.BENCH, BENCH_DIR=str(tmp_path))
    async with wire.connected(a=config) as sessions:
        assert (await wire.call(sessions, "a", "stop_once", retry_reads=True)).text == "still here"
        (tmp_path / "stopped-once").unlink()
        with pytest.raises(Gone):
            await wire.call(sessions, "a", "stop_once")


async def test_an_input_request_is_answered_by_another_process_with_the_same_state(wire: Any) -> None:
    config = wire.child(wire.BENCH)
    async with wire.connected(a=config) as first:
        asked = await wire.call(first, "a", "release", arguments={"order": "O-1145"})
    assert isinstance(asked, NeedsInput)
    stored = NeedsInput(pending=json.loads(json.dumps(asked.pending)))
    async with wire.connected(a=config) as second:
        done = await wire.call(second, "a", "release", arguments={"order": "O-1145"}, **wire.accept(stored, release=True))
    assert done == Finished(text="O-1145 released: True", data={"result": "O-1145 released: True"}, is_error=False)


async def test_a_state_that_the_server_refuses_means_that_the_call_did_not_run(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        asked = await wire.call(sessions, "a", "release", arguments={"order": "O-1145"})
        with pytest.raises(StateRefused):
            await wire.call(sessions, "a", "release", arguments={"order": "O-2289"}, **wire.accept(asked, release=True))


async def test_a_word_against_itself_is_an_error(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        assert await wire.call(sessions, "a", "declined") == Finished(text="card declined", data=None, is_error=True)
        unknown = await wire.call(sessions, "a", "no_such_tool")
        assert unknown.is_error


async def test_results_that_cannot_be_used_say_so_without_their_values(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW), bench=wire.child(wire.BENCH)) as sessions:
        with pytest.raises(BadResult, match="total must be a whole number") as broken:
            await wire.call(sessions, "raw", "liar")
        assert "4711" not in str(broken.value)
        with pytest.raises(BadResult, match="sent none"):
            await wire.call(sessions, "raw", "silent")
        with pytest.raises(BadResult, match="at most 200,000"):
            await wire.call(sessions, "bench", "flood")


async def test_an_unknown_kind_of_block_leaves_the_other_blocks_readable(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        reply = await wire.call(sessions, "raw", "strange")
        assert reply.text == "[a part of kind 'hologram' that can't be shown]\nas text"
        assert (await wire.call(sessions, "raw", "no_content")).data == {"a": 1}


async def test_a_protocol_error_is_answered_and_a_line_of_garbage_times_out(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        with pytest.raises(Answered, match="I would rather not"):
            await wire.call(sessions, "raw", "refuse")
        with pytest.raises(TimedOut):
            await wire.call(sessions, "raw", "garbage", timeout=0.3)
        assert (await wire.call(sessions, "raw", "plain")).text == "as text"


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_a_servers_own_error_is_its_answer_whatever_the_code_means_elsewhere(wire: Any, way: str) -> None:
    """-32000 and -32001 are what the SDK makes of a lost connection and of a timeout, and codes that servers use."""
    with wire.http(wire.RAW) as (port, _process):
        await wire.listening(port)
        raw = wire.child(wire.RAW) if way == "stdio" else ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        async with wire.connected(raw=raw) as sessions:
            met = sessions.process("raw")
            for code in (-32000, -32001):
                with pytest.raises(Answered, match=f"error {code}: the order is locked"):
                    await wire.call(sessions, "raw", f"own_{code}", retry_reads=True)
            with pytest.raises(TimedOut):
                await wire.call(sessions, "raw", "mute", timeout=0.3)
            assert sessions.process("raw") == met


async def test_a_result_of_more_parts_than_anybody_reads_is_not_read(wire: Any) -> None:
    async with wire.connected(raw=wire.child(wire.RAW)) as sessions:
        assert (await wire.call(sessions, "raw", "enough_parts")).text.count("x") == 1_000
        with pytest.raises(BadResult, match="raw answered with more than 1,000 parts; nothing of it was read"):
            await wire.call(sessions, "raw", "many_parts")


async def test_a_read_that_was_sent_and_can_not_be_sent_again_is_not_called_unsent(wire: Any, tmp_path: Path) -> None:
    """Its second attempt finds nobody: the command is gone. The first was sent all the same."""
    command = tmp_path / "python"
    command.symlink_to(sys.executable)
    async with wire.connected(raw=ServerConfig(command=(str(command), wire.RAW))) as sessions:
        command.unlink()
        with pytest.raises(Gone, match="lost during the call"):
            await wire.call(sessions, "raw", "quit", retry_reads=True)


async def test_a_server_that_breaks_off_may_have_run_the_call(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        with pytest.raises(BadResult, match="the database did not answer"):
            await wire.call(sessions, "a", "crash")


async def test_a_2025_servers_question_is_cancelled_unless_somebody_takes_it_up(wire: Any) -> None:
    async with wire.connected(old=wire.child(wire.RAW, RAW_ERA="2025")) as sessions:
        assert (await wire.call(sessions, "old", "ask")).text == "cancel None"
        asked: list[Any] = []

        async def agree(params: Mapping[str, Any]) -> Mapping[str, Any]:
            asked.append(params["message"])
            return {"action": "accept", "content": {"yes": True}}

        assert (await wire.call(sessions, "old", "ask", ask=agree)).text == "accept {'yes': True}"
        assert asked == ["Sure?"]


async def test_an_argument_that_is_no_json_never_reaches_the_connection(wire: Any) -> None:
    async with wire.connected(a=wire.child(wire.BENCH)) as sessions:
        met = sessions.process("a")
        for bad in ("\ud800", float("nan")):
            with pytest.raises(Unavailable, match="can't be written as JSON"):
                await wire.call(sessions, "a", "add", arguments={"a": bad, "b": 1})
        assert sessions.process("a") == met


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


async def test_no_value_reaches_a_log_even_with_the_libraries_at_debug(wire: Any, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("", "mcp", "client", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    async with wire.connected(raw=wire.child(wire.RAW), bench=wire.child(wire.BENCH)) as sessions:
        with pytest.raises(BadResult):
            await wire.call(sessions, "raw", "liar", arguments={"text": "secret-4711"})
        with pytest.raises(TimedOut):
            await wire.call(sessions, "raw", "garbage", arguments={"text": "secret-4711"}, timeout=0.2)
    assert "secret-4711" not in caplog.text
    assert "no JSON" not in caplog.text
    assert "bench: connected, 2026-07-28, 13 tools listed" in caplog.text


class Heard(logging.Handler):
    """What the root's handlers get; pytest's own would listen to each library as well."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def heard() -> Iterator[Heard]:
    listener = Heard()
    logging.root.addHandler(listener)
    yield listener
    logging.root.removeHandler(listener)


async def test_over_http_neither_a_body_nor_a_header_nor_a_token_reaches_a_log(
    wire: Any, heard: Heard, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for name in ("", "mcp", "client", "httpx2", "httpcore2", "httpcore2.connection", "httpcore2.http11"):
        caplog.set_level(logging.DEBUG, logger=name)
    token = tmp_path / "token"
    token.write_text("token-4711")
    with wire.http(wire.RAW, RAW_ERA="2025") as (port, _process):
        await wire.listening(port)
        web = ServerConfig(url=f"http://127.0.0.1:{port}/mcp", token_file=str(token))
        async with wire.connected(web=web) as sessions:
            assert (await wire.call(sessions, "web", "plain", arguments={"text": "secret-4711"})).text == "as text"
    logging.getLogger("httpcore2.made_later").warning("secret-4711")
    said = "\n".join(record.getMessage() for record in heard.records)
    assert "web: connected" in said
    assert not [one.name for one in heard.records if one.name.split(".")[0] in ("mcp", "client", "httpx2", "httpcore2")]
    for hidden in ("secret-4711", "token-4711", "session-id", "cookie", "as text"):
        assert hidden not in said.lower(), hidden
