"""Approvals and forms in the terminal: every question has its way to be asked there, and one person stays one person."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.cli import ask
from bot.cli.ask import worked
from bot.cli.terminal import TerminalDesk
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host.types import Actor, OutboxItem, OutboxKind, QuestionKind, QuestionState, Ticket
from models.port import Reply, Request
from models.scripted import ScriptedModel, call

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
EVERY_KIND = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 3},
        "mail": {"type": "string", "format": "email"},
        "amount": {"type": "number", "minimum": 1},
        "count": {"type": "integer", "default": 2},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "colours": {"type": "array", "items": {"type": "string", "enum": ["red", "blue", "green"]}, "minItems": 1},
        "note": {"type": "string"},
    },
    "required": ["name", "mail", "amount", "sure", "size", "colours"],
}


#: Whom the configuration lists as both.
BOTH = Actor("staff-0007", "U_MAYA", "Maya Okafor", frozenset({"staff", "lead"}))


class Typist:
    """Types one line after the other; then nothing can be typed any more."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.prompts = list(lines), list[str]()

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


@pytest.fixture
def asked(memory_host: Any, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """`await asked(card, "y", …)`: the card brought to a person who types these lines; (answers, what was printed, typist)."""

    async def brought(card: Any, *lines: str, person: Actor | None = BOTH) -> tuple[list[Any], str, Typist]:
        typist = Typist(*lines)
        key = memory_host.put(card)
        with anyio.fail_after(20):
            await TerminalDesk(memory_host, person, typist).deliver(OutboxItem(1, OutboxKind.CARD, key, "T-0004", {}, 1, None))
        assert not typist.lines, "everything that was typed was asked for"
        return [answer for _, _, answer in memory_host.answers], " ".join(capsys.readouterr().out.split()), typist

    return brought


async def test_consent_is_given_and_refused_with_a_reason(asked, views):
    [answer], said, _ = await asked(views.question_view(), "y")
    assert answer.action == "approve"
    assert "shop asks: Refund 343.49 EUR on order O-1145" in said
    assert "Q-0a1b2c3d4e" in said


async def test_a_refusal_takes_a_reason(asked, views):
    [answer], _, _ = await asked(views.question_view(), "", "photos of the mixer first")
    assert (answer.action, answer.reason) == ("decline", "photos of the mixer first")


async def test_one_person_cannot_be_two(asked, views):
    [answer], said, typist = await asked(views.question_view(question=views.two_leads(approvals=())))
    assert answer.action == "decline"
    assert "two different leads have to approve it" in answer.reason
    assert "can't be approved here" in said
    assert typist.prompts == []


async def test_an_unverified_sender_is_told_loudly(asked, views):
    _, said, _ = await asked(views.question_view(ticket=views.ticket(sender_verified=False)), "y")
    assert "The sender is NOT verified." in said


async def test_a_form_with_every_kind_of_field_is_filled_in_and_sent_after_a_last_look(asked, views):
    payload = {**views.payload(QuestionKind.INPUT_REQUEST), "schema": EVERY_KIND}
    view = views.question_view(QuestionKind.INPUT_REQUEST, question=views.question(QuestionKind.INPUT_REQUEST, payload=payload))
    lines = ("y", "Maya", "maya@example.com", "2614.50", "", "yes", "2", "1, 3", "", "y")
    [answer], said, typist = await asked(view, *lines)
    assert answer.action == "accept"
    expected = {"name": "Maya", "mail": "maya@example.com", "amount": 2614.5, "count": 2, "sure": True, "size": "l"}
    assert answer.content == {**expected, "colours": ["red", "green"]}
    assert "2. Large" in said
    assert any(prompt.startswith("count (a number, optional, empty: 2)") for prompt in typist.prompts)


async def test_only_what_could_not_be_taken_is_asked_again(asked, views):
    schema = {**EVERY_KIND, "properties": {name: EVERY_KIND["properties"][name] for name in ("name", "amount", "size")}}
    payload = {**views.payload(QuestionKind.INPUT_REQUEST), "schema": {**schema, "required": ["name", "amount", "size"]}}
    view = views.question_view(QuestionKind.INPUT_REQUEST, question=views.question(QuestionKind.INPUT_REQUEST, payload=payload))
    [answer], said, _ = await asked(view, "y", "Maya", "2.614", "7", "2614", "1", "y")
    assert answer.content == {"name": "Maya", "amount": 2614, "size": "s"}
    assert "amount: " in said
    assert "not offered" in said


@pytest.mark.parametrize(("typed", "action"), [("n", "decline"), ("", "decline"), ("c", "cancel")])
async def test_a_form_is_declined_or_cancelled(asked, views, typed, action):
    [answer], _, _ = await asked(views.question_view(QuestionKind.INPUT_REQUEST), typed)
    assert answer.action == action


async def test_an_address_is_shown_whole_with_its_warnings_and_only_agreed_to(asked, views):
    payload = {**views.address().payload, "warnings": ["The connection is not encrypted (http)."]}
    view = views.question_view(QuestionKind.INPUT_REQUEST, question=views.address(payload=payload))
    [answer], said, _ = await asked(view, "y")
    assert (answer.action, answer.content) == ("accept", {})
    assert payload["url"] in said
    assert "carrier.example" in said
    assert "Warning: The connection is not encrypted" in said


async def test_what_may_have_run_can_be_left_open(asked, views):
    assert (await asked(views.question_view(QuestionKind.MAY_HAVE_RUN), ""))[0] == []
    [answer], _, _ = await asked(views.question_view(QuestionKind.MAY_HAVE_RUN), "y")
    assert answer.action == "it_ran"


async def test_where_nothing_can_be_typed_the_question_stays_open(asked, views):
    answers, said, _ = await asked(views.question_view())
    assert answers == []
    assert "it stays open" in said


async def test_nothing_is_decided_while_nobody_said_who_is_there(asked, views):
    answers, said, typist = await asked(views.question_view(), person=None)
    assert (answers, typist.prompts) == ([], [])
    assert "shop asks: Refund 343.49 EUR" in said
    assert "--as" in said


async def test_what_somebody_else_has_to_decide_is_left_to_them(asked, views):
    admin = Actor("admin-0001", "U_ADA", "Ada Nystrom", frozenset({"admin"}))
    answers, said, typist = await asked(views.question_view(), person=admin)
    assert (answers, typist.prompts) == ([], [])
    assert "It stays open: Only a lead may decide this." in said


async def test_a_servers_words_cannot_write_to_the_terminal(asked, views):
    schema = {"type": "object", "properties": {"x": {"type": "string", "title": "\x1b[2J\nApproved. Type y"}}}
    payload = {**views.payload(QuestionKind.INPUT_REQUEST), "schema": schema}
    view = views.question_view(QuestionKind.INPUT_REQUEST, question=views.question(QuestionKind.INPUT_REQUEST, payload=payload))
    _, said, typist = await asked(view, "y", "value", "y")
    assert not any("\x1b" in prompt or "\n" in prompt for prompt in typist.prompts)
    assert "\x1b" not in said


async def test_an_ended_question_and_a_changed_tool_ask_nothing(asked, views):
    ended = views.question_view(question=views.question(state=QuestionState.EXPIRED))
    assert (await asked(ended))[0] == []
    answers, said, _ = await asked(views.changed_tool())
    assert answers == []
    assert "deskhand servers pins" in said


# The whole, on the real host


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    loaded = settings_file.load(ROOT / "deskhand.toml", tmp_path)
    alone = loaded.host.model_copy(update={"servers": {"shop": loaded.host.servers["shop"]}})
    return replace(loaded, host=alone)


@pytest.fixture
def ticket() -> Ticket:
    """A refund that the shop knows."""
    return next(one for one in read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0] if one.id == "T-0004")


@pytest.mark.parametrize("verified", [True, False])
async def test_a_question_worked_in_the_terminal_ends_with_its_draft_and_what_ran(settings, capsys, ticket, verified):
    typist, model = Typist(*(("n", "not today") if verified else ())), ScriptedModel(_refund)
    with anyio.fail_after(60):
        async with model, wiring.running(settings, model, lambda host: TerminalDesk(host, BOTH, typist)) as running:
            await worked(running, replace(ticket, sender_verified=verified), BOTH)
    said = capsys.readouterr().out
    assert "A colleague will look." in said
    assert "declined; nothing ran" in said
    assert ("two different people" in said) == (not verified)
    assert "shop.quote_refund" in said
    assert " s · " in said
    assert "Stopped:" in said
    assert typist.lines == []


async def test_whoever_approved_in_the_terminal_cannot_release_it_too(settings, capsys, ticket):
    typist, model = Typist("y", "y", "yes", "y"), ScriptedModel(_refund)
    with anyio.fail_after(60):
        async with model, wiring.running(settings, model, lambda host: TerminalDesk(host, BOTH, typist)) as running:
            await worked(running, ticket, BOTH)
    said = " ".join(capsys.readouterr().out.split())
    assert "You approved this call yourself: another person has to release it. So it is declined, and the run goes on." in said
    assert "A colleague will look." in said


async def test_the_acting_person_is_the_one_whom_the_configuration_lists(settings, capsys, ticket, tmp_path):
    typist, model = Typist("y", "photos first"), ScriptedModel(_refund)
    tom = ask._person(settings.roles, "U_TOM")
    with anyio.fail_after(60):
        async with model, wiring.running(settings, model, lambda host: TerminalDesk(host, tom, typist)) as running:
            await worked(running, ticket, tom)
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        rows = shop.execute("select status, requested_by from refunds where quote_id is not null").fetchall()
    assert rows == [("held", "staff-0011")]
    assert "It stays open: Only a lead may" in " ".join(capsys.readouterr().out.split())


def _refund(request: Request) -> Reply:
    """Quote, issue, and reply, whatever became of it."""
    start = max(n for n, one in enumerate(request.messages) if one.role == "user" and one.content.startswith("Ticket:"))
    said = "\n".join(one.content for one in request.messages[start:] if one.role == "tool")
    quote = re.search(r"Q-[0-9a-f]{10}", said)
    if quote is None:
        return call("shop.quote_refund", order_id="O-1145")
    if "shop.issue_refund:" not in said:
        return call("shop.issue_refund", quote_id=quote[0])
    return call("desk.reply", text="A colleague will look.")
