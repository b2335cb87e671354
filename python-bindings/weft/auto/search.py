# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search: choices are estimated from small programs, and the best are compiled whole and predicted.

Small programs say what a layer takes without a pipeline (cells.py), and what ranks of one hold and send (staged.py). A
pipeline adds its bubble, and waits for the longest of its stages. What is confirmed in the end is the whole program."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

from ..diagnostics import CompileError
from ..errors import size_text
from ..predicted import Predicted
from .cells import MANY_TURNS, Cells, Line, filled, in_flight, seconds_of
from .choices import Choice, Structure, divisors
from .planner import Planner
from .staged import Pipelines

# Ranks along the batch's axis of the program of which named values are split.
_SMALL = 2
# The most rows of a micro-batch on a rank.
_MOST_ROWS = 16
# Ranks share tensors as long as twice as many of them take less than this part of the time.
_GAINS = 0.95
# How much of the activations of a layer recomputation can leave out, and what it adds to a step if all is recomputed.
_MOST_DROPPED = 0.95
_AGAIN = 1 / 3
# Stages wait for the one that recomputes most, and the compiler does not know how much each has to.
_OF_LONGEST = 3
# The part of the activations of programs without a pipeline that pipelines keep as well, at least.
_SURELY_KEPT = 0.9
# A step that takes so many times as long takes no more time.
_SAME_TIME = 1.01
_CHUNKS = (1, 2, 3, 4)
# Ranks share the positions of a sequence where each has at least so many.
_LEAST_POSITIONS = 8192


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Of a choice: seconds of a step, and bytes of the rank that has the most."""

    choice: Choice
    seconds: float
    memory: float
    dropped: float
    """The part of the activations that is recomputed."""
    reason: str = ""
    """Why it cannot be; empty if it can."""
    whole: tuple[float, float] = (0.0, 0.0)
    """Seconds and bytes without recomputation."""
    kept: tuple[float, float] = (0.0, 0.0)
    """Bytes that recomputation could leave out: of activations, and of what is made of weights once for all micro-batches."""
    is_compiled: bool = False
    """These are of the whole program, which does not fit without recomputation."""


class Search:
    """Of one program on a cluster."""

    def __init__(self, planner: Planner, memory_limit: int, layers: int):
        self.planner, self._limit, self._layers = planner, memory_limit, layers
        self._cells = Cells(planner)
        self._pipelines = Pipelines(planner, self._cells)
        self._microbatches: dict[Choice, float] = {}

    @property
    def structure(self) -> Structure:
        return self.planner.structure

    # Choices

    def choices(self, devices: int) -> Iterator[Choice]:
        """All that are looked at on so many devices."""
        rows = self.structure.rows()
        for tensor, split in self._tensors(devices):
            for context in self._contexts(devices // tensor):
                for pipeline in divisors(devices // tensor // context):
                    data = devices // tensor // context // pipeline
                    if pipeline > self._layers or rows % data:
                        continue
                    shared = Choice(pipeline=pipeline, data=data, context=context, tensor=tensor, split=split)
                    for choice in self._with_rows(shared):
                        yield from self._varied(choice)

    def _contexts(self, devices: int) -> list[int]:
        """Numbers of ranks that share the positions of sequences, if these are long."""
        positions = self.structure.positions
        return [each for each in divisors(devices)
                if each == 1 or positions and not each & (each - 1) and positions.size % each == 0
                and positions.size // each >= _LEAST_POSITIONS]

    def _tensors(self, devices: int) -> Iterator[tuple[int, int]]:
        """Numbers of ranks that share tensors, with the dimensions that these split, as long as more are faster."""
        yield 1, 0
        powers = [each for each in divisors(devices) if each > 1 and not each & (each - 1)]
        if not powers or not self.structure.splits:
            return
        split = self._best_split(powers[:3][-1])
        before = self._time_of(1, split)
        for tensor in powers:
            time = self._time_of(tensor, split)
            if time > _GAINS * before:
                return
            before = time
            yield tensor, split

    def _best_split(self, tensor: int) -> int:
        return min(range(len(self.structure.splits)), key=lambda each: self._time_of(tensor, each))

    def _time_of(self, tensor: int, split: int) -> float:
        """Of a micro-batch of one row."""
        cell = self._cells.alone(Choice(tensor=tensor, split=split))
        return math.inf if isinstance(cell, str) else cell.each.at(self._layers)

    def _with_rows(self, choice: Choice) -> Iterator[Choice]:
        of_rank = self.structure.rows() // choice.data
        for rows in (each for each in divisors(of_rank) if each <= _MOST_ROWS and not each & (each - 1)):
            microbatches = of_rank // rows
            if choice.pipeline == 1 or microbatches >= choice.pipeline:
                yield dataclasses.replace(choice, rows=rows, microbatches=microbatches)

    def _varied(self, choice: Choice) -> Iterator[Choice]:
        chunks = [each for each in _CHUNKS if choice.pipeline * each <= self._layers
                  and (each == 1 or choice.pipeline > 1 and choice.microbatches % choice.pipeline == 0)]
        sequences = (False, True) if choice.tensor > 1 and self.structure.named else (False,)
        for states in self._states(choice):
            for sequence in sequences:
                for number in chunks:
                    schedule = "" if choice.pipeline == 1 else "1f1b" if number == 1 else "interleaved-1f1b"
                    yield dataclasses.replace(choice, states=states, sequence=sequence, chunks=number, schedule=schedule)

    def _states(self, choice: Choice) -> Iterator[str]:
        """The ways that differ: of many ranks some can split nothing more than others."""
        seen: set[float] = set()
        for states in self.structure.ways_to_rest if choice.holders > 1 else ("whole",):
            held = self.structure.state_bytes(dataclasses.replace(choice, states=states))
            if held not in seen:
                seen.add(held)
                yield states

    # Estimates

    def bound(self, choice: Choice) -> float:
        """Seconds that no step is expected to be below: what one device computes, in equal parts, and the bubble."""
        seconds = self._microbatch(Choice(rows=choice.rows))
        return seconds * filled(choice) / (choice.tensor * choice.context * choice.pipeline)

    def tighter_bound(self, choice: Choice) -> float:
        """As well, where ranks that share a layer send each other the least that they can."""
        if choice.tensor == choice.context == 1:
            return self.bound(choice)
        shared = Choice(tensor=choice.tensor, split=choice.split, context=choice.context, rows=choice.rows,
                        microbatches=MANY_TURNS)
        sequences = (False, True) if choice.tensor > 1 and self.structure.named else (False,)
        seconds = min(self._microbatch(dataclasses.replace(shared, sequence=sequence)) for sequence in sequences)
        return seconds * filled(choice) / choice.pipeline

    def _microbatch(self, shared: Choice) -> float:
        """Seconds of one; 0 if that is not known."""
        if shared not in self._microbatches:
            cell = self._cells.of(shared)
            self._microbatches[shared] = 0.0 if isinstance(cell, str) else cell.each.at(self._layers)
        return self._microbatches[shared]

    def least(self, choice: Choice) -> Estimate:
        """Without what is sent along the batch's axis and by stages, and of memory only what states, gradients and activations
        in flight take: no estimate is expected to be below. It takes no more programs than the bounds do."""
        held = self._held(choice)
        if held > self._limit:
            return Estimate(choice, math.inf, held, 0, f"states and gradients alone take {size_text(held)} of memory")
        cell = self._cells.of(dataclasses.replace(choice, data=1, states="whole", stands_for=0, microbatches=MANY_TURNS))
        if isinstance(cell, str):
            return Estimate(choice, math.inf, math.inf, 0, cell)
        of_weights, kept = (_SURELY_KEPT * each / choice.pipeline for each in self._cells.kept(choice, self._layers))
        kept *= in_flight(choice)
        memory = held + kept + (of_weights if choice.states != "all" or choice.pipeline > 1 else 0)
        # What is done once a step is less of fewer micro-batches.
        seconds = seconds_of(choice, dataclasses.replace(cell, once=Line(0, 0)), self._layers)
        return self.with_memory(Estimate(choice, seconds, memory, 0, kept=_droppable(choice, of_weights, kept)), seconds, memory)

    def _held(self, choice: Choice) -> float:
        """Bytes of states, and of gradients where these are sums of several micro-batches."""
        held = self.structure.state_bytes(choice)
        if choice.microbatches > 1:
            held += self.structure.gradient_bytes(choice)
        return held / choice.pipeline

    def nearly(self, least: Estimate) -> Estimate:
        """As well, with what is sent along the batch's axis: all but what stages send, and what they hold."""
        cell = self._cells.of(least.choice)
        if isinstance(cell, str):
            return dataclasses.replace(least, seconds=math.inf, memory=math.inf, reason=cell)
        return self.with_memory(least, seconds_of(least.choice, cell, self._layers), least.whole[1])

    def estimate(self, choice: Choice) -> Estimate:
        """With all that is known of small programs."""
        found = self.least(choice)
        if not found.reason:
            found = self.nearly(found)
        if found.reason:
            return found
        return self._staged(found) if choice.pipeline > 1 else self._unstaged(found)

    def _unstaged(self, found: Estimate) -> Estimate:
        choice, cell = found.choice, self._cells.of(found.choice)
        found = dataclasses.replace(found, kept=_droppable(choice, *self._cells.kept(choice, self._layers)))
        return self.with_memory(found, found.whole[0], cell.memory.at(self._layers) - self._cells.fewer_bytes(choice))

    def _staged(self, found: Estimate) -> Estimate:
        choice, stages = found.choice, self._pipelines.of(found.choice)
        if isinstance(stages, str):
            return dataclasses.replace(found, seconds=math.inf, memory=math.inf, reason=stages)
        sending = stages.sending * choice.rows * choice.chunks * filled(choice)
        memory, kept = self._bytes(choice)
        return self.with_memory(dataclasses.replace(found, kept=_droppable(choice, 0, kept)), found.whole[0] + sending, memory)

    def _bytes(self, choice: Choice) -> tuple[float, float]:
        """Of a pipeline: those of the rank that has the most, and those of them that are of micro-batches in flight."""
        cell, of_a_row = self._cells.of(choice), self._cells.of(dataclasses.replace(choice, rows=1))
        temporaries = max(cell.temporaries.at(1) - of_a_row.temporaries.at(1), 0)
        memory, kept = self._pipelines.of(choice).bytes(choice, self._layers / choice.pipeline, temporaries)
        return memory - self._pipelines.fewer_bytes(choice) / choice.pipeline, kept

    def with_memory(self, found: Estimate, seconds: float, memory: float) -> Estimate:
        """With as much recomputation as a step takes that would take so many seconds and bytes without: as much of the
        activations as is too much, and if that is not enough of what is made of weights."""
        found = dataclasses.replace(found, seconds=seconds, memory=memory, dropped=0, whole=(seconds, memory))
        over, (kept, of_weights) = memory - self._limit, found.kept
        if over <= 0:
            return found
        if over > _MOST_DROPPED * (kept + of_weights):
            least = memory - _MOST_DROPPED * (kept + of_weights)
            return dataclasses.replace(found, seconds=math.inf, reason=(
                f"needs {size_text(memory)} of memory, and at least {size_text(least)} with recomputation"))
        dropped = min(over / kept, 1) if kept else 1
        more = min(dropped * _OF_LONGEST, 1) if found.choice.pipeline > 1 else dropped
        return dataclasses.replace(found, seconds=seconds * (1 + more * _AGAIN), memory=self._limit, dropped=dropped)

    # The whole program

    def prepare(self, devices: int, names: Iterable[str]) -> None:
        """Finds which of the named values to split along the axis that tensors are split over."""
        powers = [each for each in divisors(devices) if 1 < each <= 8 and not each & (each - 1)]
        if powers and self.structure.splits:
            self.find_named(names, powers[-1], self._best_split(powers[-1]))

    def confirm(self, found: Estimate) -> tuple[Predicted, int]:
        """Of the whole program, and the limit under which it is recomputed if it is known not to fit otherwise; else 0. Raises
        `CompileError`."""
        if found.is_compiled:
            return self.planner.predict(found.choice, memory_limit=self._limit), self._limit
        return self.planner.predict(found.choice), 0

    def find_named(self, names: Iterable[str], tensor: int, split: int) -> tuple[str, ...]:
        """Of what the program names, that which is worth being split along its second dimension where tensors are
        shared: a step takes less memory and no more time."""
        base = Choice(data=_SMALL, tensor=tensor, split=split, microbatches=2, rows=2)
        chosen: tuple[str, ...] = ()
        best = self.planner.predict(base, 2)
        for name in names:
            self.planner.structure = dataclasses.replace(self.structure, named=(*chosen, name))
            try:
                tried = self.planner.predict(dataclasses.replace(base, sequence=True), 2)
            except CompileError:
                continue
            if tried.memory < best.memory and tried.step <= _SAME_TIME * best.step:
                chosen, best = (*chosen, name), tried
        self.planner.structure = dataclasses.replace(self.structure, named=chosen)
        return chosen


def _droppable(choice: Choice, of_weights: float, kept: float) -> tuple[float, float]:
    """Bytes that recomputation could leave out. What pipelines make of weights once for all micro-batches they keep."""
    return kept, of_weights if choice.pipeline == 1 else 0
