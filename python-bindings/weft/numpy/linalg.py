# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one function of jax.numpy.linalg that training steps need."""

from typing import Any

from ..eager import eager
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import elementwise as el
from . import reductions as red
from . import shapes as sh


@eager
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:  # noqa: A002
    """The square root of the sum of squares; with `ord` 1 or infinity the sum or the
    maximum of absolute values of vectors."""
    x = el.inexact(x)
    rank = len(as_tracer(x).shape if axis is None else sh.axes_of(axis, len(x.shape), "norm"))
    if ord in (None, "fro") or ord == 2 and rank == 1:
        return el.sqrt(red.sum(el.square(x), axis, keepdims=keepdims))
    if rank == 1 and ord == 1:
        return red.sum(el.abs(x), axis, keepdims=keepdims)
    if rank == 1 and ord == float("inf"):
        return red.max(el.abs(x), axis, keepdims=keepdims)
    raise NotImplementedError(f"{user_line()}: norm of {rank} dimensions with ord={ord!r} is not "
                              "supported; use the Frobenius norm (ord=None)")
