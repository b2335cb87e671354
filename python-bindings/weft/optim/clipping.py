# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of bounded size."""

from typing import Any

from .. import numpy as wnp
from .. import tree as trees
from .transform import Transform


def global_norm(tree: Any) -> Any:
    """The length of all leaves as one vector; bfloat16 and float16 are squared and summed in float32.

    Squares of leaves that a constraint split over the same axes are added up first, since
    devices can do that before they exchange anything.
    """
    groups: dict[frozenset, list] = {}
    for leaf in trees.leaves(tree):
        wide = leaf.astype(wnp.promote_types(leaf.dtype, wnp.float32))
        groups.setdefault(_axes(leaf), []).append(wnp.sum(wnp.square(wide)))
    return wnp.sqrt(_sum([_sum(squares) for squares in groups.values()]))


def _axes(leaf: Any) -> frozenset:
    """The mesh axes that are known to split the tensor."""
    sharding = getattr(leaf, "sharding", None)
    if sharding is None:
        return frozenset()
    return frozenset(axis for axes in sharding.spec.dim_axes() for axis in axes)


def _sum(values: list) -> Any:
    return sum(values[1:], values[0])


def clip_by_global_norm(max_norm: float) -> Transform:
    """Gradients scaled such that all of them together are no longer than `max_norm`."""
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        norm = global_norm(grads)

        def clip(g: Any) -> Any:
            return wnp.where(norm < max_norm, g, g / norm.astype(g.dtype) * max_norm)

        return trees.map(clip, grads), {}

    return Transform("clip_by_global_norm", lambda params: {}, update)


def clip(max_delta: float) -> Transform:
    """Every element within -max_delta and max_delta."""
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        return trees.map(lambda g: wnp.clip(g, -max_delta, max_delta), grads), {}

    return Transform("clip", lambda params: {}, update)


def clip_by_block_rms(threshold: float) -> Transform:
    """The gradient of each parameter scaled such that the root of the mean of its squares is at
    most `threshold`."""
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        def clip(g: Any) -> Any:
            return g / wnp.maximum(1.0, wnp.sqrt(wnp.mean(g * g)) / threshold)

        return trees.map(clip, grads), {}

    return Transform("clip_by_block_rms", lambda params: {}, update)
