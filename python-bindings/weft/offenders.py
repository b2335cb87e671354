# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays with the specs they were given, and one error for all that do not fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import Offender, Violation, count, spec_error
from .mesh import AbstractMesh
from .path_groups import group_paths
from .sharding import NamedSharding, remedy
from .spec import PartitionSpec

Sharding = NamedSharding | PartitionSpec | None


@dataclasses.dataclass(frozen=True)
class Leaf:
    """An array that a spec was given for: its path in the tree, shape and item size."""

    path: str
    array: Any
    sharding: Sharding

    @property
    def spec(self) -> PartitionSpec:
        return self.sharding.spec if isinstance(self.sharding, NamedSharding) else self.sharding


def as_array(leaf: Any) -> Any:
    """A leaf itself if it has a shape and a dtype, else the NumPy array that it makes."""
    return leaf if hasattr(leaf, "shape") and hasattr(leaf, "dtype") else np.asarray(leaf)


def array_text(array: Any) -> str:
    """``float32[8, 4]``."""
    return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"


def report(
    what: str,
    leaves: Sequence[Leaf],
    problems: Callable[[Leaf], list[Violation]],
    mesh: AbstractMesh | None,
    *,
    closed: bool = False,
) -> None:
    """Raises one error for all leaves that have problems."""
    wrong = {
        leaf.path: (array_text(leaf.array), leaf.spec, tuple(found), _remedy(leaf, mesh, closed))
        for leaf in leaves
        if leaf.sharding is not None and (found := problems(leaf))
    }
    if not wrong:
        return
    offenders = []
    for group in group_paths(wrong, wrong.get):
        array, spec, found, legal = wrong[group.paths[0]]
        offenders.append(Offender(f"{str(group) or 'the array'}: {array}, {spec}", found, legal))
    number = f"{len(wrong)} of {count(len(leaves), 'array')}"
    raise spec_error(f"{what}: {number} cannot be sharded as written", offenders)


def _remedy(leaf: Leaf, mesh: AbstractMesh | None, closed: bool) -> str:
    mesh = leaf.sharding.mesh if isinstance(leaf.sharding, NamedSharding) else mesh
    if mesh is None:
        return ""
    return remedy(leaf.spec, mesh, leaf.array.shape, leaf.array.dtype.itemsize, closed=closed)
