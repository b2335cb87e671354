# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value that stands for a tensor while a function is traced.

Operators and methods are attached by weft/numpy/methods.py, since they are the
functions of weft.numpy.
"""

from typing import Any, NoReturn

import numpy as np

from .elements import ElementType
from .errors import ConcretizationTypeError
from .locations import user_line


class Tracer:
    """A tensor of a graph: its shape and type are known, its numbers are not.

    A literal, every element of which is the number `splat`, belongs to no graph and
    has no `name`; it is written where it is used. `used_as`, if not None, is the
    sharding that every function which computes with the tensor takes it in, and
    `sharding` the one that a constraint has given it.
    """

    __slots__ = ("graph", "name", "shape", "element", "weak", "splat", "used_as", "sharding")
    __array_priority__ = 1000  # NumPy's operators leave the work to these

    def __init__(self, graph, name: str | None, shape: tuple[int, ...], element: ElementType,
                 weak: bool = False, splat: Any = None, used_as: Any = None):
        self.graph, self.name, self.shape = graph, name, shape
        self.element, self.weak, self.splat = element, weak, splat
        self.used_as, self.sharding = used_as, None

    @property
    def dtype(self):
        return self.element.numpy

    @property
    def weak_type(self) -> bool:
        return self.weak

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for dim in self.shape:
            size *= dim
        return size

    @property
    def nbytes(self) -> int:
        return self.size * max(self.element.bits // 8, 1)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak else ""
        return f"Tracer({self.element.name}[{','.join(map(str, self.shape))}]{weak})"

    __hash__ = None  # == compares elements

    # What only a tensor with numbers could answer.

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise ConcretizationTypeError(
            f"{user_line()}: {what} needs values, but {self!r} has none while weft.jit "
            f"traces; {remedy}")

    def __bool__(self) -> bool:
        self._refuse(
            "bool()",
            "choose with weft.numpy.where(condition, x, y), or decide by a Python value: a shape, "
            "a closed-over constant or an argument that is not traced")

    def __int__(self) -> int:
        self._refuse("int()", "use .astype(int) for a tensor of integers")

    def __float__(self) -> float:
        self._refuse("float()", "use .astype(float) for a tensor of floats")

    def __index__(self) -> int:
        self._refuse(
            "an index or size",
            "index tensors by tensors (x[i], weft.numpy.take), and pass sizes as Python integers")

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        self._refuse("an array", "use the function of weft.numpy instead of the one of numpy")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"{user_line()}: a tensor cannot be changed, as {self!r} by x[...] = y; make a new one "
            "with x = x.at[...].set(y), or .add(y)")

    def __delitem__(self, key: Any) -> NoReturn:
        raise TypeError(
            f"{user_line()}: a tensor cannot be changed, as {self!r} by del x[...]; make a new one of "
            "slices with weft.numpy.concatenate")

    def item(self) -> Any:
        self._refuse("item()", "return it from the function and look at the result")

    def tolist(self) -> Any:
        self._refuse("tolist()", "return the tensor from the function and look at the result")


class Batched(Tracer):
    """A tensor of each example of a weft.vmap: `whole` has those of all examples along its first
    dimension. No op takes it; batching.py says what becomes of the whole."""

    __slots__ = ("whole", "level")

    def __init__(self, whole: Tracer, level: Any):
        super().__init__(None, None, whole.shape[1:], whole.element, whole.weak)
        self.whole, self.level = whole, level
