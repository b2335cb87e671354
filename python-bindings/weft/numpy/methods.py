# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and methods of tensors, which are functions of weft.numpy."""

import functools
from typing import Any, Callable

import numpy as np

from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import creation, elementwise, indexing, ordering, products, reductions, shapes


def _operator(function: Callable, reflected: bool = False) -> Callable:
    """Leaves what is no tensor to the other operand, as Python's operators do."""
    def forward(self: Tracer, other: Any) -> Tracer:
        if not isinstance(other, (Tracer, int, float, np.ndarray, np.generic)):
            return NotImplemented
        return function(self, other)

    def backward(self: Tracer, other: Any) -> Tracer:
        if not isinstance(other, (int, float, np.ndarray, np.generic)):
            return NotImplemented
        return function(other, self)

    return backward if reflected else forward


_BINARY = {
    "add": elementwise.add, "sub": elementwise.subtract, "mul": elementwise.multiply,
    "truediv": elementwise.divide, "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder, "divmod": elementwise.divmod, "pow": elementwise.power,
    "matmul": products.matmul, "and": elementwise.bitwise_and, "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor, "lshift": elementwise.left_shift,
    "rshift": elementwise.right_shift,
}
_COMPARISONS = {
    "eq": elementwise.equal, "ne": elementwise.not_equal, "lt": elementwise.less,
    "le": elementwise.less_equal, "gt": elementwise.greater, "ge": elementwise.greater_equal,
}
_UNARY = {
    "neg": elementwise.negative, "pos": elementwise.positive, "abs": elementwise.abs,
    "invert": elementwise.bitwise_not, "round": elementwise.round,
}


def _of_numpy(function: Callable) -> Callable:
    """As numpy.sum(x) calls x.sum: with an `out`, which must be None as in JAX."""
    @functools.wraps(function)
    def method(self: Tracer, *args: Any, out: None = None, **kwargs: Any) -> Tracer:
        if out is not None:
            raise NotImplementedError(
                f"{user_line()}: {function.__name__} of a traced tensor makes a new one, and has no "
                "out=")
        return function(self, *args, **kwargs)

    return method


_METHODS = {
    "all": reductions.all, "any": reductions.any, "argmax": reductions.argmax,
    "argmin": reductions.argmin, "argsort": ordering.argsort, "astype": creation.astype, "clip": elementwise.clip,
    "copy": creation.copy, "cumprod": reductions.cumprod, "cumsum": reductions.cumsum,
    "diagonal": reductions.diagonal, "dot": products.dot, "max": reductions.max,
    "mean": reductions.mean, "min": reductions.min, "prod": reductions.prod,
    "ptp": reductions.ptp, "ravel": shapes.ravel, "flatten": shapes.ravel,
    "repeat": shapes.repeat, "round": elementwise.round, "sort": ordering.sort, "squeeze": shapes.squeeze,
    "std": reductions.std, "sum": reductions.sum, "swapaxes": shapes.swapaxes,
    "take": indexing.take, "trace": reductions.trace, "var": reductions.var,
}


def _reshape(self: Tracer, *shape: Any, order: str = "C") -> Tracer:
    """x.reshape(2, 3) or x.reshape((2, 3))."""
    return shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order)


def _transpose(self: Tracer, *axes: Any) -> Tracer:
    """x.transpose(), x.transpose(1, 0) or x.transpose((1, 0))."""
    if not axes or axes == (None,):
        return shapes.transpose(self)
    return shapes.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _iterate(self: Tracer):
    len(self)  # a tensor without dimensions cannot be iterated over
    return iter(shapes.unstack(self))


class _At:
    """x.at[key].get() is x[key]; .add(y) gives x with y added there, .set(y) with y there."""

    __slots__ = ("x", "key")

    def __init__(self, x: Tracer, key: Any = None):
        self.x, self.key = x, key

    def __getitem__(self, key: Any) -> "_At":
        return _At(self.x, key)

    def get(self, **unused: Any) -> Tracer:
        return indexing.getitem(self.x, self.key)

    def add(self, y: Any, **unused: Any) -> Tracer:
        return indexing.add_at(self.x, self.key, y)

    def set(self, y: Any, **unused: Any) -> Tracer:
        return indexing.set_at(self.x, self.key, y)

    def multiply(self, y: Any, **unused: Any) -> Tracer:
        return indexing.put_at(elementwise.multiply, self.x, self.key, y, "multiply")

    def divide(self, y: Any, **unused: Any) -> Tracer:
        return self.multiply(elementwise.reciprocal(y))

    def min(self, y: Any, **unused: Any) -> Tracer:
        return indexing.put_at(elementwise.minimum, self.x, self.key, y, "min")

    def max(self, y: Any, **unused: Any) -> Tracer:
        return indexing.put_at(elementwise.maximum, self.x, self.key, y, "max")


def attach() -> None:
    """Gives Tracer its operators and methods."""
    for name, function in _BINARY.items():
        setattr(Tracer, f"__{name}__", _operator(function))
        setattr(Tracer, f"__r{name}__", _operator(function, reflected=True))
    for name, function in _COMPARISONS.items():
        setattr(Tracer, f"__{name}__", _operator(function))
    for name, function in _UNARY.items():
        setattr(Tracer, f"__{name}__", function)
    for name, function in _METHODS.items():
        setattr(Tracer, name, _of_numpy(function))
    Tracer.__getitem__ = indexing.getitem
    Tracer.__iter__ = _iterate
    Tracer.reshape = _reshape
    Tracer.transpose = _transpose
    Tracer.T = property(shapes.transpose)
    Tracer.mT = property(shapes.matrix_transpose)
    Tracer.at = property(_At)
