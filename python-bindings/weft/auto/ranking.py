# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Ranking`: the choices with the shortest estimated steps, of which as few as possible are estimated.

A choice is looked at up to four times: by a bound, by one of how tensors are shared, by what its layers take, and by all that
small programs say. Each is at least what the one before was, so the one that is least of all is looked at next, and is among
the best if it has been estimated."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from .choices import Choice
from .search import Estimate, Search

if TYPE_CHECKING:
    from .whole import WholeSearch


# How often a choice has been looked at when it is estimated.
_ESTIMATED = 4


class Ranking:
    """Of all choices for a number of devices."""

    def __init__(self, search: Search | WholeSearch, devices: int):
        self._search = search
        self.impossible: list[Estimate] = []
        """With reasons."""
        choices = list(search.choices(devices))
        self.looked_at = len(choices)
        # Seconds, the choice's number, how often it was looked at, and what was found.
        self._heap: list[tuple[float, int, int, Choice | Estimate]] = [
            (search.bound(each), number, 1, each) for number, each in enumerate(choices)]
        heapq.heapify(self._heap)

    @property
    def left(self) -> int:
        """Those that may be possible."""
        return len(self._heap)

    def find_below(self, most: float, has_pipeline: bool | None = None) -> Estimate | None:
        """The best, if it takes less than so many seconds; with or without a pipeline if that is said."""
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
        seconds, number, times, each = heapq.heappop(self._heap)
        if times == _ESTIMATED:
            return each
        if times == 1:
            found, seconds = each, max(seconds, self._search.tighter_bound(each))
        else:
            found = self._search.least(each) if times == 2 else self._search.estimate(each.choice)
            seconds = max(seconds, found.seconds)
            if found.reason:
                self.impossible.append(found)
                return None
        heapq.heappush(self._heap, (seconds, number, times + 1, found))
        return None


def _has_pipeline(each: Choice | Estimate) -> bool:
    return (each if isinstance(each, Choice) else each.choice).pipeline > 1
