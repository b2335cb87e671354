# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Confirmation`: which of the estimated choices are compiled whole.

Estimates miss what a plan takes, those of pipelines more than others, which know little of how the compiler cuts. So a plan
that was compiled corrects the estimates of its kind, of time and of memory, and of a kind that nothing is known of the best
is compiled, too, if it is nearly as fast. What turns out not to fit is not recomputed at once, which takes several times as
long to compile, but only when it is the best that is left with what recomputation adds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import CompileError, brief
from ..predicted import Predicted
from .answer import AutoPlan
from .choices import Choice
from .search import Estimate, Search

if TYPE_CHECKING:
    from .ranking import Ranking
    from .whole import WholeSearch

# So many times as many are compiled, as long as others are expected to be faster.
_MOST = 2
# The best of a kind that nothing is known of is not compiled if it is estimated to take so many times as long.
_FAR = 1.1
# What is estimated to take more than this part of the memory may not fit, and is worth being compiled if it is so many times
# as fast.
_SURELY_FITS, _FASTER = 0.98, 1.05
# So many of those that are estimated not to fit are tried where nothing else is found.
_LAST = 3


class Confirmation:
    """Of the choices that are possible, the fastest first."""

    def __init__(self, search: Search | WholeSearch, possible: Sequence[Estimate], limit: int, ranking: Ranking | None = None):
        """`ranking` has the choices beside those given."""
        self._search, self._limit, self._ranking = search, limit, ranking
        self.left = [*possible]
        """Those that were not compiled."""
        self.plans: list[AutoPlan] = []
        self.impossible: list[Estimate] = []
        """Those that were compiled, and do not fit."""
        self.failed: list[str] = []
        """Why others that were compiled are no plans."""
        self._missed: dict[bool, float] = {}
        """By kind: how many times as long as estimated a step takes, at least."""
        self._larger: dict[bool, float] = {}
        """By kind: how many times as much memory as estimated a rank takes, at least."""
        self._tried: set[bool] = set()
        """Kinds."""
        self._compiled = 0
        """How many were, of plans or not."""

    def run(self, number: int) -> None:
        """So many, if there are, or more that are expected to be faster."""
        while (each := self._next(number)) is not None:
            self.left.remove(each)
            self._confirm(each)

    def try_recomputing(self, impossible: Iterable[Estimate]) -> None:
        """Those of which estimates say that they fit by no recomputation, the smallest first, up to the first that does."""
        for each in sorted((each for each in impossible if each.whole[1]), key=lambda each: each.memory)[:_LAST]:
            if not self.plans:
                self._confirm(dataclasses.replace(each, is_compiled=True, dropped=1))

    def _next(self, number: int) -> Estimate | None:
        best = min((plan.step_seconds for plan in self.plans), default=math.inf)
        most = best if len(self.plans) >= number else math.inf
        if self._ranking is not None:
            self._look_below(most, best)
        each = min(self.left, key=self._expected, default=None)
        if each is not None and (not self.plans or self._compiled < _MOST * number) and self._expected(each) < most:
            return each
        others = [each for each in self.left if _kind(each) not in self._tried and each.seconds < _FAR * best]
        return min(others, key=self._expected, default=None)

    def _look_below(self, most: float, best: float) -> None:
        """For what is expected to take less than so many seconds, and less than what is left; and for the best of a kind
        that nothing is known of."""
        least = min(map(self._expected, self.left), default=math.inf)
        while (found := self._ranking.find_below(min(most, least))) is not None:
            self.left.append(found)
            least = min(least, self._expected(found))
        for kind in (False, True):
            if self.plans and kind not in self._tried and not any(_kind(each) == kind for each in self.left):
                self.left += filter(None, [self._ranking.find_below(_FAR * best, kind)])

    def _expected(self, each: Estimate) -> float:
        """Seconds, by what is known of its kind, and more if it may not fit."""
        if each.is_compiled:
            return each.seconds
        kind, (seconds, memory) = _kind(each), _whole(each)
        risk = _FASTER if memory > _SURELY_FITS * self._limit else 1
        if kind not in self._missed:
            return risk * each.seconds
        if each.dropped or memory * self._larger[kind] > self._limit:
            return risk * self._search.with_memory(each, seconds * self._missed[kind], memory * self._larger[kind]).seconds
        return risk * each.seconds * self._missed[kind]

    def _bound(self, each: Choice | Estimate, seconds: float) -> float:
        """Of a choice that takes at least so many seconds by what is known of small programs."""
        if isinstance(each, Estimate):
            return self._expected(each) if _kind(each) in self._missed else seconds
        return seconds * self._missed.get(each.pipeline > 1, 1)

    def _confirm(self, each: Estimate) -> None:
        self._tried.add(_kind(each))
        self._compiled += 1
        try:
            predicted, recomputed = self._search.confirm(each)
        except CompileError as error:
            self.failed.append(brief(error))
            return
        if predicted.memory <= self._limit:
            self.plans.append(AutoPlan(self._search.planner, each, predicted, recomputed or None))
        if not each.is_compiled:
            self._learn(each, predicted)
            if predicted.memory > self._limit:
                self._recompute(each, predicted)

    def _learn(self, each: Estimate, predicted: Predicted) -> None:
        kind, (seconds, memory) = _kind(each), _whole(each)
        if seconds and memory:
            self._missed[kind] = min(predicted.step / seconds, self._missed.get(kind, math.inf))
            self._larger[kind] = min(predicted.memory / memory, self._larger.get(kind, math.inf))
            if self._ranking is not None:
                self._ranking.expect(self._bound)

    def _recompute(self, each: Estimate, predicted: Predicted) -> None:
        """It may be the best with recomputation as well."""
        again = dataclasses.replace(self._search.with_memory(each, predicted.step, predicted.memory), is_compiled=True)
        (self.impossible if again.reason else self.left).append(again)


def _kind(each: Estimate) -> bool:
    """Whether it has a pipeline."""
    return each.choice.pipeline > 1


def _whole(each: Estimate) -> tuple[float, float]:
    """Seconds and bytes without recomputation."""
    return each.whole if each.whole[1] else (each.seconds, each.memory)
