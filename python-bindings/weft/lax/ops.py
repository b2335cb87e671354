# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of jax.lax that weft.numpy has under another name or not at all."""

import builtins
import math
from typing import Any, Sequence

from ..numpy import creation, elementwise as el, indexing, ordering, reductions, shapes as sh
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def div(x: Any, y: Any) -> Tracer:
    """The quotient; of integers, rounded towards zero."""
    x, y = el.together("div", x, y)
    return ops.binary("arith.divf" if x.element.kind == "f" else "arith.divsi", x, y, x.weak)


def rem(x: Any, y: Any) -> Tracer:
    """The remainder of div, which has the sign of x."""
    x, y = el.together("rem", x, y)
    return ops.binary("arith.remf" if x.element.kind == "f" else "arith.remsi", x, y, x.weak)


def integer_pow(x: Any, y: int) -> Tracer:
    return el.integer_power(as_tracer(x), y)


def convert_element_type(x: Any, new_dtype: Any) -> Tracer:
    return creation.astype(x, new_dtype)


def select(pred: Any, on_true: Any, on_false: Any) -> Tracer:
    """Elements of on_true where pred, of one shape or a scalar, holds."""
    pred, on_true, on_false = (as_tracer(x) for x in (pred, on_true, on_false))
    if on_true.shape != on_false.shape or pred.shape not in ((), on_true.shape):
        raise ShapeError(f"{user_line()}: select: shapes {pred.shape}, {on_true.shape} and "
                         f"{on_false.shape} must be equal; weft.numpy.where broadcasts")
    return el.where(pred, on_true, on_false)


def clamp(min: Any, x: Any, max: Any) -> Tracer:  # noqa: A002
    """x limited to [min, max]. On a bound the derivative is zero, unlike that of clip."""
    min, x, max = el.together("clamp", min, x, max)
    if x.element.kind == "f":
        return ops.clamp(min, x, max)
    return el.minimum(el.maximum(x, min), max)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tracer:
    return creation.full(shape, fill_value, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tracer:
    return creation.full_like(x, fill_value, dtype, shape)


def iota(dtype: Any, size: int) -> Tracer:
    return creation.arange(size, dtype=dtype)


def broadcast(operand: Any, sizes: Sequence[int]) -> Tracer:
    """New dimensions in front."""
    return sh.broadcast_to(operand, (*sizes, *sh.shape(operand)))


def broadcast_in_dim(operand: Any, shape: Sequence[int],
                     broadcast_dimensions: Sequence[int]) -> Tracer:
    """Dimension i of the operand becomes broadcast_dimensions[i] of the result."""
    x, shape = as_tracer(operand), sh.shape_of(shape)
    dims = list(broadcast_dimensions)
    if len(dims) != len(x.shape) or any(
            n not in (1, shape[dim]) for n, dim in zip(x.shape, dims)):
        raise ShapeError(f"{user_line()}: broadcast_in_dim: shape {x.shape} does not become dimensions "
                         f"{tuple(dims)} of {shape}")
    return ops.broadcast_in_dim(x, shape, dims)


def concatenate(operands: Sequence[Any], dimension: int) -> Tracer:
    return sh.concatenate(operands, dimension)


def slice(operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int],  # noqa: A001
          strides: Sequence[int] | None = None) -> Tracer:
    x = as_tracer(operand)
    steps = strides or [1] * len(x.shape)
    return x[tuple(map(builtins.slice, start_indices, limit_indices, steps))]


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1,
                 axis: int = 0) -> Tracer:
    x = as_tracer(operand)
    dim = sh.axis_of(axis, len(x.shape), "slice_in_dim")
    return x[(builtins.slice(None),) * dim + (builtins.slice(start_index, limit_index, stride),)]


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Tracer:
    """`slice_size` elements from a traced index on, which is moved so that they fit."""
    x = as_tracer(operand)
    dim = sh.axis_of(axis, len(x.shape), "dynamic_slice")
    n = x.shape[dim]
    start = as_tracer(start_index)
    if start.splat is not None:
        first = max(0, min(start.splat + n * (start.splat < 0), n - slice_size))
        return sh.slice_dim(x, dim, first, first + slice_size)
    start = el.clip(el.where(el.less(start, 0), el.add(start, n), start), 0, n - slice_size)
    indices = el.add(start, creation.arange(slice_size, dtype=start.dtype))
    return indexing.take(x, indices, dim, mode="clip")


def dynamic_slice(operand: Any, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> Tracer:
    x = as_tracer(operand)
    for dim, (start, size) in enumerate(zip(start_indices, slice_sizes)):
        x = dynamic_slice_in_dim(x, start, size, dim)
    return x


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Tracer:
    x = dynamic_slice_in_dim(operand, index, 1, axis)
    return x if keepdims else sh.squeeze(x, axis)


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Tracer:
    """Low, high and interior padding of each dimension; negative amounts remove."""
    x = as_tracer(operand)
    value = ops.convert(as_tracer(padding_value), x.element)
    if value.splat is None:
        raise TypeError(f"{user_line()}: pad takes a number as padding_value, got {value!r}")
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    x = ops.pad(x, value.splat, [max(n, 0) for n in low], [max(n, 0) for n in high], interior)
    return ops.slice_in_dims(x, [max(-n, 0) for n in low],
                             [size + min(n, 0) for size, n in zip(x.shape, high)],
                             [1] * len(x.shape))


def reduce_sum(operand: Any, axes: Any) -> Tracer:
    return reductions.sum(operand, axes)


def reduce_max(operand: Any, axes: Any) -> Tracer:
    return reductions.max(operand, axes)


def reduce_min(operand: Any, axes: Any) -> Tracer:
    return reductions.min(operand, axes)


def reduce_prod(operand: Any, axes: Any) -> Tracer:
    return reductions.prod(operand, axes, as_tracer(operand).element.numpy)


def reduce_and(operand: Any, axes: Any) -> Tracer:
    return reductions.all(operand, axes)


def reduce_or(operand: Any, axes: Any) -> Tracer:
    return reductions.any(operand, axes)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Tracer:
    return creation.astype(reductions.argmax(operand, axis), index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Tracer:
    return creation.astype(reductions.argmin(operand, axis), index_dtype)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Tracer:
    return reductions.running("add", operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Tracer:
    return reductions.running("multiply", operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Tracer:
    return reductions.running("max", operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Tracer:
    return reductions.running("min", operand, axis, reverse)


def rev(operand: Any, dimensions: Sequence[int]) -> Tracer:
    return sh.flip(operand, tuple(dimensions))


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """A tensor sorted along a dimension, or several by the first `num_keys` of them."""
    if not isinstance(operand, (list, tuple)):
        return ordering.sort(operand, dimension)
    operands = [as_tracer(x) for x in operand]
    if not operands or any(x.shape != operands[0].shape for x in operands) or not 0 < num_keys <= len(operands):
        raise ShapeError(f"{user_line()}: sort takes tensors of one shape, and 1 to all of them as keys, got "
                         f"{operands} and num_keys={num_keys}")
    dim = sh.axis_of(dimension, len(operands[0].shape), "sort")
    order = ops.argsort(operands[num_keys - 1], dim, False)
    for key in reversed(operands[:num_keys - 1]):
        order = ordering.take_rows(order, ops.argsort(ordering.take_rows(key, order, dim), dim, False), dim)
    return tuple(ordering.take_rows(x, order, dim) for x in operands)


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Tracer, Tracer]:
    return sort((keys, values), dimension)


def top_k(operand: Any, k: int) -> tuple[Tracer, Tracer]:
    """The `k` greatest elements along the last dimension, the greatest first, and their indices."""
    x = as_tracer(operand)
    dim = sh.axis_of(-1, len(x.shape), "top_k")
    if not 0 < k <= x.shape[dim]:
        raise ShapeError(f"{user_line()}: top_k: k must be from 1 to {x.shape[dim]}, the size of the last "
                         f"dimension, got {k}")
    first = ops.argsort(x, dim, True, k)
    return ordering.take_rows(x, first, dim), first


def ragged_dot(lhs: Any, rhs: Any, group_sizes: Any) -> Tracer:
    """Rows of lhs [rows, k] in groups of sizes that need not be known, the first rows in the first
    group, each group times its matrix of rhs [groups, k, n]; 0 for rows behind the last group."""
    x, y = el.promoted(lhs, rhs)
    sizes = as_tracer(group_sizes)
    if (len(x.shape) != 2 or len(y.shape) != 3 or x.shape[1] != y.shape[1] or sizes.shape != y.shape[:1]
            or sizes.element.kind != "i" or x.element.kind != "f"):
        raise ShapeError(f"{user_line()}: ragged_dot takes floats [rows, k] and [groups, k, n], and an integer "
                         f"for each group, got {x!r}, {y!r} and {sizes!r}")
    sizes = ops.convert(sizes, elements.INT32)
    result = ops.grouped_dot(sh.expand_dims(x, 0), y, sh.expand_dims(sizes, 0))
    return ops.reshape(result, result.shape[1:])


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Tracer:
    x = as_tracer(operand)
    starts = [0] * len(x.shape)
    starts[sh.axis_of(axis, len(x.shape), "dynamic_update_slice")] = start_index
    return dynamic_update_slice(x, update, starts)


def dynamic_update_slice(operand: Any, update: Any, start_indices: Sequence[Any]) -> Tracer:
    """`operand` with `update` from traced indices on, which are moved so that it fits."""
    x = as_tracer(operand)
    update = ops.convert(as_tracer(update), x.element)
    is_updated = None
    for dim, (start, size) in enumerate(zip(start_indices, x.shape)):
        count = update.shape[dim]
        if count == size:
            continue
        start = as_tracer(start)
        start = el.clip(el.where(el.less(start, 0), el.add(start, size), start), 0, size - count)
        index = el.subtract(ops.iota((size,), elements.INT32, 0), ops.convert(start, elements.INT32))
        update = ops.gather(update, index, dim)
        # Without sign, what is before the start is behind the end.
        here = ops.broadcast_in_dim(ops.compare("ult", index, ops.full(count, index)), x.shape, [dim])
        is_updated = here if is_updated is None else el.logical_and(is_updated, here)
    return update if is_updated is None else ops.select(is_updated, ops.broadcast_in_dim(
        update, x.shape, range(len(x.shape))), x)


# Giles, Approximating the erfinv function (2010), in single and in double precision: polynomials,
# highest power first, in w - 2.5 or w - 3.125 and then in sqrt(w) less a number, for w =
# -log(1 - x^2) below each limit in turn.
_ERF_INV_FLOAT32 = (
    (5.0, 2.5, (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)),
    (math.inf, 3.0, (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)))
_ERF_INV_FLOAT64 = (
    (6.25, 3.125, (
        -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18,
        1.115787767802518096e-17, -1.333171662854620906e-16, 2.0972767875968561637e-17,
        6.6376381343583238325e-15, -4.0545662729752068639e-14, -8.1519341976054721522e-14,
        2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
        1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08,
        4.2347877827932403518e-07, -1.3654692000834678645e-06, -1.3882523362786468719e-05,
        0.0001867342080340571352, -0.00074070253416626697512, -0.0060336708714301490533,
        0.24015818242558961693, 1.6536545626831027356)),
    (16.0, 3.25, (
        2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
        1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
        2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
        6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
        0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
        -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
        3.0838856104922207635)),
    (math.inf, 5.0, (
        -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
        -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
        2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
        -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
        7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
        1.0103004648645343977, 4.8499064014085844221)))


def _minus_log_of_complement(x: Tracer) -> Tracer:
    """-log(1 - x^2) in float64. Near 1 the square has no digits left to be 1 without: 1 - |x| is exact."""
    size = el.abs(x)
    is_small = el.less(size, 0.5)
    # What a branch is not chosen for is replaced, so that no derivative is infinite.
    square = el.square(el.where(is_small, x, ops.zeros_like(x)))
    outer = el.where(is_small, ops.full(0.5, x), size)
    product = el.multiply(el.subtract(1, outer), el.add(1, outer))
    return el.negative(el.where(is_small, el.log1p(el.negative(square)), el.log(product)))


def _polynomial(coefficients: Sequence[float], t: Tracer) -> Tracer:
    result = ops.full(coefficients[0], t)
    for c in coefficients[1:]:
        result = el.add(ops.full(c, t), el.multiply(result, t))
    return result


def erf_inv(x: Any) -> Tracer:
    """The inverse of the error function; of narrower types than float32 in that."""
    x = el.inexact(x)
    wide = x if x.element is elements.FLOAT64 else ops.convert(x, elements.FLOAT32)
    at_end = el.equal(el.abs(wide), 1.0)
    inner = el.where(at_end, ops.zeros_like(wide), wide)
    if wide.element is elements.FLOAT64:
        pieces, w = _ERF_INV_FLOAT64, _minus_log_of_complement(inner)
    else:
        pieces, w = _ERF_INV_FLOAT32, el.negative(el.log1p(el.negative(el.square(inner))))
    near, far = pieces[0], pieces[1:]
    is_near = el.less(w, near[0])
    root = el.sqrt(el.where(is_near, ops.full(near[0], w), w))
    result = _polynomial(far[-1][2], el.subtract(root, far[-1][1]))
    for limit, center, coefficients in reversed(far[:-1]):
        result = el.where(el.less(w, limit), _polynomial(coefficients, el.subtract(root, center)), result)
    centered = el.subtract(el.where(is_near, w, ops.full(near[0], w)), near[1])
    result = el.where(is_near, _polynomial(near[2], centered), result)
    ends = el.multiply(el.where(at_end, wide, 1), math.inf)
    return ops.convert(el.where(at_end, ends, el.multiply(result, inner)), x.element)
