# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens to the arguments of a function before an op sees them: they become
tensors of one type and one shape."""

from typing import Any

from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def broadcast_shapes(*shapes: tuple[int, ...], function: str = "broadcast_shapes") -> tuple[int, ...]:
    """The shape that tensors of these shapes have in common."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return tuple(first)
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for dim, sizes in enumerate(zip(*padded)):
        wanted = {size for size in sizes if size != 1}
        if len(wanted) > 1:
            raise ShapeError(
                f"{user_line()}: {function}: shapes {' and '.join(map(str, map(tuple, shapes)))} do "
                f"not broadcast: dimension {dim - rank} is {' and '.join(map(str, sizes))}; sizes "
                "must be equal or 1")
        result.append(wanted.pop() if wanted else 1)
    return tuple(result)


def broadcast_tracer(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """x with this shape, to which it broadcasts."""
    if x.shape == shape:
        return x
    new = len(shape) - len(x.shape)
    return ops.broadcast_in_dim(x, shape, range(new, len(shape)))


def promoted(*xs: Any, inexact: bool = False) -> list[Tracer]:
    """The arguments as tensors of one type, each with its own shape."""
    values = [as_tracer(x) for x in xs]
    element, weak = elements.promote(*values)
    if inexact:
        element = elements.to_inexact(element)
    return [ops.convert(value, element, weak) for value in values]


def together(function: str, *xs: Any, inexact: bool = False) -> list[Tracer]:
    """The arguments as tensors of one type and shape."""
    values = promoted(*xs, inexact=inexact)
    shape = broadcast_shapes(*(value.shape for value in values), function=function)
    return [broadcast_tracer(value, shape) for value in values]


def inexact(x: Any) -> Tracer:
    """x as a tensor of floats."""
    x = as_tracer(x)
    return ops.convert(x, elements.to_inexact(x.element), x.weak)


def refuse(function: str, x: Tracer, wanted: str) -> None:
    raise TypeError(f"{user_line()}: {function} takes {wanted}, got {x!r}; convert with .astype")
