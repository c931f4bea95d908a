"""The clock of the real world; the only place that asks what time it is."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """Implements `host.port.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)
