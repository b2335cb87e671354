# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The element types of plans and NumPy's."""

from __future__ import annotations

import numpy as np

from .shape import as_dtype

_DTYPES = {
    "f32": "float32",
    "bf16": "bfloat16",
    "i32": "int32",
    "i64": "int64",
    "pred": "bool",
    "f64": "float64",
    "f16": "float16",
    "i8": "int8",
    "i16": "int16",
}
_NAMES = {numpy: ours for ours, numpy in _DTYPES.items()}


def dtype_named(name: str) -> np.dtype:
    """NumPy's dtype of an element type of plans, ``bf16`` say."""
    return as_dtype(_DTYPES[name])


def tensor_name(dtype: np.dtype) -> str:
    """The name of an element type of plans."""
    name = _NAMES.get(dtype.name)
    if name is None:
        raise TypeError(f"plans have no arrays of dtype {dtype}; they have {', '.join(_NAMES)}")
    return name


def as_tensor(value: np.ndarray):
    """The array as the runtime takes it: no copy where the layout is its own."""
    from . import _runtime

    array = np.asarray(value)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return _runtime.Tensor.of(tensor_name(array.dtype), array.shape, data)
