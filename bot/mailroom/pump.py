"""Carries tickets from an inbox to the host: nothing is lost when the host can't take one just now.

One of the process's edges: whatever goes wrong with one ticket never ends the task, and with it the bot.
"""

from __future__ import annotations

import logging
from itertools import chain, repeat
from typing import Protocol

import anyio

from bot.mailroom.port import Inbox
from host.errors import where
from host.types import Ticket

log = logging.getLogger(__name__)
_WAITS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # seconds


class Intake(Protocol):
    async def intake(self, ticket: Ticket) -> bool: ...


async def take_in(inbox: Inbox, host: Intake) -> None:
    """Runs for ever; stop by cancelling. A ticket known already is left as it is (spec B11)."""
    async for ticket in inbox.tickets():
        fresh = await _until_taken(host, ticket)
        log.info("ticket_intake source=%s new=%s", ticket.source, fresh)


async def _until_taken(host: Intake, ticket: Ticket) -> bool:
    waits = chain(_WAITS, repeat(_WAITS[-1]))
    while True:
        try:
            return await host.intake(ticket)
        except Exception as error:  # noqa: BLE001  the process's edge: a database that is busy now is not busy for ever
            wait = next(waits)
            log.warning("ticket_intake failed error=%s at %s; tried again in %s s", type(error).__name__, where(error), wait)
            await anyio.sleep(wait)
