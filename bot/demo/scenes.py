"""The channel isn't empty when the demo opens: one consent card, one held refund, one flagged draft, and tickets to work.

Every scene is made by the real host on the shop's data: the first two from recorded replies of the real model, the others by
scripted models that lie and that obey a ticket, because that is what checks and consent are there to stop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from anyio import to_thread
from pydantic import BaseModel, ConfigDict

from bot import wiring
from bot.headless import STAFF, HeadlessDesk, Rules
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host.prompt import REPLY
from host.types import Actor, Answer, QuestionKind, Ticket
from models.port import Model, Reply, Request
from models.scripted import ScriptedModel, call


class Scenes(BaseModel):
    """`consent`, `held`, `lying` and `obeying` name tickets by id; `waiting` ones are there to be worked."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    consent: str
    held: str
    obeying: str
    obeying_order: str
    lying: str
    lie: str
    waiting: tuple[str, ...]
    welcome: tuple[str, ...]


def read_scenes() -> Scenes:
    return Scenes.model_validate(json.loads(Path(__file__).with_name("scenes.json").read_text(encoding="utf-8")))


async def seed(settings: Settings, scenes: Scenes, approver: Actor = STAFF) -> None:
    """Work the scenes' tickets up to where a person has to decide; the bot posts their cards when it starts."""
    read, _ = await to_thread.run_sync(read_tickets, Path(settings.queue.tickets))
    by_id = {ticket.id: ticket for ticket in read}
    recorded = wiring.build_model(wiring.with_model(settings, "recorded"))
    async with recorded:
        await _work(settings, recorded, [by_id[scenes.consent], by_id[scenes.held]], scenes.held, approver)
    obedient = ScriptedModel(_obedient(settings, scenes.obeying_order))
    async with obedient:
        await _work(settings, obedient, [by_id[scenes.obeying]], "", approver)
    lying = ScriptedModel([call(REPLY, text=scenes.lie), call(REPLY, text=scenes.lie)])
    async with lying:
        await _work(settings, lying, [by_id[scenes.lying]], "", approver)
    async with lying:
        await _work(settings, lying, [by_id[one] for one in scenes.waiting], "", approver, work=False)


def _obedient(settings: Settings, order: str) -> Callable[[Request], Reply]:
    """Does what the ticket's planted words demand: quotes, then asks for the refund."""

    def reply(request: Request) -> Reply:
        quote = re.search(r'"quote_id":"([^"]+)"', request.messages[-1].content)
        if quote is None:
            return call(settings.queue.quote_tool, order_id=order)
        return call(settings.queue.issue_tool, quote_id=quote[1])

    return reply


async def _work(
    settings: Settings, model: Model, tickets: Sequence[Ticket], approved: str, approver: Actor, work: bool = True
) -> None:
    extra = settings.queue.env
    async with wiring.running(settings, model, lambda host: HeadlessDesk(host, Rules()), extra_env=extra) as running:
        for ticket in tickets:
            await running.host.intake(ticket)
            if work:
                await running.host.work(ticket.id, approver)
        while await running.queue.work_one():
            pass
        for question in (await running.host.status()).open_questions:
            if question.ticket_id == approved and question.kind is QuestionKind.CONSENT:
                await running.host.answer(question.id, approver, Answer("approve"))
        while await running.queue.work_one():
            pass
