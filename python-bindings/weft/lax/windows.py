# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, maxima and minima of windows."""

from typing import Any, Callable, Sequence

from ..eager import function_of
from ..numpy import elementwise as el
from ..tracing import elements, ops, window_ops
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from .padding import amounts_of, check_counts, numbers_of

_KINDS = {el.add: "sum", el.maximum: "max", el.minimum: "min"}


def reduce_window(operand: Any, init_value: Any, computation: Callable, window_dimensions: Sequence[int],
                  window_strides: Sequence[int] | None = None, padding: Any = "VALID",
                  base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None) -> Tracer:
    """The elements of each window combined by weft.lax.add, max or min, and with init_value."""
    function = "reduce_window"
    x = as_tracer(operand)
    computation = function_of(computation)
    if x.element.kind != "f" or computation not in _KINDS:
        raise TypeError(f"{user_line()}: {function} takes floats, and weft.lax.add, max or min, "
                        f"got {x!r} and {getattr(computation, '__name__', computation)}")
    kind = _KINDS[computation]
    neutral = window_ops.NEUTRAL[kind]
    rank = len(x.shape)
    sizes, strides, spread, dilation = (numbers_of(name, numbers, rank, function) for name, numbers in (
        ("window_dimensions", window_dimensions), ("window_strides", window_strides),
        ("base_dilation", base_dilation), ("window_dilation", window_dilation)))
    windows = [window_ops.dilated(*pair) for pair in zip(sizes, dilation)]
    rooms = [window_ops.dilated(*pair) for pair in zip(x.shape, spread)]
    amounts = amounts_of(padding, rooms, windows, strides, function)
    rooms = [room + low + high for room, (low, high) in zip(rooms, amounts)]
    check_counts(x.shape, [(room - window) // stride + 1 for room, window, stride in zip(rooms, windows, strides)],
                 rooms, windows, function)
    element = x.element
    if kind == "sum":  # rounded once
        x = ops.convert(x, elements.to_computed(element))
    # What windows cannot say themselves of what is around the elements.
    before = [n > 1 or min(amount) < 0 for n, amount in zip(spread, amounts)]
    around = [(0, 0) if is_before else amount for is_before, amount in zip(before, amounts)]
    amounts = [amount if is_before else (0, 0) for is_before, amount in zip(before, amounts)]
    x = ops.pad(x, neutral, [max(low, 0) for low, _ in amounts], [max(high, 0) for _, high in amounts],
                [n - 1 for n in spread])
    x = ops.slice_in_dims(x, [max(-low, 0) for low, _ in amounts],
                          [size + min(high, 0) for size, (_, high) in zip(x.shape, amounts)], [1] * rank)
    # The last dimension first: the first maximum is then in the first row that has it.
    for dim in reversed(range(rank)):
        x = window_ops.reduce_window(kind, x, dim, sizes[dim], strides[dim], dilation[dim], around[dim])
    init = as_tracer(init_value)
    if init.splat != neutral:
        x = computation(x, ops.convert(init, x.element))
    return ops.convert(x, element)
