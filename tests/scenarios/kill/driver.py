"""Works one ticket with scripted people, and dies where it is told to.

Each line of stdin is JSON: {"scene", "state", "when", "word", "number", "asked", "answer"}; a fork of this process works there
and dies at that moment (see `writes`), or, with "asked", when people are to be shown a question of that kind. One that isn't told
to die goes on from where the last one was ended until nothing moves; with "answer", people answer first what they were shown by
somebody else. What became of it is told on stdout: {"code", "writes"}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
from scenes import SCENES, Desk, MovedClock, Scene
from writes import Moment, Writes, die

from bot import settings as settings_file
from bot import wiring
from bot.headless import ADMIN, STAFF
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host import erasure, journal
from host.facade import Host
from host.records import close_days
from host.store import chains
from host.store import questions as question_rows
from host.types import Question, Ticket
from host.views import TicketView
from models.scripted import ScriptedModel

ROOT = Path(__file__).resolve().parents[3]


async def work(settings: Settings, scene: Scene, ticket: Ticket, state: Path, die_asked: str, answer: bool) -> None:
    clock = MovedClock(state)
    desks: list[Desk] = []

    def desk(host: Host) -> Desk:
        desks.append(Desk(host, state, scene.patient, die, die_asked))
        return desks[-1]

    async with (
        ScriptedModel(scene.script) as model,
        wiring.running(settings, model, desk, clock=clock) as running,
    ):
        await running.queue.recover()
        await running.outbox.recover()
        await running.host.intake(ticket)
        card = await running.host.card(f"ticket:{ticket.id}")
        if isinstance(card, TicketView) and card.run is None:
            await running.host.work(ticket.id, STAFF)
        with anyio.fail_after(60):
            if answer:
                await desks[0].answer_all(await waiting(running))
            await _settle(running)
            while scene.patient and await _moved(running, clock):
                await _settle(running)
        if scene.patient:
            async with running.store.read() as tx:
                closed = await chains.newest(tx, journal.HOUSE, "day_closed")
            if closed is None:
                clock.move_to(clock.now() + timedelta(days=1))
            await close_days(running.store, clock, ZoneInfo("UTC"))
            await _settle(running)
            await running.host.freeze("shop", ADMIN)
            await running.host.unfreeze("shop", ADMIN)
            await erasure.erase(running.store, clock, "C-0102", "admin-0001")
            await _settle(running)


async def waiting(running: wiring.Running) -> tuple[Question, ...]:
    async with running.store.read() as tx:
        return await question_rows.open_ones(tx)


async def _settle(running: wiring.Running) -> None:
    while await running.queue.work_one() or await running.outbox.deliver_due():
        pass


async def _moved(running: wiring.Running, clock: MovedClock) -> bool:
    """On to the next reminder of a question; False when none is open."""
    questions = await waiting(running)
    if not questions:
        return False
    clock.move_to(min((q.remind_at[q.reminded] if q.reminded < len(q.remind_at) else q.deadline) for q in questions))
    await running.queue.expire()
    return True


def one(order: dict[str, Any], nursery: str, tickets: dict[str, Ticket]) -> None:
    """In the child: to the end, or to its death."""
    word = order.get("word")
    writes = Writes(None if word is None else Moment(order["when"], word, order["number"]))
    scene, state = SCENES[order["scene"]], Path(order["state"])
    settings = settings_file.load(ROOT / "deskhand.toml", state)
    config = scene.configured(settings.host, state, nursery)
    ticket = replace(tickets[scene.ticket], sender_verified=scene.verified)
    anyio.run(work, replace(settings, host=config), scene, ticket, state, order.get("asked", ""), order.get("answer", False))
    print(json.dumps({"writes": writes.seen}), flush=True)


def main() -> None:
    tickets = {ticket.id: ticket for ticket in read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0]}
    with tempfile.TemporaryDirectory() as folder:
        door = str(Path(folder) / "nursery")
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), door]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as nursery:
            assert nursery.stdout is not None
            nursery.stdout.readline()
            for line in sys.stdin:
                child = os.fork()
                if child == 0:
                    one(json.loads(line), door, tickets)
                    os._exit(0)
                _, status = os.waitpid(child, 0)
                print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
