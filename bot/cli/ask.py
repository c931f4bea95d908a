"""`deskhand ask`: one question in the terminal, worked by the same host; approvals are asked here too (spec B12)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import anyio
import typer

from bot import wiring
from bot.cli.alone import alone, apart
from bot.cli.queue import ModelKind
from bot.cli.shared import Config, State, console, fail, foreign, load, log_to_stderr, told
from bot.cli.terminal import TerminalDesk, print_answer
from bot.headless import ADMIN
from bot.mailroom.files import read_tickets
from bot.settings import Person, RolesSettings, Settings
from host.facade import Host
from host.types import Actor, Flag, QuestionKind, RoleName, Ticket


@told
def ask(
    question: Annotated[str, typer.Argument(help="What a customer would write.")],
    ticket: Annotated[str, typer.Option(help="Ask in this ticket's name, for its customer.")] = "",
    person: Annotated[str, typer.Option("--as", help="Your user id in deskhand.toml; left out, nothing is decided.")] = "",
    model: Annotated[ModelKind | None, typer.Option(help="Replay recordings, or decode here.")] = None,
    config: Config = None,
    state: State = None,
) -> None:
    """Ask one question; whatever needs consent is asked in this terminal."""
    log_to_stderr()
    with tempfile.TemporaryDirectory(prefix="deskhand-ask-") as folder:
        settings = apart(load(config, state or Path(folder)))
        who = _person(settings.roles, person)
        if model is not None:
            settings = wiring.with_model(settings, model)
        with alone(settings):
            anyio.run(_ask, settings, _ticket(settings, question, ticket), who)


def _person(roles: RolesSettings, user: str) -> Actor | None:
    """Who sits here, as the configuration has them: nobody is made up, neither a role nor a subject (spec H10)."""
    lists: dict[RoleName, tuple[str, ...]] = {"staff": roles.staff, "lead": roles.lead, "admin": roles.admin}
    mine = frozenset(role for role, users in lists.items() if user in users)
    if user and not mine:
        known = ", ".join(dict.fromkeys(one for users in lists.values() for one in users)) or "nobody"
        raise fail(f"--as {user}: [roles] lists no such user; there are: {known}")
    listed = roles.people.get(user, Person(subject=user, name=user))
    return Actor(listed.subject, user, listed.name, mine) if user else None


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


async def _ask(settings: Settings, ticket: Ticket, person: Actor | None) -> None:
    model = wiring.build_model(settings)

    def desk(host: Host) -> TerminalDesk:
        return TerminalDesk(host, person)

    async with model, wiring.running(settings, model, desk, extra_env=settings.queue.env) as running:
        await worked(running, ticket, person)


async def worked(running: wiring.Running, ticket: Ticket, person: Actor | None) -> None:
    """Work the ticket until nothing moves, and print what came of it; what still waits for somebody is said as such."""
    await running.host.intake(ticket)
    await running.host.work(ticket.id, person or ADMIN)
    with console.status("working…"):
        while await running.queue.work_one():
            pass
    while await running.outbox.deliver_due() or await running.queue.work_one():
        pass
    answer = await running.host.answer_of(ticket.id)
    if answer is not None:
        waiting = [q for q in (await running.host.status()).open_questions if q.ticket_id == ticket.id]
        flags = [Flag(**flag) for q in waiting if q.kind is QuestionKind.SIGN_OFF for flag in q.payload["flags"]]
        print_answer(answer, flags)
    card = await running.host.card(f"ticket:{ticket.id}")
    console.print(foreign(getattr(card, "line", "")), style="dim")
