"""What an adapter of the mailroom fulfils: tickets in, replies out (spec B11).  Knows no host beyond its types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from host.types import Json, Ticket


@dataclass(frozen=True, slots=True)
class Reply:
    """A signed-off reply as the customer gets it. `question_id` is the sign-off's: a ticket and it name one reply for ever."""

    ticket_id: str
    question_id: str
    to: str
    sender: str
    subject: str
    body: str


class Inbox(Protocol):
    """A way in. Yields the same ticket again after a restart: the host knows it by its intake key."""

    def tickets(self) -> AsyncIterator[Ticket]: ...


class Outgoing(Protocol):
    """A way out, at most once per reply (spec H27)."""

    async def send(self, reply: Reply) -> Mapping[str, Json]:
        """Bring it out and return its receipt {"receipt", "sent_at", …}; the same reply again returns the first receipt.

        Raises `host.port.Undelivered` when it certainly did not leave, `DeliveryUnknown` when it may have.
        """
        ...

    async def find(self, reply: Reply) -> Mapping[str, Json] | None:
        """The receipt of this reply if it left already, None if it did not or if this way out can't tell."""
        ...
