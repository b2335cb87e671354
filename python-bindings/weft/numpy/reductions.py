# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that combine elements along dimensions.

Sums of bfloat16 and float16 are formed in float32, as in JAX; sums of bools, int8 and int16 in int32.
"""

import builtins
import math
import operator
from typing import Any, Callable

from ..tracing import elements, ops
from ..tracing.elements import ElementType
from ..tracing.graph import as_tracer, current_graph
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import elementwise as el
from . import shapes as sh


def _keep(result: Tracer, x: Tracer, dims: tuple[int, ...], keepdims: bool) -> Tracer:
    """`result` with the reduced dimensions of x as dimensions of size 1."""
    if not keepdims:
        return result
    return ops.reshape(result, tuple(1 if d in dims else n for d, n in enumerate(x.shape)))


def _masked(x: Tracer, where: Any, neutral: Any) -> Tracer:
    return x if where is None else el.where(where, x, ops.full(neutral, x))


def _sum_type(x: Tracer, dtype: Any) -> tuple[ElementType, ElementType]:
    """The types of a sum and of its result."""
    result = x.element if dtype is None else elements.element_type(dtype)
    if dtype is None and result in (elements.BOOL, elements.INT8, elements.INT16):
        result = elements.INT32
    return elements.to_computed(result), result


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,  # noqa: A001
        initial: Any = None, where: Any = None) -> Tracer:
    x = as_tracer(x)
    dims = sh.axes_of(axis, len(x.shape), "sum")
    computed, result = _sum_type(x, dtype)
    terms = _masked(ops.convert(x, computed), where, 0)
    total = _keep(ops.reduce("sum", terms, dims), terms, dims, keepdims)
    if initial is not None:
        total = el.add(total, initial)
    return ops.convert(total, result)


def _count(x: Tracer, dims: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """How many elements a mean is over: a number, or a tensor under a mask."""
    if where is None:
        return math.prod(x.shape[dim] for dim in dims)
    mask = el.broadcast_tracer(el.to_bool(where), x.shape)
    return sum(mask, dims, elements.FLOAT32, keepdims)


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         where: Any = None) -> Tracer:
    x = as_tracer(x)
    dims = sh.axes_of(axis, len(x.shape), "mean")
    result = elements.to_inexact(x.element) if dtype is None else elements.element_type(dtype)
    computed = elements.to_computed(result)
    total = sum(x, dims, computed, keepdims, where=where)
    return ops.convert(el.divide(total, _count(x, dims, where, keepdims)), result)


def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Tracer:
    """The mean, weighted if weights of the shape of x are given."""
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    x, weights = el.together("average", x, weights, inexact=True)
    return el.divide(sum(el.multiply(x, weights), axis, keepdims=keepdims),
                     sum(weights, axis, keepdims=keepdims))


def var(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False,
        where: Any = None, mean: Any = None, correction: Any = None) -> Tracer:
    """The mean of squared distances from the mean; `ddof` is taken from the count."""
    x = as_tracer(x)
    dims = sh.axes_of(axis, len(x.shape), "var")
    result = elements.to_inexact(x.element) if dtype is None else elements.element_type(dtype)
    computed = elements.to_computed(result)
    x = ops.convert(x, computed)
    if mean is None:
        mean = _mean(x, dims, keepdims=True, where=where)
    squares = el.square(el.subtract(x, mean))
    count = el.subtract(_count(x, dims, where, keepdims), ddof if correction is None else correction)
    total = sum(squares, dims, keepdims=keepdims, where=where)
    return ops.convert(el.divide(total, count), result)


_mean = mean


def std(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False,
        where: Any = None, mean: Any = None, correction: Any = None) -> Tracer:
    x = as_tracer(x)
    result = elements.to_inexact(x.element) if dtype is None else elements.element_type(dtype)
    # The variance of small numbers has fewer digits in float16 than its root.
    variance = var(x, axis, elements.to_computed(result), ddof, keepdims, where, mean, correction)
    return ops.convert(el.sqrt(variance), result)


def _limits(element: ElementType) -> tuple[Any, Any]:
    if element.kind == "f":
        return -math.inf, math.inf
    if element.kind == "b":
        return False, True
    limit = 1 << (element.bits - 1)
    return -limit, limit - 1


def _extreme(kind: str, combine: Callable, x: Any, axis: Any, keepdims: bool, initial: Any,
             where: Any) -> Tracer:
    x = as_tracer(x)
    dims = sh.axes_of(axis, len(x.shape), kind)
    if where is not None and initial is None:
        raise ValueError(f"{user_line()}: {kind} with `where` needs `initial`, the result where "
                         "nothing is selected")
    terms = _masked(x, where, _limits(x.element)[kind == "min"])
    result = _keep(ops.reduce(kind, terms, dims), terms, dims, keepdims)
    if initial is None:
        return ops.convert(result, x.element)
    return combine(result, ops.convert(as_tracer(initial), x.element))


def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None,  # noqa: A001
        where: Any = None) -> Tracer:
    return _extreme("max", el.maximum, x, axis, keepdims, initial, where)


def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None,  # noqa: A001
        where: Any = None) -> Tracer:
    return _extreme("min", el.minimum, x, axis, keepdims, initial, where)


amax, amin = max, min


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tracer:
    """The distance from the smallest element to the largest."""
    return el.subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tracer:  # noqa: A001
    return max(el.to_bool(x), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tracer:  # noqa: A001
    return min(el.to_bool(x), axis, keepdims)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tracer:
    return sum(el.to_bool(x), axis, keepdims=keepdims)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    """The product, half with half until one element is left: a tensor that is split
    over devices along the dimension is moved."""
    x = as_tracer(x)
    dims = sh.axes_of(axis, len(x.shape), "prod")
    computed, result = _sum_type(x, dtype)
    terms = ops.convert(x, computed)
    for dim in dims:
        while (n := terms.shape[dim]) > 1:
            half = n // 2
            halves = el.multiply(sh.slice_dim(terms, dim, 0, half),
                                 sh.slice_dim(terms, dim, half, 2 * half))
            rest = [sh.slice_dim(terms, dim, 2 * half, n)] if n % 2 else []
            terms = ops.concatenate([halves, *rest], dim)
    kept = tuple(n for d, n in enumerate(terms.shape) if keepdims or d not in dims)
    return ops.convert(ops.reshape(terms, kept), result)


def _shifted(x: Tracer, neutral: Any, dim: int, distance: int, reverse: bool) -> Tracer:
    """The element at a distance before each one, or behind it, and `neutral` where there is none."""
    n = x.shape[dim]
    edge = x.shape[:dim] + (distance,) + x.shape[dim + 1:]
    others = Tracer(None, None, edge, x.element, False, neutral)
    if reverse:
        return ops.concatenate([sh.slice_dim(x, dim, distance, n), others], dim)
    return ops.concatenate([others, sh.slice_dim(x, dim, 0, n - distance)], dim)


def _running_steps(combine: Callable, neutral: Any, x: Tracer, dim: int, reverse: bool) -> Tracer:
    distance = 1
    while distance < x.shape[dim]:
        x, distance = combine(x, _shifted(x, neutral, dim, distance, reverse)), 2 * distance
    return x


def _shards(size: int) -> int:
    """The most that a dimension may have by what is known of the mesh."""
    mesh, counts = current_graph().module.mesh, {1}
    for axis in mesh.axis_sizes if mesh is not None else ():
        counts |= {count * axis for count in counts if size % (count * axis) == 0}
    return builtins.max(counts)


def _running_blocks(combine: Callable, neutral: Any, x: Tracer, dim: int, reverse: bool) -> Tracer:
    """The steps within blocks stay on a device where these are shards, and devices exchange what their blocks
    combine to, one element each: as --weft-import-stablehlo does it."""
    size = x.shape[dim]
    blocks = _shards(size) if size else 1
    if blocks in (1, size):
        return _running_steps(combine, neutral, x, dim, reverse)
    each = size // blocks
    within = _running_steps(combine, neutral, ops.reshape(x, (*x.shape[:dim], blocks, each, *x.shape[dim + 1:])),
                            dim + 1, reverse)
    last = sh.slice_dim(within, dim + 1, *((0, 1) if reverse else (each - 1, each)))
    totals = ops.reshape(last, (*x.shape[:dim], blocks, *x.shape[dim + 1:]))
    before = _shifted(_running_steps(combine, neutral, totals, dim, reverse), neutral, dim, 1, reverse)
    return ops.reshape(combine(sh.expand_dims(before, dim + 1), within), x.shape)


def _running(name: str, combine: Callable, neutral: Any, x: Any, axis: Any, dtype: Any,
             reverse: bool = False) -> Tracer:
    """Combines every element with those before it, or those behind it, in a number of
    steps that is the logarithm of the size."""
    x = as_tracer(x)
    if axis is None:
        x, axis = sh.ravel(x), 0
    dim = sh.axis_of(axis, len(x.shape), name)
    computed, result = _sum_type(x, x.element if dtype is None and x.element.kind == "i" else dtype)
    return ops.convert(_running_blocks(combine, neutral, ops.convert(x, computed), dim, reverse), result)


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tracer:
    """Sums of the elements up to each index."""
    return _running("cumsum", el.add, 0, x, axis, dtype)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tracer:
    """Products of the elements up to each index."""
    return _running("cumprod", el.multiply, 1, x, axis, dtype)


def running(kind: str, x: Any, dim: int, reverse: bool) -> Tracer:
    """`kind` is add, multiply, max or min; from the last element on if `reverse`."""
    x = as_tracer(x)
    least, most = _limits(x.element)
    name, combine, neutral = {
        "add": ("cumsum", el.add, 0), "multiply": ("cumprod", el.multiply, 1), "max": ("cummax", el.maximum, least),
        "min": ("cummin", el.minimum, most)}[kind]
    return _running(name, combine, neutral, x, dim, x.element, reverse)


def _argument(extreme: Callable, x: Any, axis: Any, keepdims: bool) -> Tracer:
    """The smallest index at which the extreme, or else a NaN, is."""
    x = as_tracer(x)
    shape = (1,) * len(x.shape) if axis is None else None
    if axis is None:
        x, axis = sh.ravel(x), 0
    dim = sh.axis_of(axis, len(x.shape), "argmax")
    here = el.equal(x, extreme(x, dim, True))
    if x.element.kind == "f":
        here = el.logical_or(here, el.isnan(x))
    n = x.shape[dim]
    index = el.where(here, ops.iota(x.shape, elements.INT32, dim), n)
    result = min(index, dim, keepdims)
    return ops.reshape(result, shape) if shape and keepdims else result


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tracer:
    """The index of the largest element, the first one of several."""
    return _argument(max, x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tracer:
    """The index of the smallest element, the first one of several."""
    return _argument(min, x, axis, keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Tracer:
    """log(sum(exp(x))), which does not overflow."""
    from ..autodiff import stop_gradient
    x = el.inexact(x)
    dims = sh.axes_of(axis, len(x.shape), "logsumexp")
    largest = max(x, dims, True, initial=None if where is None else -math.inf, where=where)
    largest = stop_gradient(el.where(el.isfinite(largest), largest, ops.zeros_like(largest)))
    total = sum(el.exp(el.subtract(x, largest)), dims, keepdims=True, where=where)
    result = el.add(el.log(total), largest)
    if keepdims:
        return result
    return ops.reshape(result, tuple(n for d, n in enumerate(x.shape) if d not in dims))


def trace(x: Any) -> Tracer:
    """The sum of the diagonal of the first two dimensions."""
    return sum(diagonal(x), -1)


def diagonal(x: Any) -> Tracer:
    """The diagonal of the first two dimensions, as the last dimension."""
    x = as_tracer(x)
    if len(x.shape) < 2:
        raise ValueError(f"{user_line()}: diagonal takes a tensor of rank 2 or more, got {x!r}")
    n = builtins.min(x.shape[:2])
    x = sh.slice_dim(sh.slice_dim(x, 0, 0, n), 1, 0, n)
    on = ops.compare("eq", ops.iota(x.shape, elements.INT32, 0), ops.iota(x.shape, elements.INT32, 1))
    return sh.moveaxis(sum(el.where(on, x, ops.zeros_like(x)), 1), 0, -1)


def diag(x: Any, k: int = 0) -> Tracer:
    """The diagonal of a matrix, or the matrix with a vector as its diagonal: the main one, or
    the one `k` to its right."""
    x, k = as_tracer(x), operator.index(k)
    if len(x.shape) == 2:
        return _diagonal_of_matrix(x, k)
    if len(x.shape) != 1:
        raise ValueError(f"{user_line()}: diag takes a tensor of rank 1 or 2, got {x!r}")
    square = (x.size, x.size)
    on = ops.compare("eq", ops.iota(square, elements.INT32, 0), ops.iota(square, elements.INT32, 1))
    matrix = el.where(on, x, ops.zeros_like(x))
    width = builtins.abs(k)
    return sh.pad(matrix, ((0, width), (width, 0)) if k > 0 else ((width, 0), (0, width))) if k else matrix


def _diagonal_of_matrix(x: Tracer, k: int) -> Tracer:
    rows, columns = x.shape
    if not -rows < k < columns:
        raise ValueError(f"{user_line()}: diag: {x!r} has no diagonal {k}, only {1 - rows} to {columns - 1}")
    return diagonal(sh.slice_dim(x, 1, k, columns) if k >= 0 else sh.slice_dim(x, 0, -k, rows))
