# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that order elements: argsort is an op, and a gather at its indices sorts."""

from typing import Any

from ..tracing import ops
from ..tracing.graph import as_tracer
from ..tracing.tracer import Tracer
from . import shapes as sh


def take_rows(x: Tracer, indices: Tracer, dim: int) -> Tracer:
    """The elements along `dim` at indices, which are in range, for each row."""
    others = [d for d in range(len(x.shape)) if d != dim]
    return ops.gather(x, indices, dim, (others, others))


def _along(x: Any, axis: Any, function: str) -> tuple[Tracer, int]:
    x = as_tracer(x)
    if axis is None:
        x, axis = sh.ravel(x), 0
    return x, sh.axis_of(axis, len(x.shape), function)


def argsort(x: Any, axis: int | None = -1, stable: bool = True, descending: bool = False) -> Tracer:
    """The indices that sort x along an axis, or all elements; a NaN is greater than all numbers."""
    x, dim = _along(x, axis, "argsort")
    return ops.argsort(x, dim, descending)


def sort(x: Any, axis: int | None = -1, stable: bool = True, descending: bool = False) -> Tracer:
    """The elements along an axis, or all of them, from the least to the greatest."""
    x, dim = _along(x, axis, "sort")
    return take_rows(x, ops.argsort(x, dim, descending), dim)
