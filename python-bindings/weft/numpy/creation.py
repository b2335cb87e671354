# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors out of nothing. Large ones are written as ops (weft.iota and what follows
from it), so that each device makes its own part."""

from typing import Any

import numpy as np

from ..eager import eager
from ..shape import check_unmasked
from ..tracing import elements, ops
from ..tracing.graph import as_tracer, is_tracing, literal
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import elementwise as el
from . import shapes as sh


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tracer:
    target = sh.shape_of(shape)
    value = as_tracer(fill_value)
    value = ops.convert(value, elements.element_type(dtype) if dtype is not None else value.element,
                        value.weak and dtype is None)
    return sh.broadcast_to(value, target)


def zeros(shape: Any, dtype: Any = float) -> Tracer:
    return full(shape, 0, dtype or float)


def ones(shape: Any, dtype: Any = float) -> Tracer:
    return full(shape, 1, dtype or float)


def empty(shape: Any, dtype: Any = float) -> Tracer:
    """Zeros: there is nothing to gain by leaving numbers open."""
    return zeros(shape, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tracer:
    result = full(_shape_like(x) if shape is None else shape, fill_value, _dtype_like(x, dtype))
    return ops.convert(result, result.element, dtype is None and getattr(x, "weak_type", False))


def zeros_like(x: Any, dtype: Any = None, shape: Any = None) -> Tracer:
    return full_like(x, 0, dtype, shape)


def ones_like(x: Any, dtype: Any = None, shape: Any = None) -> Tracer:
    return full_like(x, 1, dtype, shape)


def empty_like(x: Any, dtype: Any = None, shape: Any = None) -> Tracer:
    return zeros_like(x, dtype, shape)


def _shape_like(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if hasattr(x, "shape") else sh.shape(x)


def _dtype_like(x: Any, dtype: Any) -> Any:
    """What `zeros_like` makes; x may be a ShapeDtypeStruct."""
    if dtype is not None:
        return dtype
    return x.dtype if hasattr(x, "dtype") else as_tracer(x).element


def array(x: Any, dtype: Any = None) -> Tracer:
    """A tensor of a number, a NumPy array, or nested lists of numbers and tensors."""
    if not is_tracing():
        return _array_of_numbers(x, dtype)
    if isinstance(x, (list, tuple)):
        check_unmasked(x, user_line())
        x = sh.stack([array(part) for part in x]) if _has_tracer(x) else _weak_array(np.asarray(x))
    value = as_tracer(x)
    if dtype is None:
        return value
    return ops.convert(value, elements.element_type(dtype))


asarray = array


def _array_of_numbers(x: Any, dtype: Any) -> np.ndarray:
    """Outside of a traced function: a NumPy array, of the type that the tensor would have."""
    check_unmasked(x, user_line())
    values = _weak_array(np.asarray(x))
    element = elements.of_constant(values.dtype)
    if element.kind == "i" and values.size:
        for extreme in (values.min(), values.max()):
            literal(extreme.item(), (), element)  # refuses what would wrap around
    values = values.astype(element.numpy)
    return values if dtype is None else np.asarray(eager(astype)(values, dtype))


def _has_tracer(x: Any) -> bool:
    return isinstance(x, Tracer) or isinstance(x, (list, tuple)) and any(map(_has_tracer, x))


def _weak_array(values: np.ndarray) -> np.ndarray:
    """Lists of Python numbers are of the default types."""
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{user_line()}: array: expected numbers, got values of type {values.dtype}")
    return values


def astype(x: Any, dtype: Any) -> Tracer:
    return ops.convert(as_tracer(x), elements.element_type(dtype))


def copy(x: Any) -> Tracer:
    """x: tensors of a graph never change."""
    return as_tracer(x)


def _python_number(value: Any, function: str) -> Any:
    if isinstance(value, Tracer):
        raise TypeError(
            f"{user_line()}: {function} takes Python numbers, since the shape depends on them; got "
            f"{value!r}")
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tracer:
    """start, start + step, ... below stop."""
    start, stop, step = (_python_number(n, "arange") for n in (start, stop, step))
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if not all(isinstance(n, int) for n in (start, stop, step)):
        values = np.arange(start, stop, step)
        return array(values, dtype or float)
    count = len(range(start, stop, step))
    element = elements.element_type(int if dtype is None else dtype)
    counter = element if element.kind == "i" else elements.INT32
    numbers = ops.iota((count,), counter, 0)
    if step != 1:
        numbers = el.multiply(numbers, step)
    if start != 0:
        numbers = el.add(numbers, start)
    return ops.convert(numbers, element)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True,
             dtype: Any = None) -> Tracer:
    """`num` evenly spaced numbers from start to stop."""
    start, stop = (_python_number(n, "linspace") for n in (start, stop))
    return array(np.linspace(start, stop, num, endpoint), dtype or float)


def _offsets(rows: int, columns: int, k: int) -> tuple[Tracer, Tracer]:
    """Row number plus k, and column number, of every element of a matrix."""
    shape = (rows, columns)
    row = ops.iota(shape, elements.INT32, 0)
    return el.add(row, k) if k else row, ops.iota(shape, elements.INT32, 1)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tracer:
    """Ones on the k-th diagonal."""
    row, column = _offsets(N, N if M is None else M, k)
    return astype(ops.compare("eq", row, column), dtype or float)


def identity(n: int, dtype: Any = float) -> Tracer:
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tracer:
    """Ones on and below the k-th diagonal."""
    row, column = _offsets(N, N if M is None else M, k)
    return astype(ops.compare("sge", row, column), dtype or float)


def _triangle(function: str, x: Any) -> Tracer:
    x = as_tracer(x)
    if len(x.shape) < 2:
        raise ValueError(f"{user_line()}: {function} takes a tensor of rank 2 or more, got {x!r}")
    return x


def tril(x: Any, k: int = 0) -> Tracer:
    """x with zeros above the k-th diagonal."""
    x = _triangle("tril", x)
    return el.where(tri(*x.shape[-2:], k=k, dtype=bool), x, ops.zeros_like(x))


def triu(x: Any, k: int = 0) -> Tracer:
    """x with zeros below the k-th diagonal."""
    x = _triangle("triu", x)
    return el.where(tri(*x.shape[-2:], k=k - 1, dtype=bool), ops.zeros_like(x), x)


def meshgrid(*xs: Any, indexing: str = "xy") -> list[Tracer]:
    """Each vector spread over the grid that they span."""
    vectors = [sh.ravel(x) for x in xs]
    positions = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        positions[:2] = [1, 0]
    shape = [0] * len(vectors)
    for position, vector in zip(positions, vectors):
        shape[position] = vector.size
    return [ops.broadcast_in_dim(v, tuple(shape), [position]) for position, v in zip(positions, vectors)]


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Tracer:
    """Ones where the index along `axis` is that of x, zeros elsewhere."""
    x = as_tracer(x)
    dim = sh.axis_of(axis, len(x.shape) + 1, "one_hot")
    shape = x.shape[:dim] + (num_classes,) + x.shape[dim:]
    if x.element.kind != "i":
        raise TypeError(f"{user_line()}: one_hot takes integers, got {x!r}")
    wanted = ops.broadcast_in_dim(x, shape, [d for d in range(len(shape)) if d != dim])
    return astype(ops.compare("eq", wanted, ops.iota(shape, x.element, dim)), dtype or float)
