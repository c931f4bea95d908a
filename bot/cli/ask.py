"""`deskhand ask`: one question in the terminal, worked by the same host; approvals are asked here too (spec B12)."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import anyio
import typer
from anyio import to_thread

from bot import wiring
from bot.cli.queue import ModelKind
from bot.cli.shared import Config, State, console, fail, foreign, load, log_to_stderr, out, told
from bot.headless import ADMIN, LEAD, STAFF, filled
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host.facade import Host
from host.types import Actor, Answer, Json, OutboxItem, OutboxKind, Question, QuestionKind, QuestionState, Ticket
from host.views import DraftView, QuestionView


@told
def ask(
    question: Annotated[str, typer.Argument(help="What a customer would write.")],
    ticket: Annotated[str, typer.Option(help="Ask in this ticket's name, for its customer.")] = "",
    model: Annotated[ModelKind | None, typer.Option(help="Replay recordings, or decode here.")] = None,
    config: Config = None,
    state: State = None,
) -> None:
    """Ask one question; whatever needs consent is asked in this terminal."""
    log_to_stderr()
    with tempfile.TemporaryDirectory(prefix="deskhand-ask-") as folder:
        settings = load(config, state or Path(folder))
        if model is not None:
            settings = wiring.with_model(settings, model)
        anyio.run(_ask, settings, _ticket(settings, question, ticket))


def _ticket(settings: Settings, question: str, ticket_id: str) -> Ticket:
    if not question.strip():
        raise fail("the question is empty")
    now = datetime.now(UTC)
    if not ticket_id:
        return Ticket("ask-1", "ask-1", "", question, "", "", True, None, now, language="en", source="terminal")
    if not settings.queue.tickets:
        raise fail("--ticket needs a file at [queue] tickets in deskhand.toml")
    read, _ = read_tickets(Path(settings.queue.tickets))
    found = next((one for one in read if one.id == ticket_id), None)
    if found is None:
        raise fail(f"{settings.queue.tickets} holds no ticket {ticket_id}")
    return replace(found, subject="", body=question, source="terminal")


async def _ask(settings: Settings, ticket: Ticket) -> None:
    model = wiring.build_model(settings)
    async with model, wiring.running(settings, model, TerminalDesk, extra_env=settings.queue.env) as running:
        await running.host.intake(ticket)
        await running.host.work(ticket.id, ADMIN)
        with console.status("working…"):
            while await running.queue.work_one():
                pass
        while await running.outbox.deliver_due() or await running.queue.work_one():
            pass
        card = await running.host.card(f"ticket:{ticket.id}")
        console.print(foreign(getattr(card, "line", "")), style="dim")


class TerminalDesk:
    """Implements `host.port.Desk` for one person at a terminal."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        if item.kind is OutboxKind.CARD and item.key.startswith("question:"):
            card = await self._host.card(item.key)
            if isinstance(card, DraftView):
                _print_draft(card)
            elif isinstance(card, QuestionView) and card.question.state is QuestionState.OPEN:
                await self._decide(card)
        return {"receipt": "terminal"}

    async def _decide(self, card: QuestionView) -> None:
        out.print(f"\n[bold]{foreign(card.question.server)} asks:[/bold] {foreign(card.headline)}")
        out.print(foreign(json.dumps(dict(card.question.payload.get("arguments", {})), ensure_ascii=False)))
        yes = (await to_thread.run_sync(input, "Allow it? [y/N] ")).strip().lower() in ("y", "yes")
        actor, answer = _answer(card.question, yes)
        result = await self._host.answer(card.question.id, actor, answer)
        out.print(foreign(result.words))


def _answer(question: Question, yes: bool) -> tuple[Actor, Answer]:
    if question.kind is QuestionKind.INPUT_REQUEST:
        return LEAD, Answer("accept", content=filled(question.payload["schema"])) if yes else Answer("decline")
    return STAFF, Answer("approve") if yes else Answer("decline", "declined in the terminal")


def _print_draft(card: DraftView) -> None:
    out.print("\n[bold]Draft[/bold]")
    out.print(foreign(card.text))
    for flag in card.flags:
        out.print(f"[red]flagged:[/red] {foreign(flag.sentence)}: {foreign(flag.why)}")
    out.print("\n[bold]What ran[/bold]")
    for call in card.calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        out.print(foreign(f"{call.name} {arguments}: {call.outcome.value} {call.note}"))
    if not card.calls:
        out.print("Nothing ran.")
