# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Ranking`: the choices with the shortest estimated steps, of which as few as possible are estimated.

A choice is looked at up to five times: by a bound, by one of how tensors are shared, by what its layers take, by what the
batch's axis adds, and by all that small programs say. Each is at least what the one before was, so the one that is least of
all is looked at next, and is among the best if it has been estimated. What a plan that was compiled says of the estimates of
its kind (confirmation.py), it says of their bounds as well."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

from .choices import Choice
from .search import Estimate, Search

if TYPE_CHECKING:
    from .whole import WholeSearch


# How often a choice has been looked at when it is estimated.
_ESTIMATED = 5


class Ranking:
    """Of all choices for a number of devices."""

    def __init__(self, search: Search | WholeSearch, devices: int):
        self._search = search
        self.impossible: list[Estimate] = []
        """With reasons."""
        bounds = [(each, search.bound(each)) for each in search.choices(devices)]
        self.looked_at = len(bounds)
        # Seconds that are expected, the choice's number, how often it was looked at, what was found, and its seconds.
        self._heap: list[tuple[float, int, int, Choice | Estimate, float]] = [
            (seconds, number, 1, each, seconds) for number, (each, seconds) in enumerate(bounds)]
        heapq.heapify(self._heap)
        self._expected: Callable[[Choice | Estimate, float], float] = lambda _, seconds: seconds

    @property
    def left(self) -> int:
        """Those that may be possible."""
        return len(self._heap)

    def expect(self, expected: Callable[[Choice | Estimate, float], float]) -> None:
        """How many seconds to expect, given what was found and its seconds; until this is called, those themselves."""
        self._expected = expected
        self._heap = [(expected(each, seconds), number, times, each, seconds) for _, number, times, each, seconds in self._heap]
        heapq.heapify(self._heap)

    def find_below(self, most: float, has_pipeline: bool | None = None) -> Estimate | None:
        """The best, if it is expected to take less than so many seconds; with or without a pipeline if that is said."""
        others = [each for each in self._heap if has_pipeline not in (None, _has_pipeline(each[3]))]
        if others:
            self._heap = [each for each in self._heap if _has_pipeline(each[3]) == has_pipeline]
            heapq.heapify(self._heap)
        found = None
        while found is None and self._heap and self._heap[0][0] < most:
            found = self._look_at_next()
        if others:
            self._heap += others
            heapq.heapify(self._heap)
        return found

    def estimated(self, most: int, least: int) -> list[Estimate]:
        """At most so many that have been estimated; the most promising are if there are too few."""
        found = sorted((each for each in self._heap if each[2] == _ESTIMATED), key=lambda each: each[:3])[:most]
        self._heap = [each for each in self._heap if each not in found]
        heapq.heapify(self._heap)
        estimates = [each[3] for each in found]
        while self._heap and len(estimates) < least:
            if each := self._look_at_next():
                estimates.append(each)
        return estimates

    def _look_at_next(self) -> Estimate | None:
        """An estimate if it is among the best."""
        least, number, times, each, seconds = heapq.heappop(self._heap)
        if times == _ESTIMATED:
            return each
        if times == 1:
            found, seconds = each, max(seconds, self._search.tighter_bound(each))
        else:
            found = (self._search.least(each) if times == 2 else self._search.nearly(each) if times == 3 else
                     self._search.estimate(each.choice))
            seconds = max(seconds, found.seconds)
            if found.reason:
                self.impossible.append(found)
                return None
        heapq.heappush(self._heap, (max(least, self._expected(found, seconds)), number, times + 1, found, seconds))
        return None


def _has_pipeline(each: Choice | Estimate) -> bool:
    return (each if isinstance(each, Choice) else each.choice).pipeline > 1
