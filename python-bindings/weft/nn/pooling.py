# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling, with the names and arguments of flax.linen: windows of the dimensions before the
last, which is that of features, and behind those of batches."""

import math
from typing import Any, Callable, Sequence

from ..lax import windows
from ..numpy import creation, elementwise as el, shapes as sh
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def pool(inputs: Any, init: Any, reduce_fn: Callable, window_shape: Sequence[int],
         strides: Sequence[int] | None = None, padding: Any = "VALID") -> Tracer:
    """The elements of each window combined by weft.lax.add, max or min. Windows move by 1 where
    there are no strides."""
    x = as_tracer(inputs)
    window = tuple(window_shape)
    batch = len(x.shape) - len(window) - 1
    steps = (1,) * len(window) if strides is None else tuple(strides)
    if batch < 0 or len(steps) != len(window):
        raise ShapeError(f"{user_line()}: pool: a window of {window} and strides {steps} do not fit shape {x.shape}, "
                         "whose last dimension is that of features")
    if not isinstance(padding, str):
        padding = [(0, 0)] * batch + [tuple(pair) for pair in padding] + [(0, 0)]
    ones = (1,) * batch
    return windows.reduce_window(x, init, reduce_fn, (*ones, *window, 1), (*ones, *steps, 1), padding)


def max_pool(inputs: Any, window_shape: Sequence[int], strides: Sequence[int] | None = None,
             padding: Any = "VALID") -> Tracer:
    """The largest element of each window."""
    return pool(inputs, -math.inf, el.maximum, window_shape, strides, padding)


def min_pool(inputs: Any, window_shape: Sequence[int], strides: Sequence[int] | None = None,
             padding: Any = "VALID") -> Tracer:
    """The smallest element of each window."""
    return pool(inputs, math.inf, el.minimum, window_shape, strides, padding)


def avg_pool(inputs: Any, window_shape: Sequence[int], strides: Sequence[int] | None = None,
             padding: Any = "VALID", count_include_pad: bool = True) -> Tracer:
    """The mean of each window, of which padding is a part unless count_include_pad is false."""
    total = pool(inputs, 0.0, el.add, window_shape, strides, padding)
    if count_include_pad:
        return el.divide(total, math.prod(window_shape))
    count = pool(creation.ones_like(inputs), 0.0, el.add, window_shape, strides, padding)
    return el.divide(total, count)
