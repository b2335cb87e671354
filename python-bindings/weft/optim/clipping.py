# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of bounded length."""

from typing import Any

from .. import numpy as wnp
from .. import tree as trees
from .transform import Transform


def global_norm(tree: Any) -> Any:
    """The length of all leaves as one vector; bfloat16 is squared and summed in float32."""
    squares = [wnp.sum(wnp.square(leaf.astype(wnp.promote_types(leaf.dtype, wnp.float32))))
               for leaf in trees.leaves(tree)]
    return wnp.sqrt(sum(squares[1:], squares[0]))


def clip_by_global_norm(max_norm: float) -> Transform:
    """Gradients scaled such that all of them together are no longer than `max_norm`."""
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        norm = global_norm(grads)

        def clip(g: Any) -> Any:
            return wnp.where(norm < max_norm, g, g / norm.astype(g.dtype) * max_norm)

        return trees.map(clip, grads), {}

    return Transform("clip_by_global_norm", lambda params: {}, update)
