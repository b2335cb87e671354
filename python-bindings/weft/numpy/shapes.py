# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that move elements and compute nothing."""

import builtins
import math
import operator
from typing import Any, Sequence

from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import elementwise as el


def axis_of(axis: int, rank: int, function: str) -> int:
    """The dimension that an axis, which may count from the end, means."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise ValueError(
            f"{user_line()}: {function}: axis {number} is out of bounds for a tensor of rank {rank}")
    return number % rank


def axes_of(axis: Any, rank: int, function: str) -> tuple[int, ...]:
    """The dimensions that None, an integer or a sequence of them means, in order."""
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    dims = tuple(axis_of(a, rank, function) for a in axes)
    if len(set(dims)) != len(dims):
        raise ValueError(f"{user_line()}: {function}: axes {tuple(axes)} name a dimension twice")
    return dims


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape given as an integer or a sequence of them."""
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(size) for size in shape)


def ndim(x: Any) -> int:
    return len(shape(x))


def shape(x: Any) -> tuple[int, ...]:
    return as_tracer(x).shape


def size(x: Any, axis: int | None = None) -> int:
    x = as_tracer(x)
    return x.size if axis is None else x.shape[axis]


# ===----------------------------------------------------------------------===
# One tensor
# ===----------------------------------------------------------------------===


def reshape(x: Any, shape: Any, order: str = "C") -> Tracer:
    """The same elements in row-major order; one size may be -1."""
    x = as_tracer(x)
    if order != "C":
        raise ValueError(f'{user_line()}: reshape works in row-major order "C" only, got {order!r}')
    sizes = list(shape_of(shape))
    if sizes.count(-1) == 1:
        rest = -math.prod(sizes)
        if rest > 0 and x.size % rest == 0:
            sizes[sizes.index(-1)] = x.size // rest
    if builtins.any(n < 0 for n in sizes) or math.prod(sizes) != x.size:
        raise ShapeError(
            f"{user_line()}: cannot reshape a tensor of shape {x.shape}, which has {x.size} "
            f"elements, into shape {shape_of(shape)}")
    return ops.reshape(x, tuple(sizes))


def ravel(x: Any) -> Tracer:
    return reshape(x, -1)


def transpose(x: Any, axes: Sequence[int] | None = None) -> Tracer:
    """Dimension i of the result is dimension axes[i]; by default they are reversed."""
    x = as_tracer(x)
    rank = len(x.shape)
    dims = tuple(range(rank))[::-1] if axes is None else axes_of(axes, rank, "transpose")
    if len(dims) != rank:
        raise ValueError(
            f"{user_line()}: transpose: a tensor of rank {rank} needs {rank} axes, got {tuple(axes)}")
    return ops.transpose(x, dims)


permute_dims = transpose


def matrix_transpose(x: Any) -> Tracer:
    """The last two dimensions swapped."""
    return swapaxes(x, -1, -2)


def swapaxes(x: Any, axis1: int, axis2: int) -> Tracer:
    x = as_tracer(x)
    rank = len(x.shape)
    a, b = axis_of(axis1, rank, "swapaxes"), axis_of(axis2, rank, "swapaxes")
    dims = list(range(rank))
    dims[a], dims[b] = b, a
    return ops.transpose(x, dims)


def moveaxis(x: Any, source: Any, destination: Any) -> Tracer:
    x = as_tracer(x)
    rank = len(x.shape)
    sources, targets = axes_of(source, rank, "moveaxis"), axes_of(destination, rank, "moveaxis")
    if len(sources) != len(targets):
        raise ValueError(f"{user_line()}: moveaxis: {len(sources)} sources, but {len(targets)} "
                         "destinations")
    dims = [dim for dim in range(rank) if dim not in sources]
    for target, dim in sorted(zip(targets, sources)):
        dims.insert(target, dim)
    return ops.transpose(x, dims)


def expand_dims(x: Any, axis: Any) -> Tracer:
    """Adds dimensions of size 1 at these positions of the result."""
    x = as_tracer(x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    positions = axes_of(axis, len(x.shape) + count, "expand_dims")
    sizes = list(x.shape)
    for position in sorted(positions):
        sizes.insert(position, 1)
    return ops.reshape(x, tuple(sizes))


def squeeze(x: Any, axis: Any = None) -> Tracer:
    """Removes dimensions of size 1: all, or those given."""
    x = as_tracer(x)
    if axis is None:
        dims = [dim for dim, n in enumerate(x.shape) if n == 1]
    else:
        dims = axes_of(axis, len(x.shape), "squeeze")
        for dim in dims:
            if x.shape[dim] != 1:
                raise ValueError(f"{user_line()}: squeeze: dimension {dim} of shape {x.shape} has "
                                 f"size {x.shape[dim]}, not 1")
    return ops.reshape(x, tuple(n for dim, n in enumerate(x.shape) if dim not in dims))


def broadcast_to(x: Any, shape: Any) -> Tracer:
    x, target = as_tracer(x), shape_of(shape)
    if len(target) < len(x.shape) or el.broadcast_shapes(
            x.shape, target, function="broadcast_to") != target:
        raise ShapeError(f"{user_line()}: broadcast_to: shape {x.shape} does not broadcast to "
                         f"{target}")
    return el.broadcast_tracer(x, target)


def broadcast_arrays(*xs: Any) -> list[Tracer]:
    values = [as_tracer(x) for x in xs]
    common = el.broadcast_shapes(*(v.shape for v in values), function="broadcast_arrays")
    return [el.broadcast_tracer(v, common) for v in values]


def repeat(x: Any, repeats: int, axis: int | None = None,
           total_repeat_length: int | None = None) -> Tracer:
    """Every element `repeats` times in a row."""
    x = as_tracer(x)
    if axis is None:
        x, axis = ravel(x), 0
    try:
        count = operator.index(repeats)
    except TypeError:
        raise TypeError(f"{user_line()}: repeat takes a Python integer as repeats: with another "
                        "number for each element the shape would depend on values") from None
    dim = axis_of(axis, len(x.shape), "repeat")
    before, n, after = x.shape[:dim], x.shape[dim], x.shape[dim + 1:]
    wide = ops.broadcast_in_dim(x, (*before, n, count, *after),
                                [d + (d > dim) for d in range(len(x.shape))])
    result = ops.reshape(wide, (*before, n * count, *after))
    if total_repeat_length is not None and total_repeat_length != n * count:
        raise ValueError(f"{user_line()}: repeat: total_repeat_length is {total_repeat_length}, but "
                         f"{n} elements repeated {count} times are {n * count}")
    return result


def tile(x: Any, reps: Any) -> Tracer:
    """The whole tensor `reps[i]` times along each dimension."""
    x, counts = as_tracer(x), shape_of(reps)
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - len(x.shape)) + x.shape
    wide = tuple(n for pair in zip(counts, sizes) for n in pair)
    kept = [2 * dim + 1 for dim in range(rank - len(x.shape), rank)]
    return ops.reshape(ops.broadcast_in_dim(x, wide, kept),
                       tuple(count * n for count, n in zip(counts, sizes)))


def flip(x: Any, axis: Any = None) -> Tracer:
    """The elements in reverse order."""
    x = as_tracer(x)
    for dim in axes_of(axis, len(x.shape), "flip"):
        x = ops.reverse(x, dim)
    return x


def roll(x: Any, shift: Any, axis: Any = None) -> Tracer:
    """Moves elements forward; those that leave at the end come in at the front."""
    x = as_tracer(x)
    if axis is None:
        return ops.reshape(roll(ravel(x), shift, 0), x.shape)
    dims = axes_of(axis, len(x.shape), "roll")
    shifts = shape_of(shift)
    for dim, by in zip(dims, shifts * len(dims) if len(shifts) == 1 else shifts):
        cut = -by % x.shape[dim]
        if cut:
            x = ops.concatenate([slice_dim(x, dim, cut, x.shape[dim]), slice_dim(x, dim, 0, cut)],
                                dim)
    return x


def slice_dim(x: Tracer, dim: int, start: int, limit: int, stride: int = 1) -> Tracer:
    """x[..., start:limit:stride, ...] along one dimension."""
    starts, limits, strides = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[dim], limits[dim], strides[dim] = start, limit, stride
    return ops.slice_in_dims(x, starts, limits, strides)


def _pad_widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * rank
    widths = [tuple(w) if isinstance(w, (tuple, list)) else w for w in pad_width]
    if builtins.all(isinstance(w, int) for w in widths):  # (before, after) or (both,)
        return [(widths[0], widths[-1])] * rank
    widths = [(w[0], w[-1]) for w in widths]
    if len(widths) == 1:
        return widths * rank
    if len(widths) != rank:
        raise ValueError(f"{user_line()}: pad: {len(widths)} pairs of widths for a tensor of rank "
                         f"{rank}")
    return widths


def pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0) -> Tracer:
    """Puts a number around the elements; `pad_width` is as in numpy.pad."""
    x = as_tracer(x)
    if mode != "constant":
        raise NotImplementedError(f'{user_line()}: pad works in mode "constant" only, got {mode!r}')
    widths = _pad_widths(pad_width, len(x.shape))
    if builtins.any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"{user_line()}: pad: widths must not be negative, got {pad_width}")
    value = ops.convert(as_tracer(constant_values), x.element)
    if value.splat is None:
        raise TypeError(f"{user_line()}: pad takes a number as constant_values, got {value!r}")
    low, high = zip(*widths) if widths else ((), ())
    return ops.pad(x, value.splat, low, high, [0] * len(widths))


# ===----------------------------------------------------------------------===
# Several tensors
# ===----------------------------------------------------------------------===


def _sequence(arrays: Any, function: str) -> list[Tracer]:
    if isinstance(arrays, Tracer):
        return list(arrays)
    values = el.promoted(*arrays)
    if not values:
        raise ValueError(f"{user_line()}: {function} needs at least one tensor")
    return values


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Tracer:
    """The tensors one after the other along a dimension."""
    values = _sequence(arrays, "concatenate")
    if axis is None:
        values, axis = [ravel(v) for v in values], 0
    rank = len(values[0].shape)
    dim = axis_of(axis, rank, "concatenate")
    for value in values:
        if len(value.shape) != rank or builtins.any(
                a != b for d, (a, b) in enumerate(zip(value.shape, values[0].shape)) if d != dim):
            raise ShapeError(
                f"{user_line()}: concatenate: shapes {values[0].shape} and {value.shape} must be "
                f"equal but for dimension {dim}")
    return ops.concatenate(values, dim)


concat = concatenate


def stack(arrays: Sequence[Any], axis: int = 0) -> Tracer:
    """The tensors one after the other along a new dimension."""
    values = _sequence(arrays, "stack")
    for value in values:
        if value.shape != values[0].shape:
            raise ShapeError(f"{user_line()}: stack: shapes {values[0].shape} and {value.shape} "
                             "must be equal")
    return concatenate([expand_dims(v, axis) for v in values], axis)


def atleast_1d(x: Any) -> Tracer:
    x = as_tracer(x)
    return x if x.shape else ops.reshape(x, (1,))


def atleast_2d(x: Any) -> Tracer:
    x = as_tracer(x)
    return x if len(x.shape) > 1 else ops.reshape(x, (1, x.size))


def vstack(arrays: Sequence[Any]) -> Tracer:
    return concatenate([atleast_2d(v) for v in _sequence(arrays, "vstack")], 0)


def hstack(arrays: Sequence[Any]) -> Tracer:
    values = [atleast_1d(v) for v in _sequence(arrays, "hstack")]
    return concatenate(values, 0 if len(values[0].shape) == 1 else 1)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """Parts of a tensor; as many as asked for, or cut at the indices."""
    x = as_tracer(x)
    dim = axis_of(axis, len(x.shape), "split")
    n = x.shape[dim]
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = [0, *(operator.index(i) for i in indices_or_sections), n]
    else:
        parts = operator.index(indices_or_sections)
        each, extra = builtins.divmod(n, parts)
        cuts = [i * each + builtins.min(i, extra) for i in range(parts + 1)]
    return [slice_dim(x, dim, a, b) for a, b in zip(cuts, cuts[1:])]


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """As array_split; parts must be equal."""
    x = as_tracer(x)
    n = x.shape[axis_of(axis, len(x.shape), "split")]
    if not isinstance(indices_or_sections, (tuple, list)) and n % indices_or_sections:
        raise ValueError(f"{user_line()}: split: dimension {axis} of shape {x.shape} cannot be cut "
                         f"into {indices_or_sections} equal parts")
    return array_split(x, indices_or_sections, axis)


def unstack(x: Any, axis: int = 0) -> tuple[Tracer, ...]:
    """The slices along a dimension, without it."""
    x = as_tracer(x)
    dim = axis_of(axis, len(x.shape), "unstack")
    rest = x.shape[:dim] + x.shape[dim + 1:]
    return tuple(ops.reshape(slice_dim(x, dim, i, i + 1), rest) for i in range(x.shape[dim]))
