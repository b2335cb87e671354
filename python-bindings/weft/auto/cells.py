# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Cells`: what ranks that share a layer take, of small programs.

A step is `once + microbatches x each`, and both are linear in layers that are alike. So two programs, of one and two
layers, each simulated with two and three micro-batches, say what a step of any number takes for one way to share a layer;
what is sent along the batch's axis is priced anew for each number of ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..compiled import Compiled
from ..diagnostics import CompileError, brief
from ..simulation import simulate
from .choices import DATA, Choice, Structure
from .planner import Planner

# Ranks along the batch's axis of the small programs.
_SMALL = 2
# Rows of a micro-batch of which small programs are made, beside one.
_MORE_ROWS = 4
# Micro-batches of the small programs, and from how many on they stand for a choice's. What is gathered once for all
# micro-batches, because that is less than gathering it for each, depends on how many there are.
_TURNS = ((2, 0), (12, 6), (64, 32))
MANY_TURNS = _TURNS[-1][0]


def turns(microbatches: int) -> int:
    """Micro-batches of the small programs that stand for so many."""
    return max(number for number, least in _TURNS if microbatches >= least)


@dataclasses.dataclass(frozen=True)
class Line:
    """A number that is linear in layers."""

    at_none: float
    a_layer: float

    @staticmethod
    def through(one: float, two: float) -> Line:
        """Of one and of two layers."""
        return Line(2 * one - two, two - one)

    @staticmethod
    def between(layers: Sequence[float], values: Sequence[float]) -> Line:
        """Of two numbers of layers."""
        a_layer = (values[1] - values[0]) / (layers[1] - layers[0]) if layers[0] != layers[1] else 0.0
        return Line(values[0] - a_layer * layers[0], a_layer)

    def at(self, layers: float) -> float:
        return self.at_none + self.a_layer * layers


@dataclasses.dataclass(frozen=True)
class Cell:
    """What the ranks that share a layer take: seconds once a step and for each micro-batch, and bytes."""

    once: Line
    each: Line
    memory: Line
    activations: Line
    """The most that there is of them at one time."""
    temporaries: Line
    """As well, with buffers of communication."""

    def plus(self, less: Cell, more: Cell, times: float) -> Cell:
        """With what two others differ by."""
        def moved(line: Line, a: Line, b: Line) -> Line:
            return Line(line.at_none + times * (b.at_none - a.at_none), line.a_layer + times * (b.a_layer - a.a_layer))

        return Cell(*(moved(*(getattr(cell, field.name) for cell in (self, less, more))) for field in dataclasses.fields(Cell)))

    def no_faster(self, whole: Cell) -> Cell:
        """Than one with states whole: what a layer more takes of a micro-batch is no less with states in parts. Where it is
        measured to be, the second layer hides what is sent behind the first."""
        a_layer = whole.each.a_layer
        return self if self.each.a_layer >= a_layer else dataclasses.replace(self, each=Line(self.each.at(2) - 2 * a_layer, a_layer))


class Cells:
    """Of one program on a cluster."""

    def __init__(self, planner: Planner):
        self.planner = planner
        self._compiled: dict[tuple, Compiled] = {}
        self._cells: dict[Choice, Cell | str] = {}

    @property
    def structure(self) -> Structure:
        return self.planner.structure

    def of(self, choice: Choice) -> Cell | str:
        """Of how a layer is shared; a text if it cannot be. More rows and states in parts add what they add by themselves:
        what is gathered does not depend on rows."""
        plain = Choice(tensor=choice.tensor, split=choice.split, data=choice.data, context=choice.context,
                       microbatches=turns(choice.microbatches))
        shared = dataclasses.replace(plain, sequence=choice.sequence)
        parts = [self.alone(shared)]
        if choice.rows > 1:
            parts.append(self.alone(dataclasses.replace(shared, rows=_MORE_ROWS)))
        if choice.states != "whole":
            parts += [self.alone(plain), self.alone(dataclasses.replace(plain, states=choice.states))]
        problem = next((each for each in parts if isinstance(each, str)), None)
        if problem:
            return problem
        cell = parts[0]
        if choice.rows > 1:
            cell = cell.plus(parts[0], parts[1], (choice.rows - 1) / (_MORE_ROWS - 1))
        return cell.plus(parts[-2], parts[-1].no_faster(parts[-2]), 1) if choice.states != "whole" else cell

    def kept(self, choice: Choice, layers: int) -> tuple[float, float]:
        """Bytes of activations of so many layers: those that do not depend on rows, as what is made of weights for all
        micro-batches, and those that do, which recomputation could leave out."""
        shared = Choice(tensor=choice.tensor, split=choice.split, context=choice.context, microbatches=MANY_TURNS,
                        sequence=choice.sequence)
        one, more = self.alone(shared), self.alone(dataclasses.replace(shared, rows=_MORE_ROWS))
        if isinstance(one, str) or isinstance(more, str):
            return 0.0, 0.0
        a_row = max((more.activations.a_layer - one.activations.a_layer) / (_MORE_ROWS - 1), 0)
        return max(one.activations.a_layer - a_row, 0) * layers, a_row * choice.rows * layers

    def alone(self, choice: Choice) -> Cell | str:
        """Of small programs of this choice."""
        if choice not in self._cells:
            try:
                self._cells[choice] = self._measure(choice)
            except (CompileError, ValueError) as error:
                self._cells[choice] = brief(error)
        return self._cells[choice]

    def fewer_bytes(self, choice: Choice) -> float:
        """How much less a rank holds of states, of all layers, than one of the small programs of this choice."""
        small = dataclasses.replace(choice, data=min(choice.data, _SMALL), pipeline=1, stands_for=choice.data)
        return self.structure.state_bytes(small) - self.structure.state_bytes(dataclasses.replace(choice, pipeline=1))

    def _measure(self, choice: Choice) -> Cell:
        small = dataclasses.replace(choice, data=min(choice.data, _SMALL), microbatches=turns(choice.microbatches),
                                    stands_for=choice.data)
        compiled = {layers: self._small(small, layers) for layers in (1, 2)}
        steps = {(layers, number): self._seconds(of, small, number, choice.data)
                 for layers, of in compiled.items() for number in (2, 3)}
        memory = {layers: of.memory() for layers, of in compiled.items()}

        def line(of) -> Line:
            return Line.through(of(1), of(2))

        return Cell(once=line(lambda k: 3 * steps[k, 2] - 2 * steps[k, 3]),
                    each=line(lambda k: steps[k, 3] - steps[k, 2]),
                    memory=line(lambda k: memory[k].arena),
                    activations=line(lambda k: memory[k].activations),
                    temporaries=line(lambda k: memory[k].temporaries + memory[k].communication_buffers))

    def _seconds(self, compiled: Compiled, choice: Choice, microbatches: int, data: int) -> float:
        """Predicted, with so many micro-batches, and ranks along the batch's axis."""
        scaled = (DATA, [data]) if choice.data != data else ("", [])
        step = simulate(compiled, self.planner.cluster, scale=scaled, turns=(choice.microbatches, microbatches))
        return step["scale"][0]["step_seconds"] if scaled[0] else step["step_seconds"]

    def _small(self, choice: Choice, layers: int) -> Compiled:
        """Of few layers; one for all numbers of ranks that can split the same."""
        key = *self.structure.shared(choice), layers
        if key not in self._compiled:
            self._compiled[key] = self.planner.compile(choice, layers)
        return self._compiled[key]


def slowest(cell: Cell, layers: int, stages: int) -> float:
    """Layers of the longest of so many stages, as nearly equal as they can be cut: a layer can be cut in two, of a third and
    two thirds, as attention and perceptron are; everything outside of layers counts as one region that is not cut."""
    rest = max(cell.each.at_none, 0) / cell.each.a_layer if cell.each.a_layer > 0 else 0.0
    regions = [each / 3 for _ in range(layers) for each in (1, 2)] + [rest]
    low, high = max(sum(regions) / stages, *regions), float(sum(regions))
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if _parts(regions, middle) <= stages else (middle, high)
    return high


def _parts(regions: list[float], most: float) -> int:
    """Into how many a chain is cut if none is longer."""
    number, length = 1, 0.0
    for each in regions:
        if length + each > most + 1e-9:
            number, length = number + 1, 0.0
        length += each
    return number


def filled(choice: Choice) -> float:
    """Micro-batches, and those for which a rank of a pipeline waits."""
    return choice.microbatches + (choice.pipeline - 1) / choice.chunks


def seconds_of(choice: Choice, cell: Cell, layers: int) -> float:
    """Of a step, without what stages send to each other and without recomputation. Ranks wait for the one with the longest
    stage, whose others are as long as most."""
    busy = cell.each.at(layers)
    if choice.pipeline > 1 and cell.each.a_layer > 0:
        longest = slowest(cell, layers, choice.stages) * cell.each.a_layer
        busy = longest + (choice.chunks - 1) * busy / choice.stages
    return max(cell.once.at(layers), 0) / choice.pipeline + busy * filled(choice)


def in_flight(choice: Choice) -> float:
    """Micro-batches of which the first rank of a pipeline keeps activations."""
    held = choice.pipeline + ((choice.pipeline - 1) / choice.chunks if choice.chunks > 1 else 0)
    return min(choice.microbatches, held)
