# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of ops under weft.vmap.

A function under vmap sees tensors of one example (`Batched`), and calls the functions of ops.py with
them. Each of these says, in `batched`, what it is on the tensors of all examples, which have these
along their first dimension. It may call itself again, for an outer vmap.
"""

import functools
import threading
from typing import Any, Callable, Iterable, Sequence

from .errors import UnexpectedTracerError
from .locations import user_line
from .tracer import Batched, Tracer


class Level:
    """A vmap over `size` examples, while its function is traced. `axes` are the mesh axes that
    they are split over in shardings of one example."""

    def __init__(self, size: int, axes: Any = None):
        self.size, self.axes = size, axes
        self.is_open, self.depth = False, -1

    def __enter__(self) -> "Level":
        self.is_open, self.depth = True, len(_active.levels)
        _active.levels.append(self)
        return self

    def __exit__(self, *unused) -> None:
        self.is_open = False
        _active.levels.pop()

    def has(self, x: Any) -> bool:
        """Whether examples have a tensor of their own."""
        return isinstance(x, Batched) and x.level is self

    def whole(self, x: Tracer) -> Tracer:
        """The tensors of all examples, or the one that they share."""
        return x.whole if self.has(x) else x

    def spread(self, x: Tracer) -> Tracer:
        """The tensors of all examples, equal ones if they share it."""
        from .ops import broadcast_in_dim

        if self.has(x):
            return x.whole
        return broadcast_in_dim(x, (self.size, *x.shape), range(1, len(x.shape) + 1))

    def example(self, whole: Tracer) -> Tracer:
        """The tensor of one example."""
        if whole.splat is not None:
            return Tracer(None, None, whole.shape[1:], whole.element, whole.weak, whole.splat)
        return Batched(whole, self)

    def constrained(self, graph: Any, x: Batched, sharding: Any) -> Tracer:
        """x in a sharding of one example."""
        return Batched(graph.constrain(x.whole, self.sharding_of_whole(sharding)), self)

    def sharding_of_whole(self, sharding: Any) -> Any:
        from ..sharding import NamedSharding
        from ..spec import P

        first = P.UNCONSTRAINED if self.axes is None else self.axes
        return NamedSharding(sharding.mesh, P(first, *sharding.spec))

    def misused(self, x: Batched) -> Exception:
        """What to say of an op that took a tensor of an example as it is."""
        if not self.is_open:
            return UnexpectedTracerError(
                f"{user_line()}: {x!r} was made in a function given to weft.vmap whose tracing is over; return it "
                "from that function")
        return NotImplementedError(
            f"{user_line()}: this function cannot be called with tensors of a function given to weft.vmap; call "
            "it outside, on all examples")


class _Active(threading.local):
    def __init__(self):
        self.levels: list[Level] = []


_active = _Active()


def batched(rule: Callable) -> Callable:
    """`rule(level, *arguments)` is what the function gives for all examples of a level."""
    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            level = _deepest(args) if _active.levels else None
            if level is None:
                return function(*args, **kwargs)
            return level.example(rule(level, *args, **kwargs))

        return call

    return decorate


def elementwise(function: Callable) -> Callable:
    """As `batched`, of what does with the elements of all examples what it does with those of one."""
    @batched
    def of_all(level: Level, *args: Any, **kwargs: Any) -> Tracer:
        return call(*(level.spread(x) if isinstance(x, Tracer) else x for x in args), **kwargs)

    call = of_all(function)
    return call


def _deepest(values: Iterable[Any]) -> Level | None:
    """The innermost vmap that one of the values is an example of."""
    found = None
    for value in values:
        if isinstance(value, Batched):
            if not value.level.is_open:
                raise value.level.misused(value)
            level = value.level
        elif isinstance(value, (list, tuple)):
            level = _deepest(value)
        else:
            continue
        if level is not None and (found is None or level.depth > found.depth):
            found = level
    return found


def shifted(dims: Sequence[int]) -> list[int]:
    """Dimensions of one example, in the tensors of all."""
    return [dim + 1 for dim in dims]


def to_front(x: Tracer, dim: int) -> Tracer:
    """x with a dimension as the first one."""
    from .ops import transpose

    return transpose(x, [dim, *(d for d in range(len(x.shape)) if d != dim)])


# ===----------------------------------------------------------------------===
# Values of functions of the module
# ===----------------------------------------------------------------------===


def written(x: Tracer) -> Tracer:
    """What stands in the graph for x: the tensors of all examples of all levels."""
    while isinstance(x, Batched):
        x = x.whole
    return x


def in_place_of(x: Tracer, value: Tracer) -> Tracer:
    """`value`, which stands in the graph as x does."""
    return Batched(in_place_of(x.whole, value), x.level) if isinstance(x, Batched) else value


def of_every_example(x: Tracer) -> Tracer:
    """x, as a tensor of its own for each example of all levels that are open."""
    from .graph import in_graph

    if not _active.levels:
        return x
    for level in reversed(_active.levels):
        x = level.spread(x)
    x = in_graph(x)
    for level in _active.levels:
        x = Batched(x, level)
    return x
