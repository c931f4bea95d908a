"""Scripted people through the real host: two where two are needed, never one for both, and nobody for what is left to people."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import ADMIN, LEAD, LEAD_2, LEAD_3, STAFF, STAFF_2, HeadlessDesk, Rules, filled, next_person
from bot.mailroom.files import read_tickets
from host.config import HostConfig
from host.forms import read_answer, read_fields
from host.types import Actor, Answer, Approval, Question, QuestionKind, Ticket
from models.port import Reply, Request
from models.scripted import ScriptedModel, call

ROOT = Path(__file__).parents[2]
Opening = Callable[..., AbstractAsyncContextManager[wiring.Running]]


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


@pytest.fixture
def ticket() -> Ticket:
    return next(one for one in read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0] if one.id == "T-0004")


@pytest.fixture
def opened(tmp_path: Path) -> Opening:
    """`opened(rules, change=config → config)`: the shop alone, with scripted people."""
    loaded = settings_file.load(ROOT / "deskhand.toml", tmp_path)
    leads = loaded.roles.model_copy(update={"lead": (LEAD.user, LEAD_2.user, LEAD_3.user)})

    @asynccontextmanager
    async def running(
        rules: Rules, change: Callable[[HostConfig], HostConfig] = lambda config: config
    ) -> AsyncIterator[wiring.Running]:
        config = change(loaded.host.model_copy(update={"servers": {"shop": loaded.host.servers["shop"]}}))
        model, settings = ScriptedModel(_refund), replace(loaded, host=config, roles=leads)
        with anyio.fail_after(90):
            async with model, wiring.running(settings, model, lambda host: HeadlessDesk(host, rules)) as made:
                yield made

    return running


async def _worked(running: wiring.Running, ticket: Ticket) -> Any:
    await running.host.intake(ticket)
    await running.host.work(ticket.id, ADMIN)
    while await running.queue.work_one() or await running.outbox.deliver_due():
        pass
    return (await running.host.results((ticket.id,)))[0]


def _statuses(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "shop.db") as shop:
        return [row[0] for row in shop.execute("select status from refunds where quote_id is not null")]


@pytest.mark.anyio
async def test_an_unverified_senders_refund_is_approved_by_two_different_scripted_people(opened, ticket, tmp_path):
    async with opened(Rules("approve", "accept")) as running:
        result = await _worked(running, replace(ticket, sender_verified=False))
    [issued] = [one for one in result.calls if one.name == "shop.issue_refund"]
    assert issued.ok
    assert _statuses(tmp_path) == ["requested"]


@pytest.mark.anyio
async def test_two_leads_approve_and_a_third_one_releases(opened, ticket, tmp_path):
    def two_leads(config: HostConfig) -> HostConfig:
        shop = config.servers["shop"]
        refund = shop.tools["issue_refund"].model_copy(update={"amount": "quote_id.amount", "two_leads_over": Decimal(300)})
        return config.model_copy(
            update={"servers": {"shop": shop.model_copy(update={"tools": {**shop.tools, "issue_refund": refund}})}}
        )

    async with opened(Rules("approve", "accept"), two_leads) as running:
        await _worked(running, ticket)
    assert _statuses(tmp_path) == ["requested"]


@pytest.mark.anyio
async def test_one_refusal_is_enough(opened, ticket, tmp_path):
    async with opened(Rules("decline", "accept")) as running:
        result = await _worked(running, replace(ticket, sender_verified=False))
    assert [one.outcome.value for one in result.calls if one.name == "shop.issue_refund"] == ["declined"]
    assert _statuses(tmp_path) == []


def _with(views: Any, **changes: Any) -> Question:
    question: Question = views.question(QuestionKind.CONSENT, **changes)
    return question


def _approval(actor: Actor, views: Any) -> Approval:
    return Approval(actor, views.question().asked_at, Answer("approve"))


def test_the_next_person_has_the_role_and_has_not_approved(views):
    assert next_person(_with(views)) == STAFF
    assert next_person(_with(views, approvals=(_approval(STAFF, views),))) == STAFF_2
    assert next_person(_with(views, roles=("lead",))) == LEAD
    assert next_person(_with(views, roles=("lead",), payload={"approved_by": [LEAD.user, LEAD_2.user]})) == LEAD_3
    assert next_person(_with(views, roles=("admin",))) is None


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "email"},
        {"type": "string", "format": "uri"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "minLength": 20, "maxLength": 25},
        {"type": "string", "maxLength": 4},
        {"type": "integer", "minimum": 3},
        {"type": "number", "minimum": 0.5, "maximum": 1},
        {"type": "boolean"},
        {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1, "maxItems": 1},
    ],
    ids=lambda field: "-".join(str(value) for value in field.values())[:40],
)
def test_a_form_filled_by_rule_is_one_that_the_host_takes(field):
    schema = {"type": "object", "properties": {"x": field}, "required": ["x"]}
    fields = read_fields(schema)
    assert not isinstance(fields, str), fields
    assert not read_answer(fields, filled(schema)).errors
