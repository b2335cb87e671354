# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AdamW."""

from typing import Any, Callable

from .. import numpy as wnp
from .. import tree as trees
from .transform import Transform, checked_rate, counter, rate_at, zeros_like


def adamw(learning_rate: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
          weight_decay: float = 1e-4, mask: Any = None) -> Transform:
    """Adam with weight decay that is decoupled from the gradients (Loshchilov and Hutter).

    `learning_rate` is a number or a schedule of the number of steps made. `mask` is a tree of
    bools like the parameters, or a function that makes it of them: which of them decay.
    """
    checked_rate("adamw", learning_rate)

    def init(params: Any) -> dict:
        return {"count": counter(), "mu": zeros_like(params), "nu": zeros_like(params)}

    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        mu = trees.map(lambda g, m: (1 - b1) * g + b1 * m, grads, state["mu"])
        nu = trees.map(lambda g, v: (1 - b2) * (g * g) + b2 * v, grads, state["nu"])
        rate = rate_at(learning_rate, state["count"])
        count = state["count"] + 1
        unbiased_mu, unbiased_nu = _unbiased(mu, b1, count), _unbiased(nu, b2, count)

        def step(p: Any, m: Any, v: Any, decays: bool) -> Any:
            direction = m / (wnp.sqrt(v) + eps)
            if decays and weight_decay:
                direction = direction + weight_decay * p
            return -rate * direction

        updates = trees.map(step, params, unbiased_mu, unbiased_nu, decaying(mask, params))
        return updates, {"count": count, "mu": mu, "nu": nu}

    return Transform("adamw", init, update)


def decaying(mask: Any | Callable[[Any], Any], params: Any) -> Any:
    """For each parameter whether it decays."""
    if mask is None:
        return trees.map(lambda p: True, params)
    chosen = mask(params) if callable(mask) else mask
    wrong = [path for path, leaf in trees.flatten_with_paths(chosen, "mask")[0]
             if not isinstance(leaf, bool)]
    if wrong:
        raise TypeError(f"a mask of adamw is a tree of True and False, but {', '.join(wrong)} "
                        f"{'is' if len(wrong) == 1 else 'are'} neither")
    return chosen


def _unbiased(moments: Any, decay: float, count: Any) -> Any:
    """Moments that started as zero, as if they had not."""
    correction = 1 - decay ** count.astype(wnp.float32)
    return trees.map(lambda m: m / correction.astype(m.dtype), moments)
