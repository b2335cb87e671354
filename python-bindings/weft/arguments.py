# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a caller passes, as the arrays that the inputs of a plan take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .random_keys import typed_key_remedy
from .shape import check_unmasked

if TYPE_CHECKING:
    from .session import ValueInfo


def type_text(dtype: np.dtype, shape: Sequence[int]) -> str:
    return f"{np.dtype(dtype).name}[{', '.join(map(str, shape))}]"


class Shards:
    """An array as the shards that the ranks hold, in the order of the ranks: what may be
    passed instead of a whole array, and what `Compiled.call_sharded` returns."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[np.ndarray]):
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, rank: int) -> np.ndarray:
        return self.parts[rank]

    def __iter__(self):
        return iter(self.parts)

    def __repr__(self) -> str:
        first = self.parts[0] if self.parts else None
        each = "" if first is None else f" x {type_text(first.dtype, first.shape)}"
        return f"Shards({len(self.parts)}{each})"


def fit(leaf: Any, info: ValueInfo, ranks: int) -> tuple[Any, str]:
    """The leaf as the input takes it, or what is wrong with it."""
    check_unmasked(list(leaf) if isinstance(leaf, Shards) else leaf, info.name)
    try:
        return _fit_parts(leaf, info, ranks) if isinstance(leaf, Shards) else _fit_whole(leaf, info)
    except Unfit as problem:
        return None, f"expected {info.type}, got {problem}"


def _fit_parts(leaf: Shards, info: ValueInfo, ranks: int) -> tuple[Any, str]:
    if len(leaf) != ranks:
        return None, f"expected {ranks} shards, one per rank, got {len(leaf)}"
    parts = [as_input(part, info.dtype) for part in leaf]
    wrong = [p for p in parts if p.shape != info.local_shape or p.dtype != info.dtype]
    if wrong:
        got, expected = wrong[0], type_text(info.dtype, info.local_shape)
        return None, f"expected shards of {expected}, got {type_text(got.dtype, got.shape)}"
    return Shards(parts), ""


def _fit_whole(leaf: Any, info: ValueInfo) -> tuple[Any, str]:
    array = as_input(leaf, info.dtype)
    if array.shape != info.shape or array.dtype != info.dtype:
        return None, f"expected {info.type}, got {type_text(array.dtype, array.shape)}"
    return array, ""


class Unfit(Exception):
    """A value that the dtype of an input cannot take; the text says what it is."""


# What NumPy makes of Python's numbers and JAX of NumPy's 64-bit arrays.
_NARROWED = {"int64": "int32", "float64": "float32"}


# The dtypes that a number of Python becomes without loss of its kind. A float is none of an
# integer and a bool none of a number: the program would be another one for them.
_NUMBER_KINDS = {bool: "b", int: "ifV", float: "fV"}


def as_input(leaf: Any, dtype: np.dtype) -> np.ndarray:
    """The leaf as an array: numbers take the dtype that is asked for, 64-bit arrays become
    32-bit ones as in JAX, and unsigned integers are passed as the signed ones of their bits."""
    if type(leaf) in _NUMBER_KINDS:
        return _number(leaf, dtype)
    try:
        array = np.asarray(leaf)
    except (TypeError, ValueError):
        hint = typed_key_remedy(leaf)
        raise Unfit(f"a value of type {type(leaf).__name__}{hint and ': ' + hint}") from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if _NARROWED.get(array.dtype.name) == dtype.name:
        return _narrowed(array, dtype)
    if array.dtype.kind == "u" and dtype.kind == "i" and array.itemsize == dtype.itemsize:
        return np.ascontiguousarray(array).view(dtype).reshape(array.shape)
    if array.dtype == object:
        raise Unfit(f"a value of type {type(leaf).__name__}")
    return array


def _number(value: bool | int | float, dtype: np.dtype) -> np.ndarray:
    """A number of Python as an array of the dtype."""
    if dtype.kind not in _NUMBER_KINDS[type(value)]:
        raise Unfit(f"{value!r} of type {type(value).__name__}")
    try:
        return np.asarray(value, dtype)
    except OverflowError:
        raise Unfit(f"{value!r}, which {dtype.name} cannot hold") from None


def _narrowed(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A 64-bit array as the 32-bit one; integers that it cannot hold would wrap around."""
    if dtype.kind == "i" and array.size:
        limits = np.iinfo(dtype)
        for value in (int(array.min()), int(array.max())):
            if not limits.min <= value <= limits.max:
                raise Unfit(
                    f"{type_text(array.dtype, array.shape)} with {value}, which {dtype.name} "
                    "cannot hold"
                )
    return array.astype(dtype)
