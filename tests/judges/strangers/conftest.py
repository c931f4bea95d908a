"""A whole host beside strangers' servers: a scripted model that asks for the calls a test names, and people by hand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import anyio
import psutil
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import ADMIN, LEAD, STAFF
from host.config import HostConfig, Limits, PolicyRule, PromptConfig, ServerConfig, ToolConfig
from host.facade import Host
from host.store import questions as question_rows
from host.store.servers import ServerMemory
from host.types import (
    Actor,
    Answer,
    AnswerResult,
    Json,
    OutboxItem,
    Pin,
    Question,
    QuestionKind,
    QuestionState,
    Ticket,
    Tool,
    ToolCallRecord,
)
from models.port import Call, Reply, Request
from models.scripted import ScriptedModel, batch, call

ROOT = Path(__file__).resolve().parents[3]
JUDGES = ROOT / "build" / "judges"
MODULES = JUDGES / "npm" / "node_modules"
NODE = MODULES / ".bin" / "node"
EVERYTHING = (str(NODE), str(MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"))
#: What the operator says of server-everything: these only read. The others have an effect, so that people are asked.
READS = {
    name: ToolConfig(effect="read")
    for name in (
        "echo",
        "get-sum",
        "get-env",
        "get-annotated-message",
        "get-tiny-image",
        "get-structured-content",
        "get-resource-links",
        "get-resource-reference",
        "trigger-long-running-operation",
    )
}
RELAY = str(Path(__file__).with_name("relay.py"))


class QuietDesk:
    """Takes every delivery and answers nothing."""

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        return {"receipt": f"quiet-{item.id}"}


class House:
    """A running host, and tickets in which a model asks for exactly the calls that a test names."""

    staff, lead, admin = STAFF, LEAD, ADMIN

    def __init__(self, running: wiring.Running, model: ScriptedModel, plans: dict[str, tuple[Call, ...]]) -> None:
        self.running, self.model, self._plans = running, model, plans
        self.host: Host = running.host

    async def start(self, *calls: Call) -> str:
        """A new ticket with these calls; its id."""
        ticket_id = f"T-{8001 + len(self._plans)}"
        self._plans[ticket_id] = calls
        await self.host.intake(_ticket(ticket_id))
        said = await self.host.work(ticket_id, STAFF)
        assert said.ok, said.words
        return ticket_id

    async def settle(self) -> None:
        """Work and deliver until nothing moves any more."""
        with anyio.fail_after(60):
            while await self.running.queue.work_one() or await self.running.outbox.deliver_due():
                pass

    async def work(self, *calls: Call) -> list[ToolCallRecord]:
        """What became of these calls, asked for in one reply of one ticket."""
        ticket_id = await self.start(*calls)
        await self.settle()
        return await self.records(ticket_id)

    async def records(self, ticket_id: str) -> list[ToolCallRecord]:
        (result,) = await self.host.results((ticket_id,))
        return list(result.calls)

    async def tool(self, name: str) -> Tool:
        return next(tool for tool in await self.host.tools() if tool.name == name)

    async def off(self) -> dict[str, str]:
        return {tool.name: tool.off for tool in await self.host.tools() if tool.off}

    async def pins(self, prefix: str) -> Mapping[str, Pin]:
        return await ServerMemory(self.running.store).load_pins(prefix)

    async def open(self, ticket_id: str, kind: QuestionKind) -> Question:
        """The one open question of a ticket."""
        async with self.running.store.read() as tx:
            found = [q for q in await question_rows.of_ticket(tx, ticket_id) if q.state is QuestionState.OPEN]
        assert [q.kind for q in found] == [kind], [(q.kind.value, q.payload) for q in found]
        return found[0]

    async def answer(self, question: Question, actor: Actor, answer: Answer) -> AnswerResult:
        result = await self.host.answer(question.id, actor, answer)
        await self.settle()
        return result

    async def asked(self, *calls: Call) -> tuple[str, Question]:
        """A new ticket with these calls, of which the first is approved, up to the server's question: its id, the question."""
        ticket_id = await self.start(*calls)
        await self.settle()
        await self.answer(await self.open(ticket_id, QuestionKind.CONSENT), STAFF, Answer("approve"))
        return ticket_id, await self.open(ticket_id, QuestionKind.INPUT_REQUEST)

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Look again and again, for half a minute at most."""
        with anyio.fail_after(30):
            while not await condition():  # noqa: ASYNC110  what it waits for happens in another process
                await anyio.sleep(0.02)

    @staticmethod
    def child(word: str) -> psutil.Process:
        """The child process whose command line holds a word."""
        (found,) = [one for one in psutil.Process().children() if any(word in part for part in one.cmdline())]
        return found

    def told(self) -> str:
        """What the model read last of its own calls."""
        return "\n".join(message.content for message in _own(self.model.requests[-1]) if message.role == "tool")


def _own(request: Request) -> Any:
    start = max(i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:"))
    return request.messages[start:]


def _ticket(ticket_id: str) -> Ticket:
    return Ticket(
        id=ticket_id,
        intake_key=f"judges:{ticket_id}",
        subject=f"About {ticket_id}",
        body="Please look into it.",
        sender_mail="marta.lindqvist@example.com",
        sender_name="Marta Lindqvist",
        sender_verified=True,
        customer_id="C-2001",
        received_at=datetime(2026, 6, 2, 8, 0, tzinfo=UTC),
    )


Opening = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture
def open_house(tmp_path: Path) -> Opening:
    """`open_house(clock=ServerConfig(…))`: a running host with these servers. Tools that its configuration says only read are
    allowed, all others ask. `question_seconds` is how long a server's question waits for people; `over_share` what becomes of
    a start whose tools fill too much of the model's context. Opened twice in a test, it is the same state folder: a restart."""
    file = tmp_path / "deskhand.toml"
    file.write_text('[servers.nobody]\nurl = "http://127.0.0.1:9/mcp"\n', "utf-8")
    settings = settings_file.load(file, tmp_path)

    @asynccontextmanager
    async def opened(
        *, question_seconds: float = 86400.0, over_share: Literal["say", "refuse"] = "say", **servers: ServerConfig
    ) -> AsyncIterator[House]:
        limits = Limits(tool_calls=30, hours_for={QuestionKind.INPUT_REQUEST: question_seconds / 3600})
        rules = tuple(PolicyRule(tool=f"{prefix}.*", decision="allow") for prefix in servers)
        prompt = PromptConfig(over_share=over_share)
        config = HostConfig(servers=servers, policy=rules, limits=limits, prompt=prompt)
        plans: dict[str, tuple[Call, ...]] = {}

        def script(request: Request) -> Reply:
            own = _own(request)
            plan = next(calls for ticket_id, calls in plans.items() if ticket_id in own[0].content)
            return call("desk.reply", text="Thank you.") if any(m.role == "tool" for m in own) else batch(*plan)

        failed: Exception | None = None
        async with (
            ScriptedModel(script) as model,
            wiring.running(replace(settings, host=config), model, lambda _: QuietDesk()) as running,
        ):
            try:
                yield House(running, model, plans)
            except Exception as error:  # noqa: BLE001  raised below, outside of the connections' task group
                failed = error
        if failed is not None:
            raise failed

    return opened


class Wire:
    """A stdio server behind the relay: what was sent to it."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def command(self, *command: str, late: bool = False) -> tuple[str, ...]:
        return (sys.executable, RELAY, str(self.log), *(["--late"] if late else []), *command)

    def methods(self) -> list[str]:
        return [json.loads(line).get("method", "") for line in self.log.read_text("utf-8").splitlines()]


@pytest.fixture
def wire(tmp_path: Path) -> Wire:
    return Wire(tmp_path / "wire.log")


@pytest.fixture(scope="session")
def everything_command() -> tuple[str, ...]:
    assert NODE.exists(), "run `make judges` first"
    return (*EVERYTHING, "stdio")


class Served:
    """server-everything over Streamable HTTP, on a port that it keeps."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}/mcp"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environment = {**os.environ, "PORT": str(self._port)}
        command = [*EVERYTHING, "streamableHttp"]
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        assert "listening" in self._process.stderr.readline(), "server-everything did not start"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=10)


@pytest.fixture
def everything_served() -> Iterator[Served]:
    """One that a test may stop and start again."""
    served = Served()
    served.start()
    yield served
    served.stop()


@pytest.fixture(scope="module")
def everything_url() -> Iterator[str]:
    """One for all tests of a file."""
    served = Served()
    served.start()
    yield served.url
    served.stop()


@pytest.fixture(params=["stdio", "http"])
def everything(request: pytest.FixtureRequest, everything_command: tuple[str, ...], everything_url: str) -> ServerConfig:
    """server-everything over both transports."""
    if request.param == "stdio":
        return ServerConfig(command=everything_command, tools=READS)
    return ServerConfig(url=everything_url, tools=READS)


@pytest.fixture(scope="session")
def time_command() -> tuple[str, ...]:
    assert (JUDGES / "time" / "mcp_server_time").is_dir(), "run `make judges` first"
    return (sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Vienna")


@pytest.fixture(scope="session")
def time_env() -> dict[str, str]:
    return {"PYTHONPATH": str(JUDGES / "time")}
