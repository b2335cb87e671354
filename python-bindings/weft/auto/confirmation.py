# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Confirmation`: which of the estimated choices are compiled whole.

Estimates of pipelines miss more than others do, and are mostly too low: they know nothing of the imbalance of a cut.
So a plan that was compiled corrects the estimates of its kind, and of a kind that nothing is known of the best is compiled,
too, before it is believed to be slower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..diagnostics import CompileError, brief
from .answer import AutoPlan
from .search import Estimate, Search

if TYPE_CHECKING:
    from .whole import WholeSearch

# So many times as many are compiled, as long as others are expected to be faster.
_MOST = 2
# The best of a kind that nothing is known of is not compiled if it is estimated to take so many times as long.
_FAR = 1.5


class Confirmation:
    """Of the choices that are possible, the fastest first."""

    def __init__(self, search: Search | WholeSearch, possible: Sequence[Estimate], limit: int):
        self._search, self._limit = search, limit
        self.left = [*possible]
        """Those that were not compiled."""
        self.plans: list[AutoPlan] = []
        self.failed: list[str] = []
        """Why others that were compiled are no plans."""
        self._missed: dict[bool, float] = {}
        """By kind: how many times as long as estimated a step takes, at least."""
        self._tried: set[bool] = set()
        """Kinds."""

    def run(self, number: int) -> None:
        """At least so many, if there are."""
        while (each := self._next(number)) is not None:
            self.left.remove(each)
            self._confirm(each)

    def _next(self, number: int) -> Estimate | None:
        each = min(self.left, key=self._expected, default=None)
        best = min((plan.step_seconds for plan in self.plans), default=math.inf)
        if each is None or len(self.plans) < number:
            return each
        if self._expected(each) < best and len(self.plans) < _MOST * number:
            return each
        return next((each for each in self.left if _kind(each) not in self._tried and each.seconds < _FAR * best), None)

    def _expected(self, each: Estimate) -> float:
        return each.seconds * self._missed.get(_kind(each), 1.0)

    def _confirm(self, each: Estimate) -> None:
        self._tried.add(_kind(each))
        try:
            predicted, recomputed = self._search.confirm(each)
        except CompileError as error:
            self.failed.append(brief(error))
            return
        if predicted.memory > self._limit:
            self.failed.append("takes more memory than a device has")
            return
        self.plans.append(AutoPlan(self._search.planner, each, predicted, recomputed or None))
        self._missed[_kind(each)] = min(predicted.step / each.seconds, self._missed.get(_kind(each), math.inf))


def _kind(each: Estimate) -> bool:
    """Whether it has a pipeline."""
    return each.choice.pipeline > 1
