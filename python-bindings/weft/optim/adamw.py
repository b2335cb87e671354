# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AdamW."""

from typing import Any

from .. import tree as trees
from .moments import scale_by_adam
from .scaling import chosen_by
from .transform import Transform, checked_rate, rate_at


def adamw(learning_rate: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
          weight_decay: float = 1e-4, mask: Any = None) -> Transform:
    """Adam with weight decay that is decoupled from the gradients (Loshchilov and Hutter).

    `learning_rate` is a number or a schedule of the number of steps made. `mask` is a tree of
    bools like the parameters, or a function that makes it of them: which of them decay.
    """
    checked_rate("adamw", learning_rate)
    adam = scale_by_adam(b1, b2, eps)

    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        directions, following = adam.update(grads, state)
        rate = rate_at(learning_rate, state["count"])

        def step(p: Any, direction: Any, decays: bool) -> Any:
            return -rate * (direction + weight_decay * p if decays and weight_decay else direction)

        return trees.map(step, params, directions, chosen_by("adamw", mask, params)), following

    return Transform("adamw", adam.init, update)
