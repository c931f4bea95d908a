"""A whole host with the shop and one hostile server beside it, a scripted model, and people by hand."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import anyio
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import STAFF
from bot.mailroom.files import read_tickets
from host import journal
from host.config import HostConfig, PolicyRule, ServerConfig, ToolConfig
from host.facade import Host
from host.store import questions as question_rows
from host.types import Answer, AnswerResult, Json, OutboxItem, Question, QuestionState, ServerHealth, Ticket
from models.port import Call, Reply, Request
from models.scripted import ScriptedModel, batch

ROOT = Path(__file__).resolve().parents[3]
SERVERS = Path(__file__).parent / "servers"
GAUNTLET = ROOT / "build" / "judges" / "gauntlet"
NOON = datetime(2026, 6, 2, 12, 0, tzinfo=UTC)


class StillClock:
    """Implements `host.port.Clock`."""

    def now(self) -> datetime:
        return NOON


@dataclass
class QuietDesk:
    """Takes every delivery and answers nothing."""

    items: list[OutboxItem] = field(default_factory=list)

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        self.items.append(item)
        return {"receipt": f"quiet-{item.id}"}


class House:
    """A running host and what a test wants to know of it."""

    def __init__(self, running: wiring.Running, model: ScriptedModel) -> None:
        self.running, self.model = running, model
        self.host: Host = running.host

    async def work(self, ticket: str) -> None:
        """Take a ticket of the shop in (again) and work it until nothing moves."""
        found = next(one for one in tickets() if one.id == ticket)
        await self.host.intake(found)
        said = await self.host.work(found.id, STAFF)
        assert said.ok, said.words
        await self.settle()

    async def settle(self) -> None:
        with anyio.fail_after(90):
            while await self.running.queue.work_one() or await self.running.outbox.deliver_due():
                pass

    async def open(self, ticket: str) -> Question:
        async with self.running.store.read() as tx:
            found = [q for q in await question_rows.of_ticket(tx, ticket) if q.state is QuestionState.OPEN]
        assert len(found) == 1, [q.kind.value for q in found]
        return found[0]

    async def approve(self, question: Question) -> AnswerResult:
        result = await self.host.answer(question.id, STAFF, Answer("approve"))
        await self.settle()
        return result

    async def calls(self, ticket: str) -> list[tuple[str, str, str]]:
        """(tool, outcome, note) of every call so far."""
        (result,) = await self.host.results((ticket,))
        return [(call.name, call.outcome.value, call.note) for call in result.calls]

    async def draft(self, ticket: str) -> str:
        (result,) = await self.host.results((ticket,))
        return result.draft

    async def sent(self, ticket: str) -> list[str]:
        """The tools whose calls reached a server, by the journal."""
        async with self.running.store.read() as tx:
            entries = await journal.entries(tx, ticket)
        return [noted.entry.tool for noted in entries if isinstance(noted.entry, journal.Intended)]

    async def off(self) -> dict[str, str]:
        return {tool.name: tool.off for tool in await self.host.tools()}

    async def health(self, prefix: str) -> ServerHealth:
        return next(one for one in (await self.host.status()).servers if one.prefix == prefix)

    def read_by_model(self) -> str:
        """Everything that a model was ever shown: messages, definitions, offers."""
        return "\n".join(str(request) for request in self.model.requests)


@cache
def tickets() -> Sequence[Ticket]:
    return read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0]


Script = Callable[[Request], Reply]
Opening = Callable[..., AbstractAsyncContextManager[House]]


def fixture_of_gauntlet(name: str, **env: str) -> ServerConfig:
    """One of mcp-gauntlet's own servers, as a child over stdio."""
    assert (GAUNTLET / "mcp_gauntlet/fixtures" / f"{name}.py").is_file(), "run `python tests/judges/install.py` first"
    command = (sys.executable, "-m", f"mcp_gauntlet.fixtures.{name}")
    return ServerConfig(command=command, env={"PYTHONPATH": str(GAUNTLET), **env}, timeout_seconds=5)


def own(script: str, *arguments: str, **env: str) -> ServerConfig:
    """A server of this folder."""
    return ServerConfig(command=(sys.executable, str(SERVERS / script), *arguments), env=dict(env), timeout_seconds=5)


def with_judge(config: HostConfig, judge: ServerConfig, allowed: Sequence[str]) -> HostConfig:
    """The shop and the judge; what it offers of `allowed` reads and may run unasked: nothing but the checks stops it."""
    judged = judge.model_copy(update={"tools": {name: ToolConfig(effect="read") for name in allowed}})
    rules = [PolicyRule(tool=f"judge.{name}", decision="allow") for name in allowed]
    servers = {"shop": config.servers["shop"], "judge": judged}
    return config.model_copy(update={"servers": servers, "policy": (*config.policy, *rules)})


@pytest.fixture
def gauntlet() -> Callable[..., ServerConfig]:
    return fixture_of_gauntlet


@pytest.fixture
def own_server() -> Callable[..., ServerConfig]:
    return own


@pytest.fixture
def open_house(tmp_path: Path) -> Opening:
    """`open_house(judge, turns, allowed=("add",))`: opened twice, it is the same state folder: a restart."""
    tickets()  # read before the loop runs

    @asynccontextmanager
    async def opened(
        judge: ServerConfig, *turns: Reply, script: Script | None = None, allowed: Sequence[str] = ()
    ) -> AsyncIterator[House]:
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        loaded = settings_file.load(ROOT / "deskhand.toml", state)
        config = with_judge(loaded.host, judge, allowed)
        desk = QuietDesk()
        failed: Exception | None = None
        async with (
            ScriptedModel(script or turns) as model,
            wiring.running(replace(loaded, host=config), model, lambda _: desk, clock=StillClock()) as running,
        ):
            try:
                yield House(running, model)
            except Exception as error:  # noqa: BLE001  raised below, outside of the connections' task group
                failed = error
        if failed is not None:
            raise failed

    return opened


class Says:
    """Replies."""

    @staticmethod
    def call(name: str, **arguments: Json) -> Reply:
        return batch(Call(name, arguments))

    @staticmethod
    def batch(*calls: tuple[str, Json]) -> Reply:
        return batch(*(Call(name, arguments) for name, arguments in calls))

    @staticmethod
    def reply(text: str = "Thank you, a colleague will look at this.") -> Reply:
        return batch(Call("desk.reply", {"text": text}))


@pytest.fixture
def says() -> type[Says]:
    return Says
