"""Working hours: when a question's reminders and its end fall (spec H20).  Pure; refuses to know questions and clocks.

Time is counted as it really passes, so that a day on which clocks are changed is as long as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from host.config import HoursConfig

HALF, FOUR_FIFTHS = 0.5, 0.8
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MIDNIGHT = 24 * 60
#: Read from disk at the first use of a zone; `HoursConfig` does that for the configured one when the settings are read.
_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Hours:
    """On `days` (0 is Monday), from minute `start` of the local day until minute `end`; 1440 is the next midnight."""

    zone: ZoneInfo
    days: frozenset[int]
    start: int
    end: int

    @classmethod
    def of(cls, config: HoursConfig | None) -> Hours:
        """The configured hours; None means round the clock."""
        if config is None:
            return cls(_UTC, frozenset(range(7)), 0, _MIDNIGHT)
        days = frozenset(_DAYS.index(day) for day in config.days)
        return cls(ZoneInfo(config.zone), days, _minutes(config.start), _minutes(config.end))

    def add(self, start: datetime, hours: float) -> datetime:
        """The first moment, in UTC, at which `hours` of working time have passed since `start` (which knows its zone).

        No hours end at `start` itself; any others end inside working hours or at the close of a day.
        """
        left = timedelta(hours=hours)
        now = start.astimezone(UTC)
        if left <= timedelta():
            return now
        for opening, closing in self._open(now):
            begin = max(now, opening)
            if begin + left <= closing:
                return begin + left
            left -= max(closing - begin, timedelta())
        raise AssertionError("there is always another day")

    def _open(self, start: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Opening and closing, in UTC, of each working day that ends after `start`."""
        day = start.astimezone(self.zone).date() - timedelta(days=1)
        while True:
            if day.weekday() in self.days:
                opening, closing = max(self._moments(day, self.start)), min(self._moments(day, self.end))
                if opening < closing and closing > start:
                    yield opening, closing
            day += timedelta(days=1)

    def _moments(self, day: date, minute: int) -> tuple[datetime, datetime]:
        """When the local clock shows this minute: twice on the night it is put back, and around a gap when it is skipped.

        Work begins at the later of the two and ends at the earlier, which is inside the hours either way.
        """
        local = datetime.combine(day + timedelta(days=minute // _MIDNIGHT), time(minute % _MIDNIGHT // 60, minute % 60))
        first, second = (local.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        return first, second


def moments(start: datetime, hours: float, config: HoursConfig | None) -> tuple[datetime, datetime, datetime]:
    """When half, four fifths and all of `hours` have passed since `start`, in UTC; round the clock when `config` is None."""
    working = _hours(config)
    return working.add(start, hours * HALF), working.add(start, hours * FOUR_FIFTHS), working.add(start, hours)


@lru_cache(maxsize=8)
def _hours(config: HoursConfig | None) -> Hours:
    return Hours.of(config)


def _minutes(text: str) -> int:
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)
