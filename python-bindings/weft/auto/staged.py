# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Pipelines`: what the ranks of a pipeline hold and send, of pipelines of two stages.

What a rank holds for each micro-batch in flight, and what it holds of weights, gradients and states whatever is in flight,
is known of small pipelines: their first rank keeps two micro-batches, and the plan says of each tensor for how many. A
program without a pipeline does not say it, since updates and backward passes take turns with its memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..diagnostics import CompileError, brief
from ..records import Memory, Tensor
from ..simulation import simulate
from .cells import Cells, Line, filled, in_flight, seconds_of, turns
from .choices import Choice
from .planner import Planner
from .program import alike

# Stages of the small pipelines, the layers of a stage, and the fewest micro-batches.
_STAGES = 2
_LAYERS = (1, 2)
_LEAST = 4
# Ranks that are so far from each other are in different nodes of most clusters.
_NEAR = 8


@dataclasses.dataclass(frozen=True)
class Rank:
    """Of a pipeline with micro-batches of a row: bytes, by layers of its stages, that do not depend on how many are in
    flight, and for each that is."""

    fixed: Line
    each: Line


@dataclasses.dataclass(frozen=True)
class Stages:
    """Of a way to share layers."""

    first: Rank
    last: Rank
    """Of which one micro-batch is in flight."""
    sending: float
    """Seconds that a step takes more for a row of a micro-batch, those waited for included, and a boundary."""

    def bytes(self, choice: Choice, layers: float, temporaries: float) -> tuple[float, float]:
        """Of the rank that has the most, and those of them that are of micro-batches in flight; each has so many layers.
        More rows than one take so many bytes of temporaries."""
        kept = max(self.first.each.at(layers), 0) * choice.rows
        held = kept * in_flight(choice)
        first = self.first.fixed.at(layers) + held
        last = self.last.fixed.at(layers) + kept * (choice.rows - 1) / choice.rows
        return (first + temporaries, held) if first >= last else (last + temporaries, kept)


class Pipelines:
    """Of one program on a cluster."""

    def __init__(self, planner: Planner, cells: Cells):
        self._planner, self._cells = planner, cells
        self._found: dict[tuple, Stages | str] = {}

    def of(self, choice: Choice) -> Stages | str:
        """A text if there are none."""
        small = self._small(choice)
        key = self._planner.structure.shared(small)
        if key not in self._found:
            try:
                self._found[key] = self._measure(small)
            except (CompileError, ValueError) as error:
                self._found[key] = brief(error)
        return self._found[key]

    def fewer_bytes(self, choice: Choice) -> float:
        """How much less a rank holds of states and gradients, of all layers, than one of the small pipelines."""
        structure = self._planner.structure
        small, whole = (dataclasses.replace(each, pipeline=1) for each in (self._small(choice), choice))
        of_states, of_gradients = structure.state_bytes, structure.gradient_bytes
        return of_states(small) + of_gradients(small) - of_states(whole) - of_gradients(whole)

    def _small(self, choice: Choice) -> Choice:
        """Ranks of neighbouring stages are as far from each other, if that is less than a node."""
        near = max(2, _NEAR // (choice.tensor * choice.context))
        return dataclasses.replace(choice, pipeline=_STAGES, chunks=1, schedule="1f1b", rows=1, data=min(choice.data, near),
                                   stands_for=choice.data, microbatches=max(_LEAST, turns(choice.microbatches)))

    def _measure(self, small: Choice) -> Stages:
        numbers = [_STAGES * each for each in _LAYERS]
        compiled = [self._planner.compile(small, number) for number in numbers]
        memory = [each.memory().roles for each in compiled]
        first, last = (_rank([(_layers(roles, role, number), roles[role]) for number, roles in zip(numbers, memory)])
                       for role in (0, _STAGES - 1))
        cell = self._cells.of(small)
        sending = 0.0
        if not isinstance(cell, str):
            step = simulate(compiled[-1], self._planner.cluster)["step_seconds"]
            sending = max(step - seconds_of(small, cell, numbers[-1]), 0) / filled(small)
        return Stages(first, last, sending)


def _layers(roles: Sequence[Memory], role: int, number: int) -> float:
    """How many of so many layers a rank has, by their parameters. Stages are cut within layers, and the last one computes
    more than layers."""
    def is_of_layer(each: Tensor) -> bool:
        return each.purpose == "parameters" and alike(each.name) != each.name

    sizes = [sum(each.bytes for each in of.peak if is_of_layer(each)) for of in roles]
    return number * sizes[role] / sum(sizes) if sum(sizes) else number / len(roles)


def _rank(measured: Sequence[tuple[float, Memory]]) -> Rank:
    """Of numbers of layers, and what is held with them."""
    numbers = [number for number, _ in measured]
    kept = [sum(each.bytes / each.slots for each in of.peak if each.slots > 1) for _, of in measured]
    fixed = [of.arena - sum(each.bytes for each in of.peak if each.slots > 1) for _, of in measured]
    return Rank(Line.between(numbers, fixed), Line.between(numbers, kept))
