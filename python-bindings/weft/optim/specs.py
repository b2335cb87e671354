# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the state of an optimizer rests."""

from typing import Any

from .. import tree as trees
from ..resolve import given_specs
from ..spec import PartitionSpec


def state_specs(state: Any, params: Any, specs: Any) -> Any:
    """A spec for every leaf of an optimizer's state: a leaf whose path ends in that of a
    parameter of its shape has the spec that `specs`, `Rules` or a prefix tree of specs, has for
    that parameter; all others, as counters, are replicated. States and parameters may be
    `ShapeDtypeStruct`s, as those of `weft.eval_shape`.
    """
    by_path = {path: (leaf.shape, spec) for (path, leaf), (_, spec) in
               zip(trees.flatten_with_keys(params)[0], given_specs(specs, params, "specs"))}
    leaves, treedef = trees.flatten_with_keys(state)
    return treedef.unflatten(_spec_of(path, leaf, by_path) for path, leaf in leaves)


def _spec_of(path: trees.Path, leaf: Any, by_path: dict) -> Any:
    """Longer ends first: `mu/head/w` is of the parameter `head/w`, not of `w`."""
    for start in range(len(path) + 1):
        shape, spec = by_path.get(tuple(path[start:]), (None, None))
        if shape == leaf.shape:
            return spec
    return PartitionSpec()
