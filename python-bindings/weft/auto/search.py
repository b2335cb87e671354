# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search: all choices are estimated from small programs, and the best are compiled whole and predicted.

A step is `once + microbatches x each`, and both are linear in layers that are alike. So two programs, of one and two
layers, each simulated with two and three micro-batches, say what a step of any number takes for one way to share a layer;
what is sent along the batch's axis is priced anew for each number of ranks. A pipeline adds its bubble and keeps the activations of
the micro-batches in flight. What is confirmed in the end is the whole program."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

from ..compiled import Compiled
from ..diagnostics import CompileError, brief
from ..errors import size_text
from ..predicted import Predicted
from ..simulation import simulate
from .choices import DATA, Choice, Structure, divisors
from .planner import Planner

# Ranks along the batch's axis of the small programs.
_SMALL = 2
# Micro-batches of the small programs.
_LEAST_TURNS = 2
# Rows of a micro-batch of which small programs are made, beside one.
_MORE_ROWS = 4
# The most rows of a micro-batch on a rank.
_MOST_ROWS = 16
# Ranks share tensors as long as twice as many of them take less than this part of the time.
_GAINS = 0.95
# How much of the activations of a layer recomputation can leave out, and what it adds to a step if all is recomputed.
_MOST_DROPPED = 0.85
_AGAIN = 1 / 3
# A step that takes so many times as long takes no more time.
_SAME_TIME = 1.01
_CHUNKS = (1, 2, 3, 4)
# Ranks share the positions of a sequence where each has at least so many.
_LEAST_POSITIONS = 8192
# Ranks that are so far from each other are in different nodes of most clusters.
_NEAR = 8


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


@dataclasses.dataclass(frozen=True)
class _Line:
    """A number that is linear in layers."""

    at_none: float
    a_layer: float

    @staticmethod
    def through(one: float, two: float) -> _Line:
        return _Line(2 * one - two, two - one)

    def at(self, layers: float) -> float:
        return self.at_none + self.a_layer * layers


@dataclasses.dataclass(frozen=True)
class _Cell:
    """What the ranks that share a layer take: seconds once a step and for each micro-batch, and bytes."""

    once: _Line
    each: _Line
    memory: _Line
    activations: _Line

    def plus(self, less: _Cell, more: _Cell, times: float) -> _Cell:
        """With what two others differ by."""
        def moved(line: _Line, a: _Line, b: _Line) -> _Line:
            return _Line(line.at_none + times * (b.at_none - a.at_none), line.a_layer + times * (b.a_layer - a.a_layer))

        return _Cell(*(moved(*(getattr(cell, field.name) for cell in (self, less, more))) for field in dataclasses.fields(_Cell)))


def _filled(choice: Choice) -> float:
    """Micro-batches, and those for which a rank of a pipeline waits."""
    return choice.microbatches + (choice.pipeline - 1) / choice.chunks


class Search:
    """Of one program on a cluster."""

    def __init__(self, planner: Planner, memory_limit: int, layers: int):
        self.planner, self._limit, self._layers = planner, memory_limit, layers
        self._compiled: dict[tuple[Choice, tuple, int], Compiled] = {}
        self._cells: dict[Choice, _Cell | str] = {}
        self._sent: dict[Choice, float] = {}
        self._a_row: float | None = None

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
        cell = self._cell(Choice(tensor=tensor, split=split))
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
        """Seconds that no step with the choice is below: what one device computes, in equal parts, and the bubble."""
        if self._a_row is None:
            cells = {rows: self._cell(Choice(rows=rows)) for rows in (1, _MORE_ROWS)}
            self._a_row = min((cell.each.at(self._layers) / rows for rows, cell in cells.items() if not isinstance(cell, str)),
                              default=0.0)
        return self._a_row * choice.rows * _filled(choice) / (choice.tensor * choice.context * choice.pipeline)

    def estimate(self, choice: Choice, most: float = math.inf) -> Estimate:
        """What stages send to each other is left out where a step takes more seconds than `most` without."""
        held = self.structure.state_bytes(choice) / choice.pipeline
        if held > self._limit:
            return Estimate(choice, math.inf, held, 0, f"states alone take {size_text(held)} of memory")
        cell = self._cell_of(choice)
        if isinstance(cell, str):
            return Estimate(choice, math.inf, math.inf, 0, cell)
        memory, dropped = self._memory(choice, cell)
        if dropped > _MOST_DROPPED:
            least = memory - (dropped - _MOST_DROPPED) * self._in_flight(choice, cell)
            return Estimate(choice, math.inf, memory, dropped,
                            f"needs {size_text(memory)} of memory, and at least {size_text(least)} with recomputation")
        seconds = self._seconds(choice, cell, self._layers, dropped)
        if choice.pipeline > 1 and seconds <= most:
            seconds += self._sending(choice) * choice.rows * choice.chunks * _filled(choice)
        return Estimate(choice, seconds, min(memory, self._limit), dropped)

    def _seconds(self, choice: Choice, cell: _Cell, layers: int, dropped: float = 0) -> float:
        """Without what stages send to each other. They wait for the one with the most layers; what is before and behind all
        layers counts as some."""
        busy = cell.each.at(layers)
        if choice.pipeline > 1 and cell.each.a_layer > 0:
            chunk = math.ceil(busy / cell.each.a_layer / choice.stages - 1e-6)
            busy = choice.chunks * chunk * cell.each.a_layer
        return max(cell.once.at(layers), 0) / choice.pipeline + busy * (1 + dropped * _AGAIN) * _filled(choice)

    def _sending(self, choice: Choice) -> float:
        """Seconds that a pipeline takes more for a row of a micro-batch and a boundary: of two layers in two stages, whose
        ranks are as far from each other as those of the choice, if that is less than a node."""
        data = min(choice.data, max(1, _NEAR // (choice.tensor * choice.context)))
        small = Choice(pipeline=2, schedule="1f1b", data=data, context=choice.context, tensor=choice.tensor, split=choice.split,
                       microbatches=4, sequence=choice.sequence)
        if small not in self._sent:
            cell = self._cell_of(small)
            try:
                seconds = self.planner.predict(small, 2).step - self._seconds(small, cell, 2)
            except (CompileError, ValueError):
                seconds = 0.0
            self._sent[small] = max(seconds, 0) / _filled(small)
        return self._sent[small]

    def _in_flight(self, choice: Choice, cell: _Cell) -> float:
        """Bytes of activations of layers that a rank keeps for its micro-batches."""
        held = min(choice.microbatches, choice.pipeline)
        if choice.chunks > 1:
            held = min(choice.microbatches, choice.pipeline + (choice.pipeline - 1) / choice.chunks)
        return max(cell.activations.a_layer, 0) * self._layers / choice.pipeline * held

    def _memory(self, choice: Choice, cell: _Cell) -> tuple[float, float]:
        """Bytes, and the part of the activations that is too much."""
        small = dataclasses.replace(choice, data=min(choice.data, _SMALL), pipeline=1, stands_for=choice.data)
        whole = dataclasses.replace(choice, pipeline=1)
        fewer = (self.structure.state_bytes(small) - self.structure.state_bytes(whole)) / choice.pipeline
        a_layer = cell.memory.a_layer - cell.activations.a_layer
        rest = cell.memory.at_none + a_layer * self._layers / choice.pipeline - fewer
        kept = self._in_flight(choice, cell)
        over = rest + kept - self._limit
        return rest + kept, 0.0 if over <= 0 else over / kept if kept else math.inf

    def _cell_of(self, choice: Choice) -> _Cell | str:
        """Of how a layer is shared; a text if it cannot be. More rows and states in parts add what they add by themselves:
        what is gathered does not depend on rows."""
        plain = Choice(tensor=choice.tensor, split=choice.split, data=choice.data, context=choice.context)
        shared = dataclasses.replace(plain, sequence=choice.sequence)
        parts = [self._cell(shared)]
        if choice.rows > 1:
            parts.append(self._cell(dataclasses.replace(shared, rows=_MORE_ROWS)))
        if choice.states != "whole":
            parts += [self._cell(plain), self._cell(dataclasses.replace(plain, states=choice.states))]
        problem = next((each for each in parts if isinstance(each, str)), None)
        if problem:
            return problem
        cell = parts[0]
        if choice.rows > 1:
            cell = cell.plus(parts[0], parts[1], (choice.rows - 1) / (_MORE_ROWS - 1))
        return cell.plus(*parts[-2:], 1) if choice.states != "whole" else cell

    def _cell(self, choice: Choice) -> _Cell | str:
        if choice not in self._cells:
            try:
                self._cells[choice] = self._measure(choice)
            except (CompileError, ValueError) as error:
                self._cells[choice] = brief(error)
        return self._cells[choice]

    def _measure(self, choice: Choice) -> _Cell:
        small = dataclasses.replace(choice, data=min(choice.data, _SMALL), microbatches=_LEAST_TURNS, stands_for=choice.data)
        steps = {(layers, number): self._step(small, layers, number, choice.data) for layers in (1, 2) for number in (2, 3)}

        def line(of) -> _Line:
            return _Line.through(of(1), of(2))

        return _Cell(once=line(lambda k: 3 * steps[k, 2][0] - 2 * steps[k, 3][0]),
                     each=line(lambda k: steps[k, 3][0] - steps[k, 2][0]),
                     memory=line(lambda k: steps[k, 2][1]["arena_bytes"]),
                     activations=line(lambda k: steps[k, 2][1]["peak_bytes"].get("activations", 0)))

    def _step(self, choice: Choice, layers: int, microbatches: int, data: int) -> tuple[float, dict]:
        """Predicted seconds with so many micro-batches, and ranks along the batch's axis, and memory."""
        scaled = (DATA, [data]) if choice.data != data else ("", [])
        step = simulate(self._small(choice, layers), self.planner.cluster, scale=scaled, turns=(_LEAST_TURNS, microbatches))
        seconds = step["scale"][0]["step_seconds"] if scaled[0] else step["step_seconds"]
        return seconds, step["memory"]

    def _small(self, choice: Choice, layers: int) -> Compiled:
        """Of few layers; one for all numbers of ranks that can split the same."""
        plain = dataclasses.replace(choice, stands_for=0)
        specs, usual = (tuple(self.structure.specs(each).values()) for each in (choice, plain))
        key = plain, specs if specs != usual else (), layers
        if key not in self._compiled:
            self._compiled[key] = self.planner.compile(choice, layers)
        return self._compiled[key]

    # The whole program

    def prepare(self, devices: int, names: Iterable[str]) -> None:
        """Finds which of the named values to split along the axis that tensors are split over."""
        powers = [each for each in divisors(devices) if 1 < each <= 8 and not each & (each - 1)]
        if powers and self.structure.splits:
            self.find_named(names, powers[-1], self._best_split(powers[-1]))

    def confirm(self, found: Estimate) -> tuple[Predicted, int]:
        """Of the whole program, and the limit under which it is recomputed; 0 if it is not. Raises `CompileError`."""
        if not found.dropped:
            predicted = self.planner.predict(found.choice)
            if predicted.memory <= self._limit:
                return predicted, 0
        return self.planner.predict(found.choice, memory_limit=self._limit), self._limit

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
