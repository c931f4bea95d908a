"""When a question is reminded of and ends, counted in working hours (spec H20)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config import HoursConfig
from host.hours import Hours, moments

AMSTERDAM = ZoneInfo("Europe/Amsterdam")
OFFICE = HoursConfig(zone="Europe/Amsterdam")
NIGHTS = HoursConfig(zone="Europe/Amsterdam", days=("sat", "sun"), start="00:00", end="24:00")
CONFIGS = (
    OFFICE,
    NIGHTS,
    None,
    HoursConfig(zone="Europe/Amsterdam", days=("sun",), start="02:30", end="06:00"),
    HoursConfig(zone="Europe/Amsterdam", days=("sun", "mon"), start="00:00", end="02:30"),
    HoursConfig(zone="Australia/Lord_Howe", days=("mon", "sat", "sun"), start="01:45", end="13:15"),
    HoursConfig(zone="America/St_Johns", days=("wed",), start="23:00", end="24:00"),
    HoursConfig(zone="Pacific/Apia", days=("thu", "fri", "sat"), start="08:00", end="16:30"),
)


def local(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=AMSTERDAM)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("start", "hours", "end"),
    [
        (local(2026, 6, 2, 9, 0), 8, local(2026, 6, 2, 17, 0)),
        (local(2026, 6, 2, 9, 0), 8.5, local(2026, 6, 3, 9, 30)),
        (local(2026, 6, 2, 16, 0), 2, local(2026, 6, 3, 10, 0)),
        (local(2026, 6, 2, 7, 15), 1, local(2026, 6, 2, 10, 0)),
        (local(2026, 6, 2, 22, 0), 1, local(2026, 6, 3, 10, 0)),
        (local(2026, 6, 5, 16, 0), 2, local(2026, 6, 8, 10, 0)),  # over a weekend
        (local(2026, 6, 6, 12, 0), 40, local(2026, 6, 12, 17, 0)),  # asked on a Saturday, a whole week
        (local(2026, 3, 27, 16, 0), 2, local(2026, 3, 30, 10, 0)),  # clocks go forward that weekend
        (local(2026, 10, 23, 16, 0), 2, local(2026, 10, 26, 10, 0)),  # and back
        (local(2026, 12, 31, 16, 0), 2, local(2027, 1, 1, 10, 0)),  # public holidays aren't known
        (local(2026, 6, 2, 20, 0), 0, local(2026, 6, 2, 20, 0)),
    ],
)
def test_office_hours_are_counted_over_nights_weekends_and_changed_clocks(start: datetime, hours: float, end: datetime) -> None:
    assert Hours.of(OFFICE).add(start, hours) == end


def test_a_day_on_which_clocks_change_is_as_long_as_it_was() -> None:
    nights = Hours.of(NIGHTS)
    assert nights.add(local(2026, 3, 29, 0, 0), 23) == local(2026, 3, 30, 0, 0)
    assert nights.add(local(2026, 10, 25, 0, 0), 25) == local(2026, 10, 26, 0, 0)
    assert nights.add(local(2026, 6, 7, 0, 0), 24) == local(2026, 6, 8, 0, 0)


def test_work_that_begins_or_ends_in_the_hour_that_is_skipped_or_comes_twice_stays_inside() -> None:
    early, late = Hours.of(CONFIGS[4]), Hours.of(CONFIGS[3])  # until 02:30, and from 02:30
    assert early.add(local(2026, 3, 29, 0, 0), 2) == local(2026, 3, 30, 0, 30)  # 02:30 never comes: over at 01:30
    assert late.add(local(2026, 10, 25, 0, 0), 1) == datetime(2026, 10, 25, 2, 30, tzinfo=UTC)  # from the second 02:30 on


def test_round_the_clock_is_plain_time() -> None:
    start = datetime(2026, 3, 28, 23, 59, 59, 5, tzinfo=UTC)
    assert Hours.of(None).add(start, 100.25) == start + timedelta(hours=100.25)


def test_reminders_fall_at_half_and_four_fifths_of_the_working_time() -> None:
    asked = local(2026, 6, 5, 12, 0)  # a Friday: five hours left, then Monday
    half, most, end = moments(asked, 10, OFFICE)
    assert (half, most, end) == (local(2026, 6, 5, 17, 0), local(2026, 6, 8, 12, 0), local(2026, 6, 8, 14, 0))
    assert [moment - asked for moment in moments(asked, 10, None)] == [timedelta(hours=h) for h in (5, 8, 10)]


STARTS = st.datetimes(datetime(2025, 1, 1), datetime(2028, 12, 31), timezones=st.just(UTC))
AROUND_CHANGES = st.sampled_from(
    [datetime(2026, 3, 29, 0, 0, tzinfo=UTC), datetime(2026, 10, 25, 0, 0, tzinfo=UTC), datetime(2026, 4, 4, 14, 0, tzinfo=UTC)]
).flatmap(lambda moment: st.timedeltas(timedelta(hours=-30), timedelta(hours=30)).map(lambda by: moment + by))
MINUTES = st.integers(0, 60 * 24 * 20)


@given(st.sampled_from(CONFIGS), STARTS | AROUND_CHANGES, MINUTES, MINUTES)
def test_hours_add_up_and_never_go_back(config: HoursConfig | None, start: datetime, one: int, two: int) -> None:
    hours = Hours.of(config)
    end = hours.add(start, one / 60)
    assert end >= start
    assert abs(hours.add(end, two / 60) - hours.add(start, (one + two) / 60)) < timedelta(milliseconds=1)
    assert hours.add(start, (one + 1) / 60) > end
    assert hours.add(start + timedelta(minutes=two), one / 60) >= end


@given(st.sampled_from(CONFIGS), STARTS | AROUND_CHANGES, st.integers(1, 60 * 24 * 20))
def test_time_never_ends_outside_of_working_hours(config: HoursConfig | None, start: datetime, minutes: int) -> None:
    hours = Hours.of(config)
    end = hours.add(start, minutes / 60)
    before = (end - timedelta(microseconds=1)).astimezone(hours.zone)  # the end of a day still belongs to it
    assert before.weekday() in hours.days
    assert hours.start <= before.hour * 60 + before.minute < hours.end
