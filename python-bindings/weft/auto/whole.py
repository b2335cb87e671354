# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`WholeSearch`: of a program in text, whose layers and rows are what they are, each choice is compiled as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ..diagnostics import CompileError, brief
from ..errors import size_text
from ..predicted import Predicted
from .choices import Choice, divisors
from .planner import Planner
from .search import Estimate

# Micro-batches for each rank of a pipeline, and the most ranks of one.
_FILLS = (2, 4)
_MOST_STAGES = 8


class WholeSearch:
    """Of one program on a cluster."""

    def __init__(self, planner: Planner, memory_limit: int):
        self.planner, self._limit = planner, memory_limit
        self._found: dict[Choice, Predicted] = {}

    def prepare(self, devices: int, names: Iterable[str]) -> None:
        """Nothing is to be known before."""

    def choices(self, devices: int) -> Iterator[Choice]:
        """Without micro-batches, and pipelines that have some for each of their ranks."""
        structure = self.planner.structure
        rows = structure.rows()
        for tensor in (each for each in divisors(devices) if not each & (each - 1)):
            for split in range(len(structure.splits)) if tensor > 1 else (0,):
                for pipeline in (each for each in divisors(devices // tensor) if each <= _MOST_STAGES):
                    data = devices // tensor // pipeline
                    if rows % data:
                        continue
                    for states in structure.ways_to_rest if data > 1 else ("whole",):
                        for number in (1,) if pipeline == 1 else (each * pipeline for each in _FILLS):
                            if rows // data % number == 0:
                                yield Choice(pipeline=pipeline, data=data, tensor=tensor, split=split, states=states,
                                             microbatches=number, schedule="1f1b" if pipeline > 1 else "")

    def bound(self, choice: Choice) -> float:
        """Nothing is known before a choice is compiled."""
        return 0.0

    tighter_bound = bound

    def least(self, choice: Choice) -> Estimate:
        """Nothing is known before a choice is compiled."""
        return Estimate(choice, 0.0, 0, 0)

    def nearly(self, least: Estimate) -> Estimate:
        """No more."""
        return least

    def with_memory(self, found: Estimate, seconds: float, memory: float) -> Estimate:
        """Nothing is recomputed."""
        return found

    def estimate(self, choice: Choice) -> Estimate:
        """What it is predicted to take, whatever that is."""
        held = self.planner.structure.state_bytes(choice) / choice.pipeline
        if held > self._limit:
            return Estimate(choice, math.inf, held, 0, f"states alone take {size_text(held)} of memory")
        try:
            self._found[choice] = predicted = self.planner.predict(choice)
        except (CompileError, ValueError) as error:
            return Estimate(choice, math.inf, math.inf, 0, brief(error))
        reason = "" if predicted.memory <= self._limit else f"needs {size_text(predicted.memory)} of memory"
        return Estimate(choice, predicted.step, predicted.memory, 0, reason)

    def confirm(self, found: Estimate) -> tuple[Predicted, int]:
        """What was predicted already, and the limit under which it is recomputed: none."""
        return self._found[found.choice], 0
