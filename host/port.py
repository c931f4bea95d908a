"""What outsiders implement for the host: a desk where people are shown things, and a clock.

The host never knows Slack, mail or a terminal; `bot.surface` and the headless desk stand behind `Desk`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

from host.types import Json, OutboxItem, RoleName


class Desk(Protocol):
    """Takes what must reach people or customers. Called by `host.outbox` alone, one item of a key at a time."""

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        """Bring one item out and return its receipt, kept and handed back with the next item of the same key.

        Raises `Undelivered` when it certainly did not arrive (it is tried again) and `DeliveryUnknown` when it may have.
        """
        ...


class Undelivered(Exception):
    """It certainly did not arrive. `retry_after` is in seconds; `final` means that trying again is useless."""

    def __init__(self, why: str, retry_after: float = 5.0, final: bool = False) -> None:
        super().__init__(why)
        self.retry_after = retry_after
        self.final = final


class DeliveryUnknown(Exception):
    """It may have arrived: look before trying again (spec B10); a customer's mail is never tried again (spec H27)."""


class People(Protocol):
    """Who could decide, for the warning that nobody can (spec H19). Whether somebody may
    decide is their own roles' matter."""

    async def holding(self, roles: Collection[RoleName]) -> frozenset[str] | None:
        """The users who hold any of these roles now; None when it can't be told."""
        ...


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, with its zone."""
        ...
