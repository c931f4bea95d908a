"""What a process that may die is about: a ticket, its servers, a model, and people who do as they are told.

Everything here is a function of what is asked or of files in the state folder: whoever goes on after a death knows no more.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.headless import ADMIN, STAFF, HeadlessDesk, Rules
from host.config import HostConfig, PolicyRule, ReadBack, ServerConfig, ToolConfig
from host.facade import Host
from host.types import Actor, Answer, Json, OutboxItem, OutboxKind, Question, QuestionKind, QuestionState
from host.views import DraftView, QuestionView, ReminderView, ToolView
from models.port import Call, Reply, Request

HERE = Path(__file__).parent
STAFF2 = Actor("staff-0009", "headless-staff-2", "Second staff", frozenset({"staff"}))
PEOPLE = {"clock": "clock.txt", "sent": "sent.txt", "book": "book.txt"}

Script = Callable[[Request], Reply]


@dataclass(frozen=True, slots=True)
class Scene:
    """`patient`: people answer at the first reminder, and when all is over the day ends and the customer is erased."""

    ticket: str
    configured: Callable[[HostConfig, Path, str], HostConfig]
    script: Script
    verified: bool = True
    patient: bool = False


# --- models: functions of the request alone ---------------------------------------------------------------------------


def _said(request: Request) -> str:
    ticket = max(i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:"))
    return "\n".join(m.content for m in request.messages[ticket:] if m.role == "tool")


def _call(name: str, arguments: Mapping[str, Json]) -> Reply:
    return Reply(raw=f"<{name}>", calls=(Call(name, arguments),))


def refund(request: Request) -> Reply:
    """Quote, issue, reply."""
    said = _said(request)
    quote = re.search(r"Q-[0-9a-f]{10}", said)
    if quote is None:
        return _call("shop.quote_refund", {"order_id": "O-1145"})
    if "shop.issue_refund:" not in said:
        return _call("shop.issue_refund", {"quote_id": quote[0]})
    if "shop.issue_refund: result" in said:
        return _call("desk.reply", {"text": "Your refund of EUR 343.49 for order O-1145 has been requested."})
    return _call("desk.reply", {"text": "A colleague will look at your order."})


def payment(request: Request) -> Reply:
    if "bank.pay:" not in _said(request):
        return _call("bank.pay", {"note": "the courier"})
    return _call("desk.reply", {"text": "Thank you."})


def curious(request: Request) -> Reply:
    if "bank.news:" not in _said(request):
        return _call("bank.news", {})
    return _call("desk.reply", {"text": "Thank you."})


# --- servers ----------------------------------------------------------------------------------------------------------


def _started(nursery: str, name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(HERE / "handover.py"), nursery, name, *arguments)


def shop_alone(config: HostConfig, state: Path, nursery: str) -> HostConfig:
    command = _started(nursery, "shop", "mcp", "--database", str(state / "shop.db"))
    return config.model_copy(update={"servers": {"shop": config.servers["shop"].model_copy(update={"command": command})}})


def shop_with_a_new_key(config: HostConfig, state: Path, nursery: str) -> HostConfig:
    """Each process of the shop seals with another key: none knows a state that an earlier one gave."""
    alone = shop_alone(config, state, nursery)
    shop = alone.servers["shop"]
    env = {**shop.env, "SHOP_STATE_KEY": secrets.token_hex(32)}
    return alone.model_copy(update={"servers": {"shop": shop.model_copy(update={"env": env})}})


def bank_with_news(config: HostConfig, state: Path, nursery: str) -> HostConfig:
    """A bank whose terms change when it is asked for news; they wait for an admin."""
    env = {"BANK_WAY": "old", "BANK_BOOK": str(state / PEOPLE["book"])}
    news = {"BANK_TERMS": str(state / "terms.txt"), "BANK_NEWS": "Pays, by its new terms."}
    server = ServerConfig(command=_started(nursery, "bank"), env={**env, **news}, tools={"news": ToolConfig(effect="read")})
    rule = PolicyRule(tool="bank.news", decision="allow")
    return config.model_copy(update={"servers": {"bank": server}, "policy": (rule,)})


BY_KEY = ReadBack(tool="payments", arguments={}, items="payments", key_field="key", settled=("done",))


def bank(way: str, *, durable: bool, read_back: bool) -> Callable[[HostConfig, Path, str], HostConfig]:
    """The bank in the shop's place; its payments are asked about, its list may be read."""
    pay = ToolConfig(effect="effect", idempotency_key="key", read_back=BY_KEY if read_back else None)

    def configured(config: HostConfig, state: Path, nursery: str) -> HostConfig:
        server = ServerConfig(
            command=_started(nursery, "bank"),
            env={"BANK_WAY": way, "BANK_BOOK": str(state / PEOPLE["book"])},
            trusted=True,
            durable=durable,
            tools={"pay": pay, "payments": ToolConfig(effect="read")},
        )
        rule = PolicyRule(tool="bank.payments", decision="allow")
        return config.model_copy(update={"servers": {"bank": server}, "policy": (rule,)})

    return configured


SCENES: Mapping[str, Scene] = {
    "refund": Scene("T-0004", shop_alone, refund),
    "patient": Scene("T-0004", shop_alone, refund, verified=False, patient=True),
    "new key": Scene("T-0004", shop_with_a_new_key, refund),
    "rounds": Scene("T-0010", bank("rounds", durable=True, read_back=True), payment),
    "forgetful": Scene("T-0010", bank("forgetful", durable=False, read_back=True), payment),
    "changed": Scene("T-0010", bank_with_news, curious),
    "during": Scene("T-0010", bank("during", durable=True, read_back=False), payment),
    "during, read back": Scene("T-0010", bank("during", durable=True, read_back=True), payment),
}


# --- people -----------------------------------------------------------------------------------------------------------


class MovedClock:
    """Implements `host.port.Clock`: the real time, and what was added to it; that is kept in a file."""

    def __init__(self, state: Path) -> None:
        self._file = state / PEOPLE["clock"]
        self._added = timedelta(seconds=float(self._file.read_text())) if self._file.exists() else timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._added

    def move_to(self, moment: datetime) -> None:
        self._added += max(timedelta(), moment - self.now()) + timedelta(seconds=1)
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(self._added.total_seconds()))
        fresh.replace(self._file)


class Desk(HeadlessDesk):
    """People who approve, release and send, look at the bank's book when nobody knows, and an outside that remembers mail.

    A patient one's people answer reminders alone. Dies when it is to show a question of the kind `die_asked`.
    """

    def __init__(self, host: Host, state: Path, patient: bool, die: Callable[[], None], die_asked: str) -> None:
        super().__init__(host, Rules("approve", "accept", sign_off=True))
        self._front, self._state, self._patient = host, state, patient
        self._die, self._die_asked = die, die_asked

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        if item.kind is OutboxKind.MAIL:
            self._remember(f"{item.key}")
        if item.key.startswith("question:"):
            card = await self._front.card(item.key)
            if isinstance(card, QuestionView | DraftView) and card.question.kind.value == self._die_asked:
                self._die()
            if isinstance(card, ToolView) and card.question.state is QuestionState.OPEN:
                await self._front.answer(card.question.id, ADMIN, Answer("accept"))
        if item.key.startswith("reminder:"):
            reminder = await self._front.reminder(str(item.payload["question"]), int(item.payload["number"]))
            if isinstance(reminder, ReminderView):
                await self._answer(reminder.question)
        if self._patient:
            return {"receipt": f"quiet-{item.id}"}
        return await super().deliver(item)

    async def answer_all(self, questions: Sequence[Question]) -> None:
        for question in questions:
            await self._answer(question)

    def _remember(self, words: str) -> None:
        with (self._state / PEOPLE["sent"]).open("a") as sent:
            sent.write(words + "\n")
            sent.flush()
            os.fsync(sent.fileno())

    async def _answer(self, question: Question) -> None:
        if question.kind is QuestionKind.MAY_HAVE_RUN:
            book = self._state / PEOPLE["book"]
            paid = book.exists() and "paid " in book.read_text()
            await self._front.answer(question.id, STAFF, Answer("it_ran" if paid else "it_did_not_run"))
            return
        await super()._answer(question)
        if question.kind is QuestionKind.CONSENT and question.needed == 2:
            await self._front.answer(question.id, STAFF2, Answer("approve"))
