# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""x[...], take and take_along_axis.

Integers and slices become weft.slice, one tensor of integers weft.gather. Several
tensors of integers are joined to one index into the dimensions that they index.
"""

import functools
import math
import operator
from typing import Any, Callable

import numpy as np

from ..shape import check_unmasked
from ..tracing import elements, ops
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import elementwise as el
from . import scattering
from . import shapes as sh


def _integers(indices: Any, function: str) -> Tracer:
    """Indices as int32 or int64."""
    if isinstance(indices, (list, tuple)):
        check_unmasked(indices, user_line())
        indices = np.asarray(indices)
    indices = as_tracer(indices)
    if indices.element.kind != "i":
        raise TypeError(
            f"{user_line()}: {function} takes integers as indices, got {indices!r}" + (
                "; choose with weft.numpy.where: the shape of x[mask] depends on values"
                if indices.element.kind == "b" else ""))
    return ops.convert(indices, elements.INT32) if indices.element.bits < 32 else indices


def _from_front(indices: Tracer, size: int) -> Tracer:
    """Negative indices count from the end."""
    if indices.splat is not None:
        value = indices.splat
        return ops.full(value + size if value < 0 else value, indices)
    return el.where(el.less(indices, 0), el.add(indices, size), indices)


def _fill_outside(result: Tracer, inside: Tracer, dims: list[int], fill: Any) -> Tracer:
    """`result` where the index was inside; NaN or the smallest number elsewhere."""
    element = result.element
    if fill is None:
        fill = {"f": math.nan, "i": -(1 << max(element.bits - 1, 0)), "b": True}[element.kind]
    mask = ops.broadcast_in_dim(inside, result.shape, dims)
    return ops.select(mask, result, ops.full(fill, result))


def _is_inside(indices: Tracer, size: int) -> Tracer:
    """0 <= index < size, by one comparison of unsigned numbers."""
    return ops.compare("ult", indices, ops.full(size, indices))


def _check_mode(mode: str | None, function: str) -> str:
    mode = "fill" if mode is None else mode
    if mode not in ("fill", "clip", "wrap"):
        raise ValueError(f'{user_line()}: {function}: mode must be "fill", "clip" or "wrap", got '
                         f"{mode!r}")
    return mode


def take(x: Any, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None,
         unique_indices: bool = False, indices_are_sorted: bool = False,
         fill_value: Any = None) -> Tracer:
    """The elements at these indices along a dimension. An index outside gives NaN
    (mode "fill", the default), the nearest element ("clip") or starts anew ("wrap")."""
    x, indices, mode = as_tracer(x), _integers(indices, "take"), _check_mode(mode, "take")
    if axis is None:
        x, axis = sh.ravel(x), 0
    dim = sh.axis_of(axis, len(x.shape), "take")
    size = x.shape[dim]
    if mode == "clip":
        return ops.gather(x, indices, dim)
    if mode == "wrap":
        return ops.gather(x, el.remainder(indices, size), dim)
    indices = _from_front(indices, size)
    result = ops.gather(x, indices, dim)
    return _fill_outside(result, _is_inside(indices, size),
                         list(range(dim, dim + len(indices.shape))), fill_value)


def take_along_axis(x: Any, indices: Any, axis: int | None = -1, mode: str | None = None,
                    fill_value: Any = None) -> Tracer:
    """For each position of `indices` the element of x there, at the index along `axis`.
    Modes are those of take."""
    x, indices = as_tracer(x), _integers(indices, "take_along_axis")
    mode = _check_mode(mode, "take_along_axis")
    if axis is None:
        x, indices, axis = sh.ravel(x), sh.ravel(indices), 0
    rank = len(x.shape)
    if len(indices.shape) != rank:
        raise ValueError(f"{user_line()}: take_along_axis: indices of shape {indices.shape} must "
                         f"have the rank of the tensor of shape {x.shape}")
    dim = sh.axis_of(axis, rank, "take_along_axis")
    size = x.shape[dim]
    common = el.broadcast_shapes(_without(x.shape, dim), _without(indices.shape, dim),
                                 function="take_along_axis")
    x = sh.broadcast_to(x, common[:dim] + (size,) + common[dim:])
    indices = sh.broadcast_to(indices, common[:dim] + (indices.shape[dim],) + common[dim:])
    if mode != "clip":
        indices = el.remainder(indices, size) if mode == "wrap" else _from_front(indices, size)
    others = [d for d in range(rank) if d != dim]
    result = ops.gather(x, indices, dim, (others, others))
    if mode != "fill":
        return result
    return _fill_outside(result, _is_inside(indices, size), list(range(rank)), fill_value)


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return shape[:dim] + shape[dim + 1:]


# ===----------------------------------------------------------------------===
# x[...]
# ===----------------------------------------------------------------------===


def _expanded(x: Tracer, key: Any) -> list[Any]:
    """The entries of an index, one a dimension of x beside those that are None."""
    entries = list(key) if isinstance(key, tuple) else [key]
    check_unmasked(entries, user_line())
    entries = [np.asarray(e) if isinstance(e, list) else e for e in entries]
    used = sum(e is not None and e is not Ellipsis for e in entries)
    if used > len(x.shape):
        raise IndexError(f"{user_line()}: {used} indices for a tensor of shape {x.shape}")
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError(f"{user_line()}: an index holds more than one Ellipsis (...)")
    whole = [slice(None)] * (len(x.shape) - used)
    if Ellipsis not in [e for e in entries if isinstance(e, type(Ellipsis))]:
        return entries + whole
    at = next(i for i, e in enumerate(entries) if e is Ellipsis)
    return entries[:at] + whole + entries[at + 1:]


def _is_array(entry: Any) -> bool:
    return isinstance(entry, (Tracer, np.ndarray)) and not (
        isinstance(entry, np.ndarray) and entry.shape == () and entry.dtype.kind in "iu")


def getitem(x: Tracer, key: Any) -> Tracer:
    """x[key]: integers, slices, None, Ellipsis and tensors of integers."""
    entries = _expanded(x, key)
    starts, limits, strides = [], [], []
    flipped: list[int] = []  # dimensions of the slice to reverse
    sizes: list[int] = []  # of the slice, with new dimensions and without dropped ones
    arrays: list[tuple[int, Any]] = []  # position in `sizes` and tensor of indices
    dim = 0
    for entry in entries:
        if entry is None:
            sizes.append(1)
            continue
        size = x.shape[dim]
        if _is_array(entry):
            arrays.append((len(sizes), entry))
            bounds = (0, size, 1)
        elif isinstance(entry, slice):
            bounds = _bounds(entry, size)
            if entry.step is not None and entry.step < 0:
                flipped.append(dim)
        else:
            bounds = _one(entry, size, dim, x)
        for numbers, number in zip((starts, limits, strides), bounds):
            numbers.append(number)
        if _is_array(entry) or isinstance(entry, slice):
            sizes.append(-((bounds[0] - bounds[1]) // bounds[2]))
        dim += 1
    x = sh.flip(ops.slice_in_dims(x, starts, limits, strides), flipped)
    x = ops.reshape(x, tuple(sizes))
    return _take_arrays(x, arrays, entries) if arrays else x


def _bounds(entry: slice, size: int) -> tuple[int, int, int]:
    """Start, limit and positive stride of a slice; one that goes backwards is turned."""
    if any(isinstance(n, Tracer) for n in (entry.start, entry.stop, entry.step)):
        raise TypeError(
            f"{user_line()}: the bounds of a slice must be Python integers, since they decide the "
            "shape; take a window at a traced position with weft.lax.dynamic_slice")
    numbers = range(*entry.indices(size))
    if not numbers:
        return 0, 0, 1
    first, last = min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
    return first, last + 1, abs(numbers.step)


def _one(entry: Any, size: int, dim: int, x: Tracer) -> tuple[int, int, int]:
    try:
        index = operator.index(entry)
    except TypeError:
        raise TypeError(
            f"{user_line()}: an index must be an integer, a slice, None, Ellipsis or a tensor of "
            f"integers, got {entry!r}") from None
    if not -size <= index < size:
        raise IndexError(f"{user_line()}: index {index} is out of bounds for dimension {dim} of "
                         f"shape {x.shape}")
    return index % size, index % size + 1, 1


def _take_arrays(x: Tracer, arrays: list[tuple[int, Any]], entries: list[Any]) -> Tracer:
    """x with dimensions indexed by tensors, which broadcast; indices are clamped."""
    positions = [position for position, _ in arrays]
    indices = [_from_front(_integers(index, "indexing"), x.shape[position])
               for position, index in arrays]
    separated = _is_separated(entries)  # then NumPy puts the indices' dimensions first
    if len(arrays) == 1:
        result, rank = ops.gather(x, indices[0], positions[0]), len(indices[0].shape)
        if not separated:
            return result
        return sh.moveaxis(result, list(range(positions[0], positions[0] + rank)), list(range(rank)))
    indices = el.together("indexing", *indices)
    if separated:
        x = sh.moveaxis(x, positions, list(range(len(positions))))
        positions = list(range(len(positions)))
    first, sizes = positions[0], [x.shape[position] for position in positions]
    joined = _clamped(indices[0], sizes[0])
    for index, size in zip(indices[1:], sizes[1:]):
        joined = el.add(el.multiply(joined, size), _clamped(index, size))
    merged = x.shape[:first] + (math.prod(sizes),) + x.shape[first + len(sizes):]
    return ops.gather(ops.reshape(x, merged), joined, first)


def _clamped(index: Tracer, size: int) -> Tracer:
    return el.clip(index, 0, size - 1)


def _is_separated(entries: list[Any]) -> bool:
    """Whether a slice or None stands between the tensors and integers of an index."""
    positions = [i for i, e in enumerate(entries) if e is not None and not isinstance(e, slice)]
    return positions[-1] - positions[0] + 1 != len(positions)


# ===----------------------------------------------------------------------===
# x.at[...]
# ===----------------------------------------------------------------------===


def _box(x: Tracer, key: Any) -> tuple[list[int], list[int], list[int]] | None:
    """Starts, strides and sizes of what integers and slices select; None for others."""
    starts, strides, sizes = [], [], []
    entries = _expanded(x, key)
    if any(e is None or _is_array(e) or isinstance(e, slice) and (e.step or 1) < 0
           for e in entries):
        return None
    for dim, entry in enumerate(entries):
        size = x.shape[dim]
        start, limit, stride = (_bounds(entry, size) if isinstance(entry, slice) else
                                _one(entry, size, dim, x))
        starts.append(start)
        strides.append(stride)
        sizes.append(-((start - limit) // stride))
    return starts, strides, sizes


def _padded(x: Tracer, update: Tracer, box: tuple[list[int], list[int], list[int]]) -> Tracer:
    """Zeros of the shape of x, but for `update` in the box."""
    starts, strides, sizes = box
    ends = [n - start - (size - 1) * stride - 1
            for n, start, stride, size in zip(x.shape, *box)]
    update = ops.reshape(update, tuple(sizes))
    return ops.pad(update, 0, starts, ends, [stride - 1 for stride in strides])


def add_at(x: Tracer, key: Any, y: Any) -> Tracer:
    """x with y added at integers and slices, or at tensors of integers; an index outside
    adds nothing."""
    shape = getitem(x, key).shape
    update = sh.broadcast_to(ops.convert(as_tracer(y), x.element), shape)
    box = _box(x, key)
    if box is not None:
        return el.add(x, _padded(x, update, box))
    return _at_tensors(scattering.add, x, key, update, "add")


def _at_tensors(function: Callable, x: Tracer, key: Any, update: Tracer, name: str) -> Tracer:
    """`function` of rows of x, their indices and rows of the update, where tensors of integers select."""
    entries = _expanded(x, key)
    if any(e is None or isinstance(e, slice) and e != slice(None) for e in entries):
        raise NotImplementedError(
            f"{user_line()}: .at[...].{name} takes integers and slices, or tensors of integers with "
            "whole dimensions around them")
    dims = [dim for dim, entry in enumerate(entries) if not isinstance(entry, slice)]
    indices = [_from_front(_integers(entries[dim] if _is_array(entries[dim]) else np.int32(entries[dim]), "at"),
                           x.shape[dim]) for dim in dims]
    indices = el.together("at", *indices)
    first, rank = 0 if _is_separated(entries) else dims[0], len(indices[0].shape)
    joined, inside = None, None
    for index, dim in zip(indices, dims):
        here = _is_inside(index, x.shape[dim])
        joined = index if joined is None else el.add(el.multiply(joined, x.shape[dim]), index)
        inside = here if inside is None else el.logical_and(inside, here)
    rows = scattering.as_rows(x, dims)
    joined = el.where(inside, joined, ops.full(rows.shape[0], joined))
    update = scattering.as_rows(update, list(range(first, first + rank)))
    return scattering.from_rows(function(rows, sh.ravel(joined), update), x.shape, dims)


def set_at(x: Tracer, key: Any, y: Any) -> Tracer:
    """x with y at integers and slices, or at tensors of integers."""
    return put_at(None, x, key, y, "set")


def put_at(combine: Callable | None, x: Tracer, key: Any, y: Any, name: str) -> Tracer:
    """The same with what `combine` makes of x and y there."""
    shape = getitem(x, key).shape
    update = sh.broadcast_to(ops.convert(as_tracer(y), x.element), shape)
    box = _box(x, key)
    if box is None:
        return _at_tensors(functools.partial(scattering.put, combine), x, key, update, name)
    update = _padded(x, update, box)
    return el.where(_padded_mask(x, box), update if combine is None else combine(x, update), x)


def _padded_mask(x: Tracer, box: tuple[list[int], list[int], list[int]]) -> Tracer:
    """True in the box."""
    mask = None
    for dim, (start, stride, size) in enumerate(zip(*box)):
        if size == x.shape[dim]:
            continue
        offset = el.subtract(ops.iota(x.shape, elements.INT32, dim), start)
        here = ops.compare("ult", offset, ops.full((size - 1) * stride + 1, offset))
        if stride > 1:
            here = el.logical_and(here, el.equal(el.remainder(offset, stride), 0))
        mask = here if mask is None else el.logical_and(mask, here)
    return as_tracer(True) if mask is None else mask
