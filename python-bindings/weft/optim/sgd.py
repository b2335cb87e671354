# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradient descent."""

from typing import Any

from .. import tree as trees
from .transform import Transform, checked_rate, counter, rate_at, zeros_like


def sgd(learning_rate: Any, momentum: float | None = None, nesterov: bool = False) -> Transform:
    """Gradient descent, with momentum if `momentum` is given: the part of the sum of past
    gradients that stays. `learning_rate` is a number or a schedule of the number of steps made.
    """
    checked_rate("sgd", learning_rate)

    def init(params: Any) -> dict:
        state = {"count": counter()} if callable(learning_rate) else {}
        return state if momentum is None else {**state, "trace": zeros_like(params)}

    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        following = {}
        directions = grads
        if momentum is not None:
            def add(g: Any, t: Any) -> Any:
                return g + momentum * t

            trace = trees.map(add, grads, state["trace"])
            directions = trees.map(add, grads, trace) if nesterov else trace
            following["trace"] = trace
        rate = rate_at(learning_rate, state.get("count"))
        if "count" in state:
            following["count"] = state["count"] + 1
        return trees.map(lambda d: -rate * d, directions), following

    return Transform("sgd", init, update)
