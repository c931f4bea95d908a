"""Works one ticket's refund with scripted people, and dies where it is told to (see `main` for how it is told).

The host asks the time before everything that it writes; a process that dies by SIGKILL when it asks for the N-th time dies, for
every N, between two writes. One that isn't told to die goes on from where the last one was ended until nothing moves, and says
how often the time was asked.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio

from bot import settings as settings_file
from bot import wiring
from bot.headless import STAFF, HeadlessDesk, Rules
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host.facade import Host
from host.types import Json, OutboxItem, Ticket
from host.views import TicketView
from models.port import Call, Reply, Request
from models.scripted import ScriptedModel

ROOT = Path(__file__).resolve().parents[3]
TICKET = "T-0004"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class MortalClock:
    """Implements `host.port.Clock`: the real time, a limited number of times."""

    def __init__(self, die_at: int | None) -> None:
        self.asked, self._die_at = 0, die_at

    def now(self) -> datetime:
        self.asked += 1
        if self.asked == self._die_at:
            die()
        return datetime.now(UTC)


class MortalDesk(HeadlessDesk):
    """Dies when it is to show a question of one kind; the people behind it approve, release and send."""

    def __init__(self, host: Host, die_asked: str) -> None:
        super().__init__(host, Rules("approve", "accept", sign_off=True))
        self._shown_by, self._die_asked = host, die_asked

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        if self._die_asked and item.key.startswith("question:"):
            card = await self._shown_by.card(item.key)
            question = getattr(card, "question", None)
            if question is not None and question.kind.value == self._die_asked:
                die()
        return await super().deliver(item)


def refund(request: Request) -> Reply:
    """A function of the request alone, as a model is: quote, issue, reply."""
    ticket = max(i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:"))
    said = "\n".join(m.content for m in request.messages[ticket:] if m.role == "tool")
    quote = re.search(r"Q-[0-9a-f]{10}", said)
    if quote is None:
        return _call("shop.quote_refund", {"order_id": "O-1145"})
    if "shop.issue_refund:" not in said:
        return _call("shop.issue_refund", {"quote_id": quote[0]})
    if "shop.issue_refund: result" in said:
        return _call("desk.reply", {"text": "Your refund of EUR 343.49 for order O-1145 has been requested."})
    return _call("desk.reply", {"text": "A colleague will look at your order."})


def _call(name: str, arguments: Mapping[str, Json]) -> Reply:
    return Reply(raw=f"<{name}>", calls=(Call(name, arguments),))


async def work(settings: Settings, ticket: Ticket, die_at: int | None, die_asked: str) -> None:
    clock = MortalClock(die_at)
    async with (
        ScriptedModel(refund) as model,
        wiring.running(settings, model, lambda host: MortalDesk(host, die_asked), clock=clock) as running,
    ):
        await running.queue.recover()
        await running.outbox.recover()
        await running.host.intake(ticket)
        card = await running.host.card(f"ticket:{TICKET}")
        if isinstance(card, TicketView) and card.run is None:
            await running.host.work(ticket.id, STAFF)
        with anyio.fail_after(60):
            while await running.queue.work_one() or await running.outbox.deliver_due():
                pass
    sys.stdout.write(f"asked {clock.asked}\n")
    sys.stdout.flush()


def main() -> int:
    """Each line of stdin is `STATE DIE_AT DIE_ASKED` (`-` for none): a fork of this process works there, then its end is told."""
    ticket = next(one for one in read_tickets(ROOT / "servers/shop/data/tickets.jsonl")[0] if one.id == TICKET)
    for line in sys.stdin:
        state, die_at, die_asked = line.split()
        child = os.fork()
        if child == 0:
            settings = settings_file.load(ROOT / "deskhand.toml", Path(state))
            shop_alone = settings.host.model_copy(update={"servers": {"shop": settings.host.servers["shop"]}})
            moment = None if die_at == "-" else int(die_at)
            anyio.run(work, replace(settings, host=shop_alone), ticket, moment, "" if die_asked == "-" else die_asked)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"ended {os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
