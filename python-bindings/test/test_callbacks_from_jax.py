# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of Python from programs of JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports functions of JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft  # noqa: E402
from weft import P  # noqa: E402

MESH = weft.Mesh((2,), ("a",))
X = np.arange(8, dtype=np.float32)


def test_debugging_output_is_left_out():
    def step(x):
        def body(total, value):
            jax.debug.print("total {total}", total=total)
            return total + value, None
        jax.debug.callback(print, x)
        return jax.grad(lambda x: jax.lax.scan(body, 0.0, x * x)[0])(x)

    with pytest.warns(UserWarning) as warned:
        compiled = weft.from_jax(step, X, mesh=MESH, in_shardings=(P("a"),)).compile()
    np.testing.assert_array_equal(compiled(X), 2 * X)
    lines = [str(each.message) for each in warned]
    assert len(lines) == 2 and all(f"{__file__}:" in line and "left out: debugging output" in line for line in lines)


def test_other_callbacks_are_refused():
    def step(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(NotImplementedError, match=r"test_callbacks_from_jax\.py:\d+.*: a function of Python, which a plan cannot call; return what it reads"):
        weft.from_jax(step, X, mesh=MESH, in_shardings=(P("a"),))
    with pytest.raises(weft.CompileError, match="a function of Python, which a plan cannot call"):
        weft.from_jax(step, X, mesh=MESH).compile()
