"""A whole host on real servers: shop and partner over stdio on a fresh state folder, a scripted model, people by hand."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import ADMIN, LEAD, STAFF, filled
from bot.mailroom.files import read_tickets
from host import journal
from host.config import HostConfig, Limits, PolicyRule, ServerConfig, ToolConfig
from host.facade import Host
from host.port import Undelivered
from host.score import TicketResult
from host.store import journal as journal_rows
from host.store import questions as question_rows
from host.types import (
    Actor,
    Answer,
    AnswerResult,
    Effect,
    Json,
    OutboxItem,
    Question,
    QuestionKind,
    QuestionState,
    Ticket,
    ToolCallRecord,
)
from models.port import Call, Message, Reply, Request
from models.scripted import ScriptedModel

ROUNDS = (
    "form",
    "three",
    "endless",
    "patient",
    "never",
    "address",
    "secret",
    "forgetful",
    "lapsed",
    "must_open",
    "plain",
    "two",
    "both",
    "dies",
)
ROUNDS_FILES = {"LOG": "wire.jsonl", "TOOLS": "tools.json", "TERMS": "terms"}
ROOT = Path(__file__).resolve().parents[2]
STAFF2 = Actor("staff-0009", "headless-staff-2", "Second staff", frozenset({"staff"}))
LEAD2 = Actor("lead-0004", "headless-lead-2", "Second lead", frozenset({"lead"}))
LEAD3 = Actor("lead-0005", "headless-lead-3", "Third lead", frozenset({"lead"}))
BOTH = Actor("staff-0011", "headless-both", "Staff and lead", frozenset({"staff", "lead"}))
STRANGER = Actor("", "U-stranger", "Somebody", frozenset())

Script = Callable[[Request], Reply]


class MovingClock:
    """Implements `host.port.Clock`; stands still until moved."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 6, 2, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


@dataclass
class QuietDesk:
    """Takes every delivery and answers nothing. What is `refused` can never be delivered, what is `away` can't be now."""

    items: list[OutboxItem] = field(default_factory=list)
    refused: Callable[[OutboxItem], bool] = lambda _: False
    away: bool = False

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        if self.away:
            raise Undelivered("ratelimited", retry_after=30.0)
        if self.refused(item):
            raise Undelivered("channel_not_found", final=True)
        self.items.append(item)
        return {"receipt": f"quiet-{item.id}"}


def own_part(request: Request) -> tuple[Message, ...]:
    """The ticket and what came after it; worked examples stand before."""
    starts = [i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:")]
    return request.messages[starts[-1] :]


def transcript(request: Request) -> str:
    """What a model read after the ticket: the results of this run."""
    return "\n".join(m.content for m in own_part(request) if m.role == "tool")


class Scripts:
    """Replies, and models made of functions of the request: they hold no state, so that a restart changes nothing."""

    @staticmethod
    def call(name: str, **arguments: Any) -> Reply:
        return Reply(raw=f"<{name}>", calls=(Call(name, arguments),))

    @staticmethod
    def batch(*replies: Reply) -> Reply:
        return Reply(raw="".join(r.raw for r in replies), calls=tuple(c for r in replies for c in r.calls))

    @classmethod
    def reply(cls, text: str) -> Reply:
        return cls.call("desk.reply", text=text)

    @staticmethod
    def said(request: Request) -> str:
        return transcript(request)

    @classmethod
    def refund(cls, request: Request) -> Reply:
        """Quote the order that the ticket names, issue the refund, and say what came of it."""
        said = transcript(request)
        order = re.search(r"O-\d{4}", own_part(request)[0].content)
        assert order is not None, "the ticket names its order"
        quote = re.search(r"Q-[0-9a-f]{10}", said)
        if quote is None:
            return cls.call("shop.quote_refund", order_id=order[0])
        outcome = re.search(r"^shop\.issue_refund: ([a-z ]+) \[", said, re.M)
        if outcome is None:
            return cls.call("shop.issue_refund", quote_id=quote[0])
        if outcome[1] == "result":
            amount = re.findall(r'"amount":([0-9.]+)', said)[-1]
            return cls.reply(f"Your refund of EUR {float(amount):.2f} for order {order[0]} has been requested.")
        return cls.reply("I could not do this for you; a colleague will look at your order.")

    @classmethod
    def tries(cls, request: Request) -> Reply:
        """Call the tool of the server "rounds" that the ticket names ("try form", "try form amount 12.5"), then reply."""
        own = own_part(request)
        named = re.search(r"try (\w+)(?: amount ([\d.]+))?", own[0].content)
        assert named is not None, "the ticket names its tool"
        if any(message.role == "assistant" for message in own):
            return cls.reply("Thank you for writing.")
        amount = {"amount": float(named[2])} if named[2] else {}
        return cls.call(f"rounds.{named[1]}", order_id="O-1145", **amount)

    @classmethod
    def turns(cls, *replies: Reply | Script) -> Script:
        """One after the other; the last one again and again."""
        left = list(replies)

        def next_one(request: Request) -> Reply:
            reply = left.pop(0) if len(left) > 1 else left[0]
            return reply if isinstance(reply, Reply) else reply(request)

        return next_one


class Office:
    """A running host with people that a test plays by hand."""

    rounds = str(ROOT / "tests/host/servers/rounds.py")
    staff, staff2, lead, lead2, lead3, both, admin, stranger = STAFF, STAFF2, LEAD, LEAD2, LEAD3, BOTH, ADMIN, STRANGER

    def __init__(self, running: wiring.Running, model: ScriptedModel, desk: QuietDesk, clock: MovingClock, state: Path) -> None:
        self.running, self.model, self.desk, self.clock, self.state = running, model, desk, clock, state
        self.host: Host = running.host

    async def take(self, *tickets: str | Ticket) -> None:
        """Take tickets in (by id from the shop's data) and start a run over each."""
        known = {one.id: one for one in all_tickets()}
        for one in tickets:
            ticket = one if isinstance(one, Ticket) else known[one]
            await self.host.intake(ticket)
            said = await self.host.work(ticket.id, STAFF)
            assert said.ok, said.words

    async def settle(self) -> None:
        """Work and deliver until nothing moves any more."""
        with anyio.fail_after(60):
            while await self.running.queue.work_one() or await self.running.outbox.deliver_due():
                pass

    async def work(self, *tickets: str | Ticket) -> None:
        await self.take(*tickets)
        await self.settle()

    async def tries(self, number: int, tool: str, **more: Any) -> str:
        """Work a new ticket that tries one tool (see `Scripts.tries`); its id. `more` are fields of the ticket."""
        new: dict[str, Any] = {
            "id": f"T-{number}",
            "intake_key": f"test:{number}",
            "subject": "A test",
            "body": f"O-1145: try {tool}",
        }
        one = replace(all_tickets()[0], **new, **more)
        await self.work(one)
        return one.id

    async def again(self, ticket_id: str) -> None:
        """One more run over a ticket that is there."""
        said = await self.host.work(ticket_id, STAFF)
        assert said.ok, said.words
        await self.settle()

    def wire(self) -> list[dict[str, Any]]:
        """Every call and answer that reached the server "rounds"."""
        path = self.state / "wire.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    async def call(self, ticket_id: str) -> ToolCallRecord:
        """The only call of a ticket so far."""
        (record,) = (await self.result(ticket_id)).calls
        return record

    async def questions(self, ticket_id: str) -> tuple[Question, ...]:
        async with self.running.store.read() as tx:
            return await question_rows.of_ticket(tx, ticket_id)

    async def open(self, ticket_id: str, kind: QuestionKind | None = None) -> Question:
        """The one open question of a ticket."""
        found = [q for q in await self.questions(ticket_id) if q.state is QuestionState.OPEN and kind in (None, q.kind)]
        assert len(found) == 1, f"expected one open question, found {[(q.kind.value, q.state.value) for q in found]}"
        return found[0]

    async def answer(self, question: Question, actor: Actor, answer: Answer) -> AnswerResult:
        return await self.host.answer(question.id, actor, answer)

    @staticmethod
    def declined(reason: str) -> Answer:
        return Answer("decline", reason=reason)

    async def approve(self, ticket_id: str, actor: Actor = STAFF) -> AnswerResult:
        result = await self.answer(await self.open(ticket_id, QuestionKind.CONSENT), actor, Answer("approve"))
        await self.settle()
        return result

    async def release(self, ticket_id: str, actor: Actor = LEAD) -> AnswerResult:
        question = await self.open(ticket_id, QuestionKind.INPUT_REQUEST)
        answer = Answer("accept", content=filled(question.payload["schema"]))
        result = await self.answer(question, actor, answer)
        await self.settle()
        return result

    @staticmethod
    def tickets() -> Sequence[Ticket]:
        return all_tickets()

    @staticmethod
    def server_process(word: str) -> psutil.Process:
        """The child process whose command line holds a word."""
        (found,) = [child for child in psutil.Process().children(recursive=True) if word in child.cmdline()]
        return found

    async def restart_server(self, word: str) -> None:
        """Kill a server's process and wait until its successor is connected."""
        before = sum(one.restarts for one in (await self.host.status()).servers)
        self.server_process(word).kill()

        async def restarted() -> bool:
            health = (await self.host.status()).servers
            return sum(one.restarts for one in health) > before and all(one.state == "connected" for one in health)

        await self.until(restarted)

    async def change_tools(self, **descriptions: str) -> None:
        """The server "rounds" of 2025 announces that it offers these tools from now on; that is taken over."""
        offer(self.state, **descriptions)

        async def taken_over() -> bool:
            await self.running.queue.recover()
            there = [tool for tool in await self.host.tools() if "no longer offers" not in tool.off]
            now = {tool.remote_name: tool.description for tool in there}
            return descriptions.items() <= now.items()

        await self.until(taken_over)

    async def house_questions(self) -> tuple[Question, ...]:
        """What is asked of no ticket, the newest last."""
        return await self.questions(journal.HOUSE)

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Look again and again, for half a minute at most."""
        with anyio.fail_after(30):
            while not await condition():  # noqa: ASYNC110  what it waits for happens in other processes
                await anyio.sleep(0.02)

    async def host_expires(self) -> int:
        """What the queue's timer does, now."""
        return await self.running.queue.expire()

    async def result(self, ticket_id: str) -> TicketResult:
        return (await self.host.results((ticket_id,)))[0]

    async def outcomes(self, ticket_id: str) -> list[tuple[str, str]]:
        """(tool, outcome) of every call so far."""
        return [(call.name, call.outcome.value) for call in (await self.result(ticket_id)).calls]

    async def entries(self, ticket_id: str) -> tuple[journal.Noted, ...]:
        async with self.running.store.read() as tx:
            return await journal.entries(tx, ticket_id)

    async def kinds(self, ticket_id: str) -> list[str]:
        return [noted.entry.kind for noted in await self.entries(ticket_id)]

    async def verified(self, ticket_id: str) -> str:
        async with self.running.store.read() as tx:
            return journal.verify(await journal_rows.chain(tx, ticket_id))

    def refunds(self) -> list[dict[str, Any]]:
        """The shop's own rows for quotes: what was in its books before has none."""
        return shop_refunds(self.state)

    def told(self) -> str:
        """What the model read last."""
        return "\n".join(m.content for m in own_part(self.model.requests[-1])[1:] if m.role in ("tool", "user"))


def shop_refunds(state: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(state / "shop.db") as shop:
        shop.row_factory = sqlite3.Row
        return [dict(row) for row in shop.execute("select * from refunds where quote_id is not null order by refund_id")]


@cache
def all_tickets() -> Sequence[Ticket]:
    return read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0]


Opening = Callable[..., AbstractAsyncContextManager[Office]]


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def script() -> type[Scripts]:
    return Scripts


@pytest.fixture
def open_office(tmp_path: Path, clock: MovingClock) -> Opening:
    """`open_office(script, change=config → config, variant="poisoned")`: a running host on this test's state folder, with a
    partner when one is named.

    `lead=(…)` and the like say who holds a role. Opened twice, it is the same state folder: a restart.
    """

    all_tickets()  # read before the loop runs

    @asynccontextmanager
    async def opened(
        script: Script = Scripts.refund,
        *,
        change: Callable[[HostConfig], HostConfig] = lambda config: config,
        variant: str = "",
        remember: str = "",
        make_model: Callable[[Script], ScriptedModel] = ScriptedModel,
        **roles: Sequence[Actor],
    ) -> AsyncIterator[Office]:
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        loaded = settings_file.load(ROOT / "deskhand.toml", state)
        memory = ("--state", str(state / remember)) if remember else ()
        config = change(with_partner(loaded.host, variant, *memory))
        people = {"staff": (STAFF, STAFF2, BOTH), "lead": (LEAD, LEAD2, LEAD3, BOTH), "admin": (ADMIN,), **roles}
        lists = {role: tuple(actor.user for actor in actors) for role, actors in people.items()}
        settings = replace(loaded, host=config, roles=loaded.roles.model_copy(update=lists))
        desk = QuietDesk()
        failed: Exception | None = None
        async with (
            make_model(script) as model,
            wiring.running(settings, model, lambda _: desk, clock=clock) as running,
        ):
            try:
                yield Office(running, model, desk, clock, state)
            except Exception as error:  # noqa: BLE001  raised below, outside of the connections' task group
                failed = error
        if failed is not None:
            raise failed

    return opened


def with_partner(config: HostConfig, variant: str, *arguments: str) -> HostConfig:
    """The shop alone when no variant is named: half the servers to start."""
    if not variant:
        return config.model_copy(update={"servers": {"shop": config.servers["shop"]}})
    partner = config.servers["partner"]
    changed = partner.model_copy(update={"command": (*partner.command, "--variant", variant, *arguments)})
    return config.model_copy(update={"servers": {**config.servers, "partner": changed}})


def only_rounds(
    state: Path,
    era: str,
    *,
    effect: Effect = "effect",
    tool: Mapping[str, Any] = {},
    server: Mapping[str, Any] = {},
    limits: Mapping[str, Any] = {},
    **host: Any,
) -> Callable[[HostConfig], HostConfig]:
    """The server of tests/host/servers/rounds.py alone, its tools allowed unasked where `policy` says nothing else."""
    settings: dict[str, Any] = {
        "command": (sys.executable, "-S", Office.rounds),
        "env": {"ERA": era, **{name: str(state / file) for name, file in ROUNDS_FILES.items()}},
        "timeout_seconds": 5,
        "tools": {name: ToolConfig(effect=effect, **tool) for name in ROUNDS},
    }
    rounds = ServerConfig(**{**settings, **server})
    policy = tuple(PolicyRule(tool=f"rounds.{name}", decision="allow") for name in ROUNDS)
    new = {"servers": {"rounds": rounds}, "policy": policy, "limits": Limits(**limits), **host}
    return lambda config: config.model_copy(update=new)


def offer(state: Path, **descriptions: str) -> None:
    """Tools of the server "rounds" by name, each with its description."""
    fields = {"order_id": {"type": "string"}, "amount": {"type": "number"}}
    schema = {"type": "object", "properties": fields}
    listed = [{"name": name, "description": text, "inputSchema": schema} for name, text in descriptions.items()]
    state.mkdir(exist_ok=True)
    (state / "new.json").write_text(json.dumps(listed))
    (state / "new.json").rename(state / "tools.json")


@pytest.fixture
def offered(tmp_path: Path) -> Callable[..., None]:
    """`offered(plain="Tests it.")`: what the server "rounds" offers at its next listing."""
    return partial(offer, tmp_path / "state")


ROUNDS_SETTINGS = ("effect", "tool", "server", "limits", *HostConfig.model_fields)


@pytest.fixture
def open_rounds(open_office: Opening, tmp_path: Path) -> Opening:
    """`open_rounds("2025", effect="read", limits={…}, tool={…}, server={…}, policy=…, lead=…)`: an office with the server
    "rounds" alone, whose tools the model tries."""

    def opened(era: str = "2026", script: Script = Scripts.tries, **more: Any) -> Any:
        settings = {name: more.pop(name) for name in ROUNDS_SETTINGS if name in more}
        return open_office(script, change=only_rounds(tmp_path / "state", era, **settings), **more)

    return opened
