"""The real Qwen on a few real tickets, through the real servers: what it writes is readable, grounded, and ends in something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import ADMIN, HeadlessDesk, Rules
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host import grounding
from host.types import OutcomeKind, Ticket
from models import recording

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
TICKETS = ("T-0001", "T-0004", "T-0005")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_file.load(ROOT / "deskhand.toml", tmp_path)


@pytest.fixture
def runs(settings: Settings) -> list[dict[str, Any]]:
    """What each recording was made with."""
    return recording.read(Path(settings.model.recordings)).runs


@pytest.fixture
def tickets() -> list[Ticket]:
    return [one for one in read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0] if one.id in TICKETS]


@pytest.mark.model
async def test_a_few_tickets_are_worked_by_the_real_model(settings: Settings, tickets: list[Ticket]) -> None:
    model = wiring.build_model(wiring.with_model(settings, "local"))
    people = Rules(staff="approve", lead="accept")
    async with model, wiring.running(settings, model, lambda host: HeadlessDesk(host, people)) as running:
        for ticket in tickets:
            await running.host.intake(ticket)
        await running.host.run_queue(ADMIN, None)
        while await running.queue.work_one() or await running.outbox.deliver_due():
            pass
        results = await running.host.results(TICKETS)
    by_id = {ticket.id: ticket for ticket in tickets}
    for result in results:
        assert result.stop_reason is not None
        assert result.draft
        held = {fact.value for fact in grounding.facts_from_ticket(by_id[result.ticket_id], settings.host.grounding)}
        for call in result.calls:
            assert call.outcome not in (OutcomeKind.UNREADABLE, OutcomeKind.UNKNOWN_TOOL)
            named = {value for name, value in call.arguments.items() if name in settings.host.grounding}
            assert named <= held, "every identifier stands in the ticket or in an earlier result"
            if call.ok:
                held |= {f.value for f in grounding.facts_from_result(call, True, settings.host.grounding)}


async def test_the_recordings_were_made_with_the_prompt_of_today(settings: Settings, runs: list[dict[str, Any]]) -> None:
    model = wiring.build_model(wiring.with_model(settings, "recorded"))
    async with model, wiring.running(settings, model, lambda host: HeadlessDesk(host, Rules())) as running:
        digest = running.prompt_digest
    assert runs, "make recordings with `deskhand record --all`"
    assert runs[-1]["prompt_digest"] == digest, "the prompt changed: record again with `deskhand record --all`"
