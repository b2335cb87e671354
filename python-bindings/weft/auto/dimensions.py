# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which dimensions of arguments are split together: what propagation reaches from one of them.

Where `q @ k` is computed of weights, the columns of both are one dimension, and the rows of the next weight are the
columns of this one. Nobody says so by names: one dimension is annotated, and the compiler says where the axis goes."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

from ..lowered import Source
from ..mesh import Mesh
from ..spec import PartitionSpec
from ..variants import with_mesh, with_specs, written_specs
from .program import Argument, alike

_AXIS = "x"


@dataclasses.dataclass(frozen=True)
class Dimension:
    """Dimensions of arguments that are split together."""

    members: frozenset[tuple[str, int]]
    """Names without indices, and numbers of dimensions."""
    size: int
    """The greatest common divisor of theirs."""
    bytes: int
    """Of the arguments that have it."""
    is_batch: bool
    """An argument that is no state has it."""

    def of(self, name: str) -> int | None:
        """The number of the dimension that the argument has of it."""
        return self._of.get(alike(name))

    @functools.cached_property
    def _of(self) -> dict[str, int]:
        return dict(sorted(self.members, reverse=True))

    def conflicts(self, other: Dimension) -> bool:
        """Whether an argument has both, and so cannot be split by one axis over each."""
        return any(name == theirs for name, _ in self.members for theirs, _ in other.members)


def find_dimensions(source: Source, arguments: Sequence[Argument]) -> list[Dimension]:
    """All of a program, those of the most bytes first. Layers that are alike have the same."""
    graph = Source(source.lower("graph"), source.name)
    shapes = {each.name: each for each in arguments}
    seen: set[tuple[str, int]] = set()
    found = []
    for each in sorted(arguments, key=lambda each: -each.bytes):
        for dim, size in enumerate(each.shape):
            if size < 2 or (alike(each.name), dim) in seen:
                continue
            reached = _reached(graph, each, dim)
            members = frozenset((alike(name), number) for name, number in reached)
            seen |= members
            sizes = [shapes[name].shape[number] for name, number in reached if name in shapes]
            of = [shapes[name] for name, _ in reached if name in shapes]
            found.append(Dimension(members, math.gcd(*sizes), sum(argument.bytes for argument in of),
                                   any(not argument.is_state for argument in of)))
    return sorted(found, key=lambda each: -each.bytes)


def _reached(graph: Source, argument: Argument, dim: int) -> list[tuple[str, int]]:
    spec = PartitionSpec(*[None] * dim, _AXIS)
    text = with_specs(with_mesh(graph.text, Mesh((2,), (_AXIS,))),
                      lambda name, rank: spec if name == argument.name else None)
    specs = written_specs(Source(text, graph.name).lower("sharded"))
    reached = [(name, number) for name, spec in specs.items() for number, axes in enumerate(spec.dim_axes()) if axes]
    return reached or [(argument.name, dim)]
