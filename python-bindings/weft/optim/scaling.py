# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the common optimizers are chained of, besides their directions."""

from typing import Any, Callable

from .. import numpy as wnp
from .. import tree as trees
from .clipping import global_norm
from .moments import averaged, unbiased
from .transform import Transform, checked_rate, counter, rate_at, zeros_like


def identity() -> Transform:
    """Gradients as they are."""
    return Transform("identity", lambda params: {}, lambda grads, state, params=None: (grads, {}))


def scale(step_size: float) -> Transform:
    """Gradients times a number."""
    return _scaled("scale", lambda count: step_size, is_counting=False)


def scale_by_schedule(step_size_fn: Callable[[Any], Any]) -> Transform:
    """Gradients times what a schedule says for the number of steps made."""
    return _scaled("scale_by_schedule", step_size_fn, is_counting=True)


def scale_by_learning_rate(learning_rate: Any, *, flip_sign: bool = True) -> Transform:
    """Gradients times a learning rate, a number or a schedule, and times -1."""
    checked_rate("scale_by_learning_rate", learning_rate)
    sign = -1 if flip_sign else 1
    return _scaled("scale_by_learning_rate", lambda count: sign * rate_at(learning_rate, count),
                   is_counting=callable(learning_rate))


def _scaled(name: str, by: Callable[[Any], Any], is_counting: bool) -> Transform:
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        factor = by(state.get("count"))
        scaled = trees.map(lambda g: wnp.asarray(factor, g.dtype) * g, grads)
        return scaled, _counted(state)

    return Transform(name, lambda params: _first_count(is_counting), update)


def add_decayed_weights(weight_decay: Any = 0.0, mask: Any = None) -> Transform:
    """Gradients plus `weight_decay`, a number or a schedule, times the parameters. `mask` is a
    bool, a tree of them like the parameters, or a function that makes it of them: which of them
    decay."""
    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        decay = rate_at(weight_decay, state.get("count"))
        is_none = isinstance(decay, (int, float)) and not decay

        def decayed(g: Any, p: Any, decays: bool) -> Any:
            return g + decay * p if decays and not is_none else g

        chosen = chosen_by("add_decayed_weights", mask, params)
        return trees.map(decayed, grads, params, chosen), _counted(state)

    return Transform("add_decayed_weights", lambda params: _first_count(callable(weight_decay)), update)


def scale_by_trust_ratio(min_norm: float = 0.0, trust_coefficient: float = 1.0, eps: float = 0.0,
                         mask: Any = None) -> Transform:
    """The gradient of each parameter scaled to its norm (You et al.). `mask` says which ones."""
    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        def scaled(g: Any, p: Any, is_chosen: bool) -> Any:
            if not is_chosen:
                return g
            of_param, of_grad = (wnp.maximum(global_norm(x), min_norm) for x in (p, g))
            ratio = trust_coefficient * of_param / (of_grad + eps)
            ratio = wnp.where((of_param == 0) | (of_grad == 0), 1.0, ratio)
            return g * ratio.astype(g.dtype)

        chosen = chosen_by("scale_by_trust_ratio", mask, params)
        return trees.map(scaled, grads, params, chosen), {}

    return Transform("scale_by_trust_ratio", lambda params: {}, update)


def trace(decay: float, nesterov: bool = False, accumulator_dtype: Any = None) -> Transform:
    """The sum of past gradients, of which `decay` stays in each step: momentum."""
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        def add(g: Any, t: Any) -> Any:
            return g + decay * t

        sums = trees.map(add, grads, state["trace"])
        kept = trees.map(lambda s: s if accumulator_dtype is None else s.astype(accumulator_dtype), sums)
        return trees.map(add, grads, sums) if nesterov else sums, {"trace": kept}

    return Transform("trace", lambda params: {"trace": zeros_like(params, accumulator_dtype)}, update)


def ema(decay: float, debias: bool = True, accumulator_dtype: Any = None) -> Transform:
    """The mean of gradients, in which past ones count for `decay`."""
    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        means, count = averaged(grads, state["ema"], decay), state["count"] + 1
        kept = trees.map(lambda m: m if accumulator_dtype is None else m.astype(accumulator_dtype), means)
        return unbiased(means, decay, count) if debias else means, {"count": count, "ema": kept}

    return Transform("ema", lambda params: {"count": counter(), "ema": zeros_like(params, accumulator_dtype)}, update)


def chosen_by(what: str, mask: Any, params: Any) -> Any:
    """For each parameter whether `mask` has it."""
    if mask is None or isinstance(mask, bool):
        return trees.map(lambda p: mask is not False, params)
    chosen = mask(params) if callable(mask) else mask
    wrong = [path for path, leaf in trees.flatten_with_paths(chosen, "mask")[0]
             if not isinstance(leaf, bool)]
    if wrong:
        raise TypeError(f"a mask of {what} is a tree of True and False, but {', '.join(wrong)} "
                        f"{'is' if len(wrong) == 1 else 'are'} neither")
    return chosen


def _first_count(is_counting: bool) -> dict:
    return {"count": counter()} if is_counting else {}


def _counted(state: dict) -> dict:
    return {"count": state["count"] + 1} if "count" in state else {}
