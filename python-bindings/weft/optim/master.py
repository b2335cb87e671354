# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of few bits, with copies of all bits that are trained."""

from typing import Any

from .. import numpy as wnp
from .. import tree as trees
from .transform import Transform


def master_weights(inner: Transform) -> Transform:
    """`inner` on float32 copies of the parameters, which its state holds; gradients are
    converted to float32 first. The parameters become the copies, rounded to their types: a
    step that is too small for bfloat16 is not lost.
    """
    def init(params: Any) -> dict:
        master = _float32(params)
        return {"master": master, "inner": inner.init(master)}

    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        updates, following = inner.update(_float32(grads), state["inner"], state["master"])
        master = trees.map(wnp.add, state["master"], updates)
        # As long as an element does not double or halve in a step this difference is exact, and
        # so is its sum with the parameter.
        updates = trees.map(lambda m, p: m - p.astype(wnp.float32), master, params)
        return updates, {"master": master, "inner": following}

    return Transform("master_weights", init, update)


def _float32(tree: Any) -> Any:
    return trees.map(lambda leaf: leaf.astype(wnp.float32), tree)
