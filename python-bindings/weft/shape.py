# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shape and dtype of an array that need not exist: what planning works on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .sharding import NamedSharding, check_rank
from .spec import PartitionSpec


def as_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype of a name, type or dtype, in the byte order of the machine; ``"bfloat16"`` and other
    machine-learning types are those of the package ml_dtypes."""
    try:
        return np.dtype(dtype).newbyteorder("=")
    except TypeError:
        if not isinstance(dtype, str):
            raise
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"dtype {dtype!r} is none of NumPy's; with the package ml_dtypes installed "
            "(pip install ml_dtypes) weft also knows its types, as bfloat16"
        ) from None
    if not hasattr(ml_dtypes, dtype):
        raise TypeError(f"dtype {dtype!r} is neither a type of NumPy nor of ml_dtypes")
    return np.dtype(getattr(ml_dtypes, dtype))


def check_unmasked(value: Any, where: str = "") -> None:
    """Raises for a masked array, also in a list, which would lose its mask; as JAX does."""
    for part in value if isinstance(value, (list, tuple)) else ():
        check_unmasked(part, where)
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(
            f"{where}{': ' if where else ''}a masked array would lose its mask; pass .filled(value) "
            "of it, or its data and its mask as two arrays"
        )


class ShapeDtypeStruct:
    """Shape, dtype and, if given, sharding of an array.

        >>> import weft
        >>> weft.ShapeDtypeStruct((8, 4), "float32")
        ShapeDtypeStruct(shape=(8, 4), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype
    sharding: Any
    weak_type: bool

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False
    ):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified")
        sizes = tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes):
            raise ValueError(f"ShapeDtypeStruct: sizes cannot be negative, got shape {sizes}")
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "sharding", sharding)
        object.__setattr__(self, "weak_type", bool(weak_type))
        self._check_sharding()

    def _check_sharding(self) -> None:
        if self.sharding is None:
            return
        if not isinstance(self.sharding, (NamedSharding, PartitionSpec)):
            raise ValueError(
                "the sharding of a ShapeDtypeStruct must be a NamedSharding or a PartitionSpec, "
                f"got {self.sharding!r} of type {type(self.sharding).__name__}"
            )
        check_rank(self.sharding, self.shape)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a ShapeDtypeStruct cannot be changed; use .update({name}=...)")

    @classmethod
    def like(cls, array: Any) -> ShapeDtypeStruct:
        """Shape, dtype and, if it has one of ours, sharding of an array or scalar."""
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            array = np.asarray(array)
        sharding = getattr(array, "sharding", None)
        return cls(
            array.shape,
            array.dtype,
            sharding=sharding if isinstance(sharding, NamedSharding) else None,
            weak_type=bool(getattr(array, "weak_type", False)),
        )

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a ShapeDtypeStruct without dimensions")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """One with some of its properties replaced."""
        kept = {
            "shape": self.shape,
            "dtype": self.dtype,
            "sharding": self.sharding,
            "weak_type": self.weak_type,
        }
        unknown = sorted(set(changes) - set(kept))
        if unknown:
            raise TypeError(f"a ShapeDtypeStruct has no {', '.join(unknown)}")
        return ShapeDtypeStruct(**{**kept, **changes})

    def _key(self) -> tuple:
        return (self.shape, self.dtype, self.sharding, self.weak_type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        sharding = "" if self.sharding is None else f", sharding={self.sharding!r}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"

    def __reduce__(self):
        return _rebuild, self._key()


def _rebuild(shape, dtype, sharding, weak_type) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(shape, dtype, sharding=sharding, weak_type=weak_type)
