# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of jax.numpy that MLPs and transformers need, for use in functions
given to weft.jit.

    import weft.numpy as wnp

They are named and behave as in jax.numpy; docs/Python.md lists where they differ.
"""

import math as _math
import types as _types
from typing import Any as _Any

import numpy as _np

from ..eager import make_eager as _make_eager
from ..tracing.elements import bfloat16, element_type as _element_type
from ..tracing.graph import as_tracer as _as_tracer
from ..tracing.tracer import Tracer as ndarray
from . import linalg
from .creation import (
    arange, array, asarray, astype, copy, empty, empty_like, eye, full, full_like, identity,
    linspace, meshgrid, ones, ones_like, tri, tril, triu, zeros, zeros_like)
from .elementwise import (
    abs, absolute, add, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, broadcast_shapes, ceil,
    clip, cos, cosh, divide, divmod, equal, exp, exp2, expm1, floor, floor_divide, greater,
    greater_equal, invert, isfinite, isinf, isnan, left_shift, less, less_equal, log, log10, log1p,
    log2, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, mod,
    multiply, nan_to_num, negative, not_equal, positive, pow, power, reciprocal, remainder,
    right_shift, rint, round, sign, sin, sinh, sqrt, square, subtract, tan, tanh, true_divide,
    trunc, where)
from .indexing import take, take_along_axis
from .methods import attach as _attach
from .ordering import argsort, sort
from .products import dot, einsum, inner, matmul, outer, tensordot, vdot
from .reductions import (
    all, amax, amin, any, argmax, argmin, average, count_nonzero, cumprod, cumsum, diag, diagonal,
    max, mean, min, prod, ptp, std, sum, trace, var)
from .shapes import (
    array_split, atleast_1d, atleast_2d, broadcast_arrays, broadcast_to, concat, concatenate,
    expand_dims, flip, hstack, matrix_transpose, moveaxis, ndim, pad, permute_dims, ravel, repeat,
    reshape, roll, shape, size, split, squeeze, stack, swapaxes, tile, transpose, unstack, vstack)

pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
bool_, int8, int16, int32, int64 = _np.bool_, _np.int8, _np.int16, _np.int32, _np.int64
float16, float32, float64 = _np.float16, _np.float32, _np.float64
floating, integer, inexact, number = _np.floating, _np.integer, _np.inexact, _np.number

_attach()
_make_eager(globals(), "array", "asarray", "broadcast_shapes")


def dtype(name: _Any):
    """The dtype of a name or type."""
    return _element_type(name).numpy


def result_type(*values: _Any):
    """The dtype that values and dtypes have in common."""
    from ..tracing import elements
    parts = [value if isinstance(value, (ndarray, int, float, _np.ndarray, _np.generic))
             else full((), 0, value) for value in values]
    return elements.promote(*map(_as_tracer, parts))[0].numpy


promote_types = result_type


def issubdtype(value: _Any, kind: _Any) -> bool:
    """Whether a dtype is of a kind, as numpy.issubdtype; bfloat16 is floating."""
    try:
        element = _element_type(value)
    except TypeError:
        return _np.issubdtype(value, kind)
    if element.name == "bfloat16" and kind in (floating, inexact, number):
        return True
    return _np.issubdtype(element.numpy, kind)


_LARGEST = 3.3895313892515355e38
_BFLOAT16 = _types.SimpleNamespace(
    bits=16, nmant=7, nexp=8, eps=2.0**-7, max=_LARGEST, min=-_LARGEST, tiny=2.0**-126,
    smallest_normal=2.0**-126, dtype=_element_type("bfloat16").numpy)


def finfo(value: _Any):
    """Limits of a type of floats, as numpy.finfo."""
    element = _element_type(value)
    return _BFLOAT16 if element.name == "bfloat16" else _np.finfo(element.numpy)


def iinfo(value: _Any):
    """Limits of a type of integers, as numpy.iinfo."""
    return _np.iinfo(_element_type(value).numpy)


def __getattr__(name: str):
    import numpy
    if not name.startswith("_") and hasattr(numpy, name):
        raise AttributeError(
            f"weft.numpy has no {name}; docs/Python.md lists the functions that are supported")
    raise AttributeError(f"module 'weft.numpy' has no attribute {name!r}")
