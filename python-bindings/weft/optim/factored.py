# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adafactor, whose states are means of rows and columns."""

from typing import Any, NamedTuple

import numpy as np

from .. import numpy as wnp
from .. import tree as trees
from .clipping import clip_by_block_rms
from .scaling import add_decayed_weights, ema, scale, scale_by_learning_rate
from .transform import Transform, chain, checked_rate, counter


def adafactor(learning_rate: Any = None, min_dim_size_to_factor: int = 128, decay_rate: float = 0.8,
              decay_offset: int = 0, multiply_by_parameter_scale: bool = True,
              clipping_threshold: float | None = 1.0, momentum: float | None = None,
              dtype_momentum: Any = np.float32, weight_decay_rate: Any = None, eps: float = 1e-30,
              factored: bool = True, weight_decay_mask: Any = None) -> Transform:
    """Adafactor (Shazeer and Stern). Without a learning rate, steps are as long as the parameters say."""
    parts = [scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)]
    if clipping_threshold is not None:
        parts.append(clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        checked_rate("adafactor", learning_rate)
        parts.append(scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        parts.append(scale_by_param_block_rms())
    if momentum is not None:
        parts.append(ema(momentum, debias=False, accumulator_dtype=dtype_momentum))
    if weight_decay_rate is not None:
        parts.append(add_decayed_weights(weight_decay_rate, weight_decay_mask))
    chained = chain(*parts, scale(-1))
    return Transform("adafactor", chained.init, chained.update)


class _Moments(NamedTuple):
    """Of a parameter, means of squares: by rows and by columns, or by elements. What a parameter does not
    have is a zero, as in optax."""
    v_row: Any
    v_col: Any
    v: Any


def scale_by_factored_rms(factored: bool = True, decay_rate: float = 0.8, step_offset: int = 0,
                          min_dim_size_to_factor: int = 128, epsilon: float = 1e-30) -> Transform:
    """Gradients divided by the root of a mean of their squares. Of parameters whose two largest
    dimensions have at least `min_dim_size_to_factor` elements, it is that of the row times that of
    the column."""
    def dims_of(p: Any) -> tuple[int, int] | None:
        order = np.argsort(p.shape)
        is_factored = factored and len(p.shape) > 1 and p.shape[order[-2]] >= min_dim_size_to_factor
        return (int(order[-2]), int(order[-1])) if is_factored else None

    def first(p: Any) -> _Moments:
        none, dims = wnp.zeros((1,), p.dtype), dims_of(p)
        if dims is None:
            return _Moments(none, none, wnp.zeros(p.shape, p.dtype))
        column, row = (wnp.zeros(p.shape[:dim] + p.shape[dim + 1:], p.dtype) for dim in dims)
        return _Moments(row, column, none)

    def init(params: Any) -> dict:
        return {"count": counter(), **_by_field([first(p) for p in trees.leaves(params)], params)}

    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        decay = 1.0 - wnp.asarray(state["count"] - step_offset + 1, wnp.float32) ** -decay_rate
        old = [_Moments(*parts) for parts in zip(*(trees.leaves(state[name]) for name in _Moments._fields))]
        leaves, treedef = trees.flatten(grads)
        made = [_scaled(g, moments, p, dims_of(p), decay, epsilon)
                for g, moments, p in zip(leaves, old, trees.leaves(params))]
        return (treedef.unflatten(g for g, _ in made),
                {"count": state["count"] + 1, **_by_field([moments for _, moments in made], params)})

    return Transform("scale_by_factored_rms", init, update)


def _by_field(moments: list[_Moments], params: Any) -> dict:
    """A tree like the parameters for each kind of means."""
    treedef = trees.structure(params)
    return {name: treedef.unflatten(parts) for name, parts in zip(_Moments._fields, zip(*moments))}


def _scaled(g: Any, old: _Moments, p: Any, dims: tuple[int, int] | None, decay: Any,
            epsilon: float) -> tuple[Any, _Moments]:
    """The gradient, and the means with it."""
    squares, none = g * g + epsilon, wnp.zeros((1,), p.dtype)

    def mean(before: Any, now: Any) -> Any:
        return (decay * before + (1.0 - decay) * now).astype(p.dtype)

    if dims is None:
        new = mean(old.v, squares)
        return g * new ** -0.5, _Moments(none, none, new)
    d1, d0 = dims
    row, column = mean(old.v_row, squares.mean(d0)), mean(old.v_col, squares.mean(d1))
    of_rows = row / row.mean(d1 - 1 if d1 > d0 else d1, keepdims=True)
    scaled = g * wnp.expand_dims(of_rows ** -0.5, d0) * wnp.expand_dims(column ** -0.5, d1)
    return scaled, _Moments(row, column, none)


def scale_by_param_block_rms(min_scale: float = 1e-3) -> Transform:
    """The gradient of each parameter times the root of the mean of its squares, or `min_scale` if that
    is larger."""
    def update(grads: Any, state: dict, params: Any) -> tuple[Any, dict]:
        def scaled(g: Any, p: Any) -> Any:
            return g * wnp.maximum(wnp.sqrt(wnp.mean(p * p)), min_scale)

        return trees.map(scaled, grads, params), {}

    return Transform("scale_by_param_block_rms", lambda params: {}, update)
