# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.eval_shape`: shapes and types of what a function returns."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import ShapeDtypeStruct


def test_trees_in_and_out():
    def f(params, *, scale):
        return {"y": params["w"] @ params["w"].T, "n": (wnp.argmax(params["w"] * scale), 3)}

    found = weft.eval_shape(f, {"w": ShapeDtypeStruct((4, 8), "bfloat16")}, scale=2.0)
    assert found == {"y": ShapeDtypeStruct((4, 4), "bfloat16"),
                     "n": (ShapeDtypeStruct((), "int32"), ShapeDtypeStruct((), "int32"))}
    assert weft.eval_shape(lambda: wnp.zeros(3)) == ShapeDtypeStruct((3,), "float32")
    assert weft.eval_shape(lambda x: x, np.zeros(2)) == ShapeDtypeStruct((2,), "float32")


def test_what_is_no_array():
    with pytest.raises(TypeError, match=r"argument args\[0\] must be an array"):
        weft.eval_shape(lambda name: name, "x")
