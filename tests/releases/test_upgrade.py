"""After an upgrade each question that an earlier release left open can be answered, and its run goes on to its end (spec B14).

The fixtures are made by `make.py`, one folder for each release. Today's code opens them, migrates them, and is answered through
its front door by people played here, with real servers and a scripted model.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import LEAD, STAFF, filled
from host import journal
from host.config import HostConfig
from host.store import journal as journal_rows
from host.types import Actor, Answer, OutboxItem, Question, Taken
from models.port import Call, Reply, Request
from models.scripted import ScriptedModel

pytestmark = pytest.mark.anyio

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RELEASES = sorted(path.parent.name for path in HERE.glob("*/questions.json"))
#: What a release could ask. Whoever adds a release writes down what it could.
KINDS = {"0.1.0": {"consent", "input_request", "sign_off", "may_have_run"}}


@dataclass
class QuietDesk:
    items: list[OutboxItem] = field(default_factory=list)

    async def deliver(self, item: OutboxItem) -> dict[str, Any]:
        self.items.append(item)
        return {"receipt": f"quiet-{item.id}"}

    def mails(self, ticket: str) -> list[OutboxItem]:
        return [item for item in self.items if item.kind.value == "mail" and item.ticket_id == ticket]


class NextMorning:
    """An hour after the release was stopped: no question has expired."""

    def now(self) -> datetime:
        return datetime(2026, 6, 2, 10, 0, tzinfo=UTC)


def script(request: Request) -> Reply:
    """What is left to say: a refund that was made, or thanks. Whatever it calls again would be a second effect."""
    start = max(i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:"))
    ticket, *later = request.messages[start:]
    said = "\n".join(m.content for m in later if m.role == "tool")
    order = re.search(r"O-\d{4}", ticket.content)
    if order is None or "shop.issue_refund: result" not in said:
        return _reply("Thank you for your patience.")
    amount = re.findall(r'"amount":([0-9.]+)', said)[-1]
    return _reply(f"Your refund of EUR {float(amount):.2f} for order {order[0]} has been requested.")


def _reply(text: str) -> Reply:
    return Reply(raw="<reply>", calls=(Call("desk.reply", {"text": text}),))


class Upgraded:
    """Today's host on an earlier release's databases."""

    def __init__(self, running: wiring.Running, desk: QuietDesk, state: Path) -> None:
        self.running, self.desk, self.host, self._state = running, desk, running.host, state

    async def settle(self) -> None:
        with anyio.fail_after(60):
            while await self.running.queue.work_one() or await self.running.outbox.deliver_due():
                pass

    async def waiting(self) -> dict[str, Question]:
        return {question.ticket_id: question for question in (await self.host.status()).open_questions}

    async def answered(self, question: Question, actor: Actor, answer: Answer) -> None:
        taken = await self.host.answer(question.id, actor, answer)
        assert isinstance(taken, Taken), taken.words
        await self.settle()

    async def signed_off(self, ticket: str) -> None:
        draft = (await self.waiting())[ticket]
        assert draft.kind.value == "sign_off", "the run went on to its draft"
        await self.answered(draft, STAFF, Answer("send"))

    async def calls(self, ticket: str) -> list[tuple[str, str]]:
        (result,) = await self.host.results((ticket,))
        return [(call.name, call.outcome.value) for call in result.calls]

    async def broken(self, ticket: str) -> str:
        async with self.running.store.read() as tx:
            return journal.verify(await journal_rows.chain(tx, ticket))

    def refunds(self, ticket: str) -> list[tuple[str, str | None, str | None]]:
        with closing(sqlite3.connect(self._state / "shop.db")) as shop:
            query = "select status, requested_by, released_by from refunds where ticket_id = ?"
            return list(shop.execute(query, (ticket,)))


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> Path:
    return HERE / str(request.param)


@pytest.fixture
def questions(release: Path) -> dict[str, str]:
    """Kind → ticket."""
    return {kind: ticket for ticket, kind in json.loads((release / "questions.json").read_text(encoding="utf-8")).items()}


@pytest.fixture
def state(release: Path, tmp_path: Path) -> Path:
    for name in ("deskhand", "shop"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as database:
            database.executescript((release / f"{name}.sql").read_text(encoding="utf-8"))
    return tmp_path


@pytest.fixture
def settings(release: Path, state: Path) -> settings_file.Settings:
    """Today's configuration with the servers that the release had."""
    loaded = settings_file.load(ROOT / "deskhand.toml", state)
    raw = loaded.host.model_dump()
    for name, keys in tomllib.loads((release / "servers.toml").read_text(encoding="utf-8")).items():
        raw["servers"][name].update(keys)
        command = raw["servers"][name]["command"]
        raw["servers"][name]["command"] = [w.replace("{python}", sys.executable).replace("{state}", str(state)) for w in command]
    return replace(loaded, host=HostConfig.model_validate(raw))


@asynccontextmanager
async def opened(settings: settings_file.Settings) -> AsyncIterator[Upgraded]:
    desk, failed = QuietDesk(), None
    async with (
        ScriptedModel(script) as model,
        wiring.running(settings, model, lambda _: desk, clock=NextMorning()) as running,
    ):
        try:
            yield Upgraded(running, desk, settings.state)
        except Exception as error:  # noqa: BLE001  raised below, outside of the connections' task group
            failed = error
    if failed is not None:
        raise failed


def test_the_fixture_holds_a_question_of_every_kind_that_the_release_could_ask(release: Path, questions: dict[str, str]) -> None:
    assert set(questions) == KINDS[release.name]


async def test_every_question_is_still_open_after_the_upgrade_and_each_journal_verifies(
    settings: settings_file.Settings, questions: dict[str, str]
) -> None:
    async with opened(settings) as upgraded:
        await upgraded.settle()
        waiting = await upgraded.waiting()
        assert {question.kind.value: ticket for ticket, question in waiting.items()} == questions
        for question in waiting.values():
            assert (await upgraded.host.card(f"question:{question.id}")) is not None
            assert await upgraded.broken(question.ticket_id) == ""


async def test_a_consent_can_be_given_and_the_refund_is_made_once(
    settings: settings_file.Settings, questions: dict[str, str]
) -> None:
    ticket = questions["consent"]
    async with opened(settings) as upgraded:
        await upgraded.answered((await upgraded.waiting())[ticket], STAFF, Answer("approve"))
        assert upgraded.refunds(ticket) == [("requested", STAFF.subject, None)]
        await upgraded.signed_off(ticket)
        await finished(upgraded, ticket)


async def test_a_consent_can_be_declined_and_nothing_is_made(settings: settings_file.Settings, questions: dict[str, str]) -> None:
    ticket = questions["consent"]
    async with opened(settings) as upgraded:
        await upgraded.answered((await upgraded.waiting())[ticket], STAFF, Answer("decline", reason="photos first, please"))
        assert (await upgraded.calls(ticket))[-1] == ("shop.issue_refund", "declined")
        assert upgraded.refunds(ticket) == []
        assert await upgraded.broken(ticket) == ""


async def test_a_lead_can_fill_the_form_and_the_held_refund_is_requested_once(
    settings: settings_file.Settings, questions: dict[str, str]
) -> None:
    ticket = questions["input_request"]
    async with opened(settings) as upgraded:
        assert [status for status, *_ in upgraded.refunds(ticket)] == ["held"]
        question = (await upgraded.waiting())[ticket]
        assert question.roles == ("lead",)
        await upgraded.answered(question, LEAD, Answer("accept", content=filled(question.payload["schema"])))
        assert [status for status, *_ in upgraded.refunds(ticket)] == ["requested"]
        await upgraded.signed_off(ticket)
        await finished(upgraded, ticket)


async def test_a_draft_can_be_sent_and_reaches_the_outbox_once(
    settings: settings_file.Settings, questions: dict[str, str]
) -> None:
    ticket = questions["sign_off"]
    async with opened(settings) as upgraded:
        await upgraded.signed_off(ticket)
        assert [status for status, *_ in upgraded.refunds(ticket)] == ["requested"]
        await finished(upgraded, ticket)


@pytest.mark.parametrize(("action", "outcome"), [("it_ran", "result"), ("it_did_not_run", "failed")])
async def test_a_person_can_say_whether_a_call_ran_and_it_is_not_sent_again(
    settings: settings_file.Settings, questions: dict[str, str], action: Any, outcome: str
) -> None:
    ticket = questions["may_have_run"]
    async with opened(settings) as upgraded:
        await upgraded.answered((await upgraded.waiting())[ticket], STAFF, Answer(action))
        assert await upgraded.calls(ticket) == [("partner.track_parcel", outcome)]
        assert not await anyio.Path(settings.state / "died.txt").exists()  # the partner that dies when called was not called
        assert (await upgraded.waiting())[ticket].kind.value == "sign_off"
        assert await upgraded.broken(ticket) == ""


async def test_a_change_to_what_the_old_release_wrote_is_noticed(
    settings: settings_file.Settings, questions: dict[str, str]
) -> None:
    ticket = questions["input_request"]
    await anyio.to_thread.run_sync(_tamper, settings.state, ticket)
    async with opened(settings) as upgraded:
        assert "3" in await upgraded.broken(ticket)


def _tamper(state: Path, ticket: str) -> None:
    with closing(sqlite3.connect(state / "deskhand.db")) as database, database:
        database.execute(
            "update payloads set body = replace(body, 'O-1145', 'O-1146') where ticket_id = ? and seq = 3", (ticket,)
        )


async def finished(upgraded: Upgraded, ticket: str) -> None:
    """One mail, nothing left to ask, and a journal that verifies over both releases' entries."""
    assert [item.key for item in upgraded.desk.mails(ticket)] == [upgraded.desk.mails(ticket)[0].key]
    assert ticket not in await upgraded.waiting()
    assert await upgraded.broken(ticket) == ""
