# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Choice`: how the devices share a program, and what that is as a mesh and specs."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from ..mesh import Mesh
from ..spec import PartitionSpec
from .dimensions import Dimension
from .program import Argument, alike

STATES = ("whole", "optimizer", "all")
PIPE, DATA, CONTEXT, TENSOR = "pipe", "data", "context", "model"


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the axes of a mesh share out.

    pipeline      ranks that share the layers, with `chunks` stages each in the order of `schedule`
    data          ranks that have a part of the batch each
    context       ranks that have a part of the positions of each sequence
    tensor        ranks that share the dimensions of `Structure.splits[split]`
    states        what the ranks along data and context have in parts: nothing, the states of the optimizer, or parameters as well
    microbatches  of a step
    sequence      whether the ranks along tensor have parts of the second dimension of what the program names and
                  `Structure.named` lists
    rows          of a micro-batch on a rank
    stands_for    ranks along data that this choice, of fewer, is measured for: what they cannot split stays whole; 0 if
                  for itself
    """

    pipeline: int = 1
    chunks: int = 1
    schedule: str = ""
    data: int = 1
    context: int = 1
    tensor: int = 1
    split: int = 0
    states: str = "whole"
    microbatches: int = 1
    sequence: bool = False
    rows: int = 1
    stands_for: int = 0

    @property
    def devices(self) -> int:
        return self.pipeline * self.data * self.context * self.tensor

    @property
    def stages(self) -> int:
        return self.pipeline * self.chunks

    @property
    def holders(self) -> int:
        """The ranks that have states in parts."""
        return self.data * self.context

    def mesh(self) -> Mesh:
        """Ranks next to each other share tensors, since they send most."""
        axes = {PIPE: self.pipeline, DATA: self.data, CONTEXT: self.context, TENSOR: self.tensor}
        axes = {name: size for name, size in axes.items() if size > 1} or {DATA: 1}
        return Mesh(tuple(axes.values()), tuple(axes))

    def pipeline_text(self) -> str:
        """As the compiler takes it; empty without one."""
        if self.pipeline == 1:
            return ""
        return f"axis={PIPE} stages=auto schedule={self.schedule} chunks={self.chunks}"

    def __str__(self) -> str:
        mesh = " x ".join(f"{name}={size}" for name, size in self.mesh().shape_tuple)
        words = [mesh]
        if self.pipeline > 1:
            words.append(self.schedule + (f", {self.chunks} chunks" if self.chunks > 1 else ""))
        if self.holders > 1 and self.states != "whole":
            words.append({"optimizer": "optimizer in parts", "all": "states in parts"}[self.states])
        if self.sequence:
            words.append("sequence in parts")
        if self.microbatches > 1:
            words.append(f"{self.microbatches} micro-batches")
        return ", ".join(words)


@dataclasses.dataclass(frozen=True)
class Structure:
    """What the dimensions of a program can be split for."""

    arguments: tuple[Argument, ...]
    batch: Dimension
    splits: tuple[tuple[Dimension, ...], ...]
    """Sets of dimensions that ranks may share: no argument has two of a set."""
    rest: tuple[Dimension, ...]
    """All that may be split where states rest in parts, those of the most bytes first."""
    named: tuple[str, ...] = ()
    """What the program names by `weft.checkpoint_name` and may be split along its second dimension."""
    positions: Dimension | None = None
    """That of the positions in a sequence: the second one of what has rows."""

    @staticmethod
    def of(arguments: Sequence[Argument], dimensions: Sequence[Dimension]) -> Structure:
        batch = _batch(arguments, dimensions)
        others = [each for each in dimensions if each is not batch]
        weights = [each for each in others if not each.is_batch]
        return Structure(tuple(arguments), batch, tuple(_splits(weights)), tuple(weights),
                         positions=_positions(arguments, batch, others))

    @functools.cached_property
    def kinds(self) -> tuple[tuple[Argument, int], ...]:
        """One argument of each kind of layers that are alike, with how many there are."""
        numbers = collections.Counter(alike(each.name) for each in self.arguments)
        first = {alike(each.name): each for each in reversed(self.arguments)}
        return tuple((first[name], number) for name, number in numbers.items())

    @functools.cached_property
    def ways_to_rest(self) -> tuple[str, ...]:
        """What states can do along the batch's axis: those that differ. Of what was differentiated elsewhere, nobody
        knows which states are parameters."""
        kinds = {each.is_differentiated for each, _ in self.kinds if each.is_state and each.shape}
        return STATES if len(kinds) == 2 else ("whole", "all")

    @functools.cached_property
    def _bytes(self) -> dict[Choice, float]:
        """What was asked for already of states."""
        return {}

    @functools.cached_property
    def _gradient_bytes(self) -> dict[Choice, float]:
        """And of gradients."""
        return {}

    @functools.cached_property
    def _specs(self) -> dict[Choice, dict[str, PartitionSpec]]:
        """Those that were asked for already."""
        return {}

    def state_bytes(self, choice: Choice) -> float:
        """What the ranks of a stage hold of states, of all stages together."""
        plain = _plain(choice)
        if plain not in self._bytes:
            self._bytes[plain] = self._bytes_of(plain, lambda each: each.is_state)
        return self._bytes[plain]

    def _bytes_of(self, plain: Choice, counts: Callable[[Argument], bool]) -> float:
        """Of the arguments that count, on a rank."""
        specs, sizes = self.specs(plain), {DATA: plain.data, CONTEXT: plain.context, TENSOR: plain.tensor}
        return sum(number * each.bytes / math.prod(sizes[axis] for entry in specs[alike(each.name)] for axis in _axes(entry))
                   for each, number in self.kinds if counts(each))

    def gradient_bytes(self, choice: Choice) -> float:
        """What gradients take of all stages together, in parts where states of the optimizer are."""
        plain = _plain(choice if choice.states == "whole" else dataclasses.replace(choice, states="all"))
        if plain not in self._gradient_bytes:
            self._gradient_bytes[plain] = self._bytes_of(plain, lambda each: each.is_differentiated)
        return self._gradient_bytes[plain]

    def rows(self) -> int:
        """Of a batch."""
        return self.batch.size

    def activations(self, choice: Choice) -> dict[str, PartitionSpec]:
        """Of named values."""
        if not choice.sequence:
            return {}
        positions = (CONTEXT, TENSOR) if choice.context > 1 else TENSOR
        return {name: PartitionSpec(DATA if choice.data > 1 else None, positions) for name in self.named}

    def specs(self, choice: Choice) -> dict[str, PartitionSpec]:
        """Of all arguments, by their names without indices."""
        plain = _plain(choice)
        if plain not in self._specs:
            self._specs[plain] = {alike(each.name): self._spec(each, plain) for each, _ in self.kinds}
        return self._specs[plain]

    def shared(self, small: Choice) -> tuple:
        """What is the same for all choices that a small program can stand for: those whose ranks can split the same."""
        plain = dataclasses.replace(small, stands_for=0)
        specs, usual = (tuple(self.specs(each).values()) for each in (small, plain))
        return plain, specs if specs != usual else ()

    def _spec(self, argument: Argument, choice: Choice) -> PartitionSpec:
        axes: list[list[str]] = [[] for _ in argument.shape]
        if choice.data > 1 and (dim := self.batch.of(argument.name)) is not None:
            axes[dim].append(DATA)
        if choice.context > 1 and not argument.is_state and (dim := self.positions.of(argument.name)) is not None:
            axes[dim].append(CONTEXT)
        if choice.tensor > 1:
            for each in self.splits[choice.split] if self.splits else ():
                if (dim := each.of(argument.name)) is not None and argument.shape[dim] >= choice.tensor:
                    axes[dim].append(TENSOR)
        if choice.holders > 1 and self._rests_in_parts(argument, choice):
            ways = (choice.stands_for or choice.data) * choice.context
            if (dim := self._free_dimension(argument, axes, ways)) is not None:
                axes[dim] += [axis for axis, size in ((DATA, choice.data), (CONTEXT, choice.context)) if size > 1]
        return PartitionSpec(*(tuple(each) or None for each in axes))

    @staticmethod
    def _rests_in_parts(argument: Argument, choice: Choice) -> bool:
        if not argument.is_state or choice.states == "whole":
            return False
        return choice.states == "all" or not argument.is_differentiated

    def _free_dimension(self, argument: Argument, axes: Sequence[Sequence[str]], ways: int) -> int | None:
        """The one to be split where the argument rests: that which most others have as well, of those that are whole
        and divisible; None if there is none."""
        ranked = [each.of(argument.name) for each in self.rest]
        for dim in dict.fromkeys(dim for dim in ranked if dim is not None):
            if not axes[dim] and argument.shape[dim] % ways == 0:
                return dim
        return None


def _plain(choice: Choice) -> Choice:
    """What specs depend on."""
    return Choice(data=choice.data, context=choice.context, tensor=choice.tensor, split=choice.split, states=choice.states,
                  stands_for=choice.stands_for)


def _batch(arguments: Sequence[Argument], dimensions: Sequence[Dimension]) -> Dimension:
    """The first dimension of what is no state."""
    inputs = [each for each in arguments if not each.is_state and each.shape]
    for argument in inputs:
        for each in dimensions:
            if each.is_batch and each.of(argument.name) == 0:
                return each
    raise ValueError("the program has no batch: an argument that no result replaces, with more than one row")


def _positions(arguments: Sequence[Argument], batch: Dimension, others: Sequence[Dimension]) -> Dimension | None:
    """Where all that has rows first has positions behind them, and these are one dimension."""
    inputs = [each for each in arguments if not each.is_state and batch.of(each.name) == 0]
    for each in others:
        if inputs and all(each.of(argument.name) == 1 for argument in inputs):
            return each
    return None


def _splits(weights: Sequence[Dimension]) -> Iterable[tuple[Dimension, ...]]:
    """All sets to which no dimension can be added, those of the most bytes first."""
    kinds: dict[tuple, list[Dimension]] = {}
    for each in weights:
        kinds.setdefault((each.size, tuple(sorted(dim for _, dim in each.members))), []).append(each)
    groups = [tuple(each) for each in kinds.values() if _agree(each)]

    def compatible(group, chosen) -> bool:
        return not any(a.conflicts(b) for other in chosen for a in group for b in other)

    found = set()
    for first in groups:
        chosen = [first]
        for group in groups:
            if group is not first and compatible(group, chosen):
                chosen.append(group)
        found.add(frozenset(each for group in chosen for each in group))
    ranked = sorted(found, key=lambda each: (-sum(dimension.bytes for dimension in each), -len(each)))
    return [tuple(sorted(each, key=lambda dimension: (-dimension.bytes, sorted(dimension.members)))) for each in ranked]


def _agree(group: Sequence[Dimension]) -> bool:
    return not any(a.conflicts(b) for a, b in itertools.combinations(group, 2))


def divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _axes(entry) -> tuple[str, ...]:
    return () if entry is None else (entry,) if isinstance(entry, str) else entry
