# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of jax.lax that models written for JAX call.

Loops are unrolled: the body is traced anew for each step, and the graph grows with
the number of steps.
"""

from ..autodiff import stop_gradient
from ..constraint import with_sharding_constraint
from ..eager import make_eager as _make_eager
from ..numpy.elementwise import (
    abs, add, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, ceil, cos,
    equal as eq, erf, exp, expm1, floor, greater as gt, greater_equal as ge,
    isfinite as is_finite, less as lt, less_equal as le, log, log1p, logistic, maximum as max,
    minimum as min, multiply as mul, negative as neg, not_equal as ne, power as pow, reciprocal,
    round, rsqrt, sign, sin, sqrt, square, subtract as sub, tan, tanh)
from ..numpy.products import dot, dot_general
from ..numpy.shapes import expand_dims, reshape, squeeze, transpose
from .convolution import (
    ConvDimensionNumbers, conv, conv_dimension_numbers, conv_general_dilated, conv_transpose,
    conv_with_general_padding)
from .loops import cond, fori_loop, map, scan, switch
from .ops import (
    argmax, argmin, broadcast, broadcast_in_dim, clamp, concatenate, convert_element_type, cummax,
    cummin, cumprod, cumsum, div, dynamic_index_in_dim, dynamic_slice, dynamic_slice_in_dim,
    dynamic_update_slice, dynamic_update_slice_in_dim, erf_inv, full, full_like, integer_pow, iota,
    pad, ragged_dot, reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum, rem, rev, select,
    slice, slice_in_dim, sort, sort_key_val, top_k)
from .windows import reduce_window

_make_eager(globals(), "conv_dimension_numbers", "stop_gradient", "with_sharding_constraint")


def __getattr__(name: str):
    remedies = {
        "while_loop": "a trip count that depends on values cannot be unrolled; use fori_loop "
                      "or scan, with weft.numpy.where for steps that are not to count",
    }
    remedy = remedies.get(name, "docs/Python.md lists the functions that are supported")
    raise AttributeError(f"weft.lax has no {name}; {remedy}")
