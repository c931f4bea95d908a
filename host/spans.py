"""Places in a text, laid beside one another.  Refuses to know what stands there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

Span = tuple[int, int]


class Spans:
    """Places in a text, asked whether another one touches any: in the time of a look into a sorted list, not of reading it."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []  # of each start, the furthest end so far
        for start, end in sorted(spans):
            self._starts.append(start)
            self._ends.append(max(end, self._ends[-1] if self._ends else end))

    def touch(self, span: Span) -> bool:
        before = bisect_left(self._starts, span[1])  # those that start before its end
        return before > 0 and self._ends[before - 1] > span[0]
