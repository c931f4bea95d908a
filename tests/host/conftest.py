"""A store on a fresh SQLite file, a clock that a test moves, and tickets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from host.store.engine import Store
from host.types import Ticket


class MovingClock:
    """Implements `host.port.Clock`; stands still until moved."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 6, 2, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(f"sqlite:///{tmp_path}/deskhand.db") as opened:
        yield opened


@pytest.fixture
def ticket() -> Ticket:
    return Ticket(
        id="T-9001",
        intake_key="file:T-9001",
        subject="A kettle that leaks",
        body="The kettle of order O-5501 leaks. Please refund it.",
        sender_mail="ines.moreau@example.com",
        sender_name="Ines Moreau",
        sender_verified=True,
        customer_id="C-0999",
        received_at=datetime(2026, 6, 2, 8, 0, tzinfo=UTC),
        language="en",
    )
