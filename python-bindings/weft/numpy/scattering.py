# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""x.at[...] at tensors of integers.

A graph has sums at indices. For the other forms every element of x finds the number of the update that
is for it. Where it may have several, the updates are sorted by their indices, and those of one index are
combined, each with those 1, 2, 4, ... before it: the last one of an index has all of them.
"""

from typing import Any, Callable

from ..tracing import elements, ops
from ..tracing.tracer import Tracer
from . import elementwise as el
from . import ordering
from . import shapes as sh


def add(x: Tracer, indices: Tracer, updates: Tracer) -> Tracer:
    """x with each row of updates added to the row at its index; an index outside adds nothing."""
    return el.add(x, ops.scatter_add(updates, indices, 0, x.shape))


def _spread(mask: Tracer, shape: tuple[int, ...]) -> Tracer:
    return ops.broadcast_in_dim(mask, shape, [0])


def _part(x: Tracer, start: int, limit: int) -> Tracer:
    return sh.slice_dim(x, 0, start, limit)


def _falses(count: int) -> Tracer:
    return Tracer(None, None, (count,), elements.BOOL, False, False)


def _combine_equal(combine: Callable, indices: Tracer, updates: Tracer) -> Tracer:
    """Of sorted indices, what is equal at a distance is equal in between."""
    count, distance = indices.shape[0], 1
    while distance < count:
        equal = el.equal(_part(indices, distance, count), _part(indices, 0, count - distance))
        equal = ops.concatenate([_falses(distance), equal], 0)
        before = ops.concatenate([_part(updates, 0, distance), _part(updates, 0, count - distance)], 0)
        updates = el.where(_spread(equal, updates.shape), combine(before, updates), updates)
        distance *= 2
    return updates


def put(combine: Callable | None, x: Tracer, indices: Tracer, updates: Tracer) -> Tracer:
    """x with each row of updates in the place of the row at its index, or combined with it. Of several
    for one row the last one counts, or all; an index outside drops its row."""
    count, size = indices.shape[0], x.shape[0]
    if count > 1:
        order = ops.argsort(indices, 0, False)
        indices, updates = ops.gather(indices, order, 0), ops.gather(updates, order, 0)
        if combine is not None:
            updates = _combine_equal(combine, indices, updates)
        is_last = el.not_equal(_part(indices, 0, count - 1), _part(indices, 1, count))
        is_last = ops.concatenate([is_last, el.logical_not(_falses(1))], 0)
        indices = el.where(is_last, indices, ops.full(size, indices))
    # From 1 on: 0 is for rows that nothing is for.
    number = ops.scatter_add(el.add(ops.iota((count,), elements.INT32, 0), 1), indices, 0, (size,))
    taken = ops.gather(updates, el.subtract(number, 1), 0)
    following = taken if combine is None else combine(x, taken)
    return ops.select(_spread(el.not_equal(number, 0), x.shape), following, x)


def as_rows(x: Tracer, dims: list[int]) -> Tracer:
    """x with these dimensions as one, in front."""
    x = sh.moveaxis(x, dims, list(range(len(dims))))
    return sh.reshape(x, (-1,) + x.shape[len(dims):])


def from_rows(rows: Tracer, shape: tuple[int, ...], dims: list[int]) -> Tracer:
    """What has become of x of this shape."""
    front = tuple(shape[dim] for dim in dims)
    return sh.moveaxis(sh.reshape(rows, front + rows.shape[1:]), list(range(len(dims))), dims)
