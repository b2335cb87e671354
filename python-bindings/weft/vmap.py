# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.vmap`: a function of one example, on many."""

import functools
from typing import Any, Callable

from . import tree as trees
from .eager import eager
from .errors import listing
from .tracing import ops
from .tracing.batching import Level, to_front
from .tracing.graph import as_tracer
from .tracing.locations import user_line
from .tracing.tracer import Tracer


def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_name: None = None,
         axis_size: int | None = None, spmd_axis_name: Any = None) -> Callable:
    """`fun`, which computes with one example, for all examples along the axes `in_axes` of its
    arguments; `out_axes` are those of its results. Both are prefix trees; None is for what
    examples share. Arguments by name have examples along their first axis. The program is that
    of the whole: an op of one example is one op of all.

    Shardings that `fun` asks for are those of an example. `spmd_axis_name` names the mesh axes
    that examples are split over there, as in JAX; by default that is left open.
    """
    if axis_name is not None:
        raise NotImplementedError("vmap has no collectives over examples, so no axis_name; compute with all "
                                  "examples outside of vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(f"{user_line()}: vmap: in_axes has {len(in_axes)} entries for {len(args)} arguments "
                             "by position")
        return _call(fun, in_axes, out_axes, axis_size, spmd_axis_name, args, kwargs)

    return mapped


@eager
def _call(fun: Callable, in_axes: Any, out_axes: Any, axis_size: int | None, spmd_axis_name: Any, args: tuple,
          kwargs: dict[str, Any]) -> Any:
    leaves, treedef = trees.flatten((args, kwargs))
    paths = [path for root, tree in (("args", args), ("kwargs", kwargs))
             for path, _ in trees.flatten_with_paths(tree, root)[0]]
    given = [*_axes_of(in_axes, args, "in_axes"), *[0] * len(trees.leaves(kwargs))]
    values = [leaf if axis is None else as_tracer(leaf) for leaf, axis in zip(leaves, given)]
    axes = [axis if axis is None else _dim_of(axis, len(value.shape), path)
            for axis, value, path in zip(given, values, paths)]
    sizes = {path: value.shape[axis] for path, value, axis in zip(paths, values, axes) if axis is not None}
    with Level(_size_of(sizes, axis_size), spmd_axis_name) as level:
        inside_args, inside_kwargs = treedef.unflatten(
            value if axis is None else level.example(to_front(value, axis)) for value, axis in zip(values, axes))
        results, of_result = trees.flatten(fun(*inside_args, **inside_kwargs))
        outs = _axes_of(out_axes, of_result.unflatten(results), "out_axes")
        return of_result.unflatten(_of_all(level, leaf, axis) for leaf, axis in zip(results, outs))


def _axes_of(axes: Any, tree: Any, name: str) -> list[int | None]:
    """An axis for each leaf of a tree."""
    found = trees.broadcast_prefix(axes, tree, lambda x: x is None, name=name)
    wrong = [axis for axis in found if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int))]
    if wrong:
        raise TypeError(f"{user_line()}: vmap: {name} are integers or None, got {wrong[0]!r}")
    return found


def _dim_of(axis: int, rank: int, what: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{user_line()}: vmap: {what} has {rank} dimensions, so no axis {axis} of examples")
    return axis % rank


def _size_of(sizes: dict[str, int], given: int | None) -> int:
    found = {*sizes.values(), *([] if given is None else [given])}
    if not found:
        raise ValueError(f"{user_line()}: vmap: no argument has examples; give one an axis in in_axes, or say "
                         "axis_size")
    if len(found) > 1:
        counts = [f"{size} in {path}" for path, size in sizes.items()]
        counts += [] if given is None else [f"{given} by axis_size"]
        raise ValueError(f"{user_line()}: vmap: arguments must have one number of examples, got {listing(counts)}")
    return found.pop()


def _of_all(level: Level, leaf: Any, axis: int | None) -> Tracer:
    """A result of all examples, along an axis of its own."""
    value = as_tracer(leaf)
    if axis is None:
        if level.has(value):
            raise ValueError(f"{user_line()}: vmap: out_axes is None for {value!r}, of which each example has its own")
        return value
    whole = level.spread(value)
    dim = _dim_of(axis, len(whole.shape), "a result")
    order = list(range(1, len(whole.shape)))
    order.insert(dim, 0)
    return ops.transpose(whole, order)
