# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of tensors, and how JAX promotes them.

There are nine, in the order of promotion:

    bool < int8 < int16 < int32 < int64 < bfloat16, float16 < float32 < float64

A value made of Python numbers alone is *weakly typed*: it takes on the type of
what it meets. A weak integer stands between bool and int8, a weak float between
int64 and the floats of 16 bits. To promote is to take the largest; bfloat16 and
float16, neither of which has the numbers of the other, become float32.
"""

from typing import Any

import numpy as np

try:
    from ml_dtypes import bfloat16
except ImportError:

    class bfloat16:
        """Stands for the type where the package ml_dtypes is not installed."""


class ElementType:
    """One of the nine; compared by identity."""

    __slots__ = ("name", "mlir", "kind", "bits", "rank", "numpy")

    def __init__(self, name: str, mlir: str, kind: str, bits: int, rank: int, numpy: Any):
        self.name, self.mlir, self.kind = name, mlir, kind
        self.bits, self.rank, self.numpy = bits, rank, numpy

    def __repr__(self) -> str:
        return self.name


BFLOAT16_NUMPY = bfloat16 if bfloat16.__module__ == __name__ else np.dtype(bfloat16)

BOOL = ElementType("bool", "i1", "b", 1, 0, np.dtype(np.bool_))
INT8 = ElementType("int8", "i8", "i", 8, 2, np.dtype(np.int8))
INT16 = ElementType("int16", "i16", "i", 16, 3, np.dtype(np.int16))
INT32 = ElementType("int32", "i32", "i", 32, 4, np.dtype(np.int32))
INT64 = ElementType("int64", "i64", "i", 64, 5, np.dtype(np.int64))
BFLOAT16 = ElementType("bfloat16", "bf16", "f", 16, 7, BFLOAT16_NUMPY)
FLOAT16 = ElementType("float16", "f16", "f", 16, 7, np.dtype(np.float16))
FLOAT32 = ElementType("float32", "f32", "f", 32, 8, np.dtype(np.float32))
FLOAT64 = ElementType("float64", "f64", "f", 64, 9, np.dtype(np.float64))

ALL = (BOOL, INT8, INT16, INT32, INT64, BFLOAT16, FLOAT16, FLOAT32, FLOAT64)

_WEAK_RANK = {"b": 0, "i": 1, "f": 6}
_DEFAULT = {"b": BOOL, "i": INT32, "f": FLOAT32}

# What users write for a type, and what they may have it from.
_KNOWN: dict[Any, ElementType] = {bool: BOOL, int: INT32, float: FLOAT32, bfloat16: BFLOAT16}
for _element in ALL:
    _KNOWN |= {_element: _element, _element.name: _element, _element.numpy: _element}


def element_type(dtype: Any) -> ElementType:
    """The element type that a user means: a NumPy dtype or scalar type, a name, or
    bool, int, float for the default types bool, int32, float32."""
    try:
        known = _KNOWN.get(dtype)
    except TypeError:  # not hashable
        known = None
    if known is None:
        known = _look_up(dtype)
        _KNOWN[dtype] = known
    return known


def _look_up(dtype: Any) -> ElementType:
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(getattr(dtype, "name", dtype))
    for element in ALL:
        if name == element.name:
            return element
    raise TypeError(
        f"dtype {name} is not supported; use one of " + ", ".join(e.name for e in ALL))


def of_constant(dtype: Any) -> ElementType:
    """The type of a NumPy constant in a traced function: as in JAX, 64 bits become
    32 and unsigned integers of 32 bits become signed ones."""
    narrow = {"float64": FLOAT32, "int64": INT32}.get(np.dtype(dtype).name)
    return narrow or element_type(dtype)


def promote(*values: Any) -> tuple[ElementType, bool]:
    """The common type of values that have an `element` and a `weak`, and whether it
    is weak."""
    best = best_rank = None
    strong = False
    for value in values:
        element, weak = value.element, value.weak
        strong |= not weak
        rank = _WEAK_RANK[element.kind] if weak else element.rank
        if best_rank is None or rank > best_rank:
            best, best_rank = element, rank
        elif rank == best_rank == BFLOAT16.rank and element is not best:
            best, best_rank = FLOAT32, FLOAT32.rank
    if not strong:
        return max((value.element for value in values), key=lambda e: e.rank), True
    if best_rank in (1, 6):  # a weak type among strong ones
        return _DEFAULT[best.kind], True
    return best, False


def to_inexact(element: ElementType) -> ElementType:
    """The type in which functions like exp compute: integers become float32."""
    return element if element.kind == "f" else FLOAT32


def to_computed(element: ElementType) -> ElementType:
    """The type in which numbers of `element` are summed: float32 for 16 bits."""
    return FLOAT32 if element in (BFLOAT16, FLOAT16) else element
