# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients scaled by statistics of past ones, element by element."""

from typing import Any

from .. import numpy as wnp
from .. import tree as trees
from ..numpy.elementwise import rsqrt
from .transform import Transform, counter, full_like, zeros_like


def scale_by_adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0,
                  mu_dtype: Any = None, *, nesterov: bool = False) -> Transform:
    """Adam's direction (Kingma and Ba): the mean of gradients by the root of that of their
    squares. The former is stored as `mu_dtype`, if there is one."""
    def init(params: Any) -> dict:
        return {"count": counter(), "mu": zeros_like(params, mu_dtype), "nu": zeros_like(params)}

    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        mu, nu = averaged(grads, state["mu"], b1), averaged(_squares(grads), state["nu"], b2)
        count = state["count"] + 1
        if nesterov:
            means = trees.map(lambda m, g: b1 * m + (1 - b1) * g,
                              unbiased(mu, b1, count + 1), unbiased(grads, b1, count))
        else:
            means = unbiased(mu, b1, count)

        def direction(m: Any, v: Any) -> Any:
            # Without eps_root there is one addition less.
            return m / (wnp.sqrt(v + eps_root if eps_root else v) + eps)

        directions = trees.map(direction, means, unbiased(nu, b2, count))
        return directions, {"count": count, "mu": _stored(mu, mu_dtype), "nu": nu}

    return Transform("scale_by_adam", init, update)


def scale_by_lion(b1: float = 0.9, b2: float = 0.99, mu_dtype: Any = None) -> Transform:
    """Lion's direction (Chen et al.): the sign of the mean of gradients."""
    def init(params: Any) -> dict:
        return {"mu": zeros_like(params, mu_dtype)}

    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        mu = averaged(grads, state["mu"], b2)
        return trees.map(wnp.sign, averaged(grads, state["mu"], b1)), {"mu": _stored(mu, mu_dtype)}

    return Transform("scale_by_lion", init, update)


def scale_by_rss(initial_accumulator_value: float = 0.1, eps: float = 1e-7) -> Transform:
    """Gradients by the root of the sum of their squares so far (Duchi et al.)."""
    def init(params: Any) -> dict:
        return {"sum_of_squares": full_like(params, initial_accumulator_value)}

    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        sums = trees.map(wnp.add, _squares(grads), state["sum_of_squares"])

        def scaled(g: Any, s: Any) -> Any:
            return wnp.where(s > 0, rsqrt(s + eps), 0.0) * g

        return trees.map(scaled, grads, sums), {"sum_of_squares": sums}

    return Transform("scale_by_rss", init, update)


def scale_by_rms(decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0,
                 eps_in_sqrt: bool = True, bias_correction: bool = False) -> Transform:
    """Gradients by the root of the mean of their squares (Hinton)."""
    return _by_deviation("scale_by_rms", decay, eps, initial_scale, eps_in_sqrt, bias_correction)


def scale_by_stddev(decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0,
                    eps_in_sqrt: bool = True, bias_correction: bool = False) -> Transform:
    """Gradients by the standard deviation of past ones (Graves)."""
    return _by_deviation("scale_by_stddev", decay, eps, initial_scale, eps_in_sqrt, bias_correction,
                         centered=True)


def _by_deviation(name: str, decay: float, eps: float, initial_scale: float, eps_in_sqrt: bool,
                  bias_correction: bool, centered: bool = False) -> Transform:
    def init(params: Any) -> dict:
        state = {"count": counter()} if bias_correction else {}
        state |= {"mu": zeros_like(params)} if centered else {}
        return {**state, "nu": full_like(params, initial_scale)}

    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        following = {"nu": averaged(_squares(grads), state["nu"], decay)}
        if centered:
            following["mu"] = averaged(grads, state["mu"], decay)
        moments = dict(following)
        if bias_correction:
            following["count"] = state["count"] + 1
            moments = unbiased(moments, decay, following["count"])
        variances = moments["nu"]
        if centered:
            variances = trees.map(lambda n, m: n - m * m, variances, moments["mu"])

        def scaled(g: Any, n: Any) -> Any:
            return (rsqrt(n + eps) if eps_in_sqrt else 1 / (wnp.sqrt(n) + eps)) * g

        return trees.map(scaled, grads, variances), following

    return Transform(name, init, update)


def averaged(values: Any, mean: Any, decay: float) -> Any:
    """The mean of what came before, which counts for `decay`, and of new values."""
    return trees.map(lambda x, m: (1 - decay) * x + decay * m, values, mean)


def unbiased(moments: Any, decay: float, count: Any) -> Any:
    """Moments that started as zero, as if they had not."""
    correction = 1 - decay ** count.astype(wnp.float32)
    return trees.map(lambda m: m / correction.astype(m.dtype), moments)


def _squares(grads: Any) -> Any:
    return trees.map(lambda g: g * g, grads)


def _stored(moments: Any, dtype: Any) -> Any:
    return moments if dtype is None else trees.map(lambda m: m.astype(dtype), moments)
