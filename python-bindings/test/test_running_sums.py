# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running sums, products and extremes of weft.numpy along split dimensions: NumPy's numbers, and a collective of one
element a row and rank."""

import numpy as np
import pytest

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft  # noqa: E402
import weft.numpy as wnp  # noqa: E402
from weft import P, lax  # noqa: E402

ROWS = 64


def cumsum(x):
    return wnp.cumsum(x, 0)


def cumprod(x):
    return wnp.cumprod(1 + x / 256, 0)


def cummax(x):
    return lax.cummax(x, 0)


def reversed_min(x):
    return lax.cummin(x, 0, reverse=True)


EXACT = {
    cumsum: lambda x: np.cumsum(x, 0),
    cumprod: lambda x: np.cumprod(1 + x / 256, 0),
    cummax: lambda x: np.maximum.accumulate(x, 0),
    reversed_min: lambda x: np.minimum.accumulate(x[::-1], 0)[::-1],
}


@pytest.mark.parametrize("function", EXACT, ids=lambda f: f.__name__)
def test_one_element_a_row_and_rank(function):
    x = np.random.default_rng(0).normal(size=(1024, ROWS)).astype(np.float32)
    compiled = weft.jit(function, mesh=weft.Mesh((4,), ("x",)), in_shardings=(P("x"),),
                        out_shardings=P("x")).lower(x).compile()
    np.testing.assert_allclose(compiled(x), EXACT[function](x.astype(np.float64)), rtol=2e-5, atol=2e-5)
    assert [c.bytes for c in compiled.collectives()] == [3 * ROWS * 4], compiled.collectives()


def test_gradient():
    def gradient(x):
        return weft.grad(lambda x: wnp.sum(wnp.sin(wnp.cumsum(x, 0) / 8)))(x)

    x = np.random.default_rng(0).normal(size=(1024, ROWS)).astype(np.float32)
    compiled = weft.jit(gradient, mesh=weft.Mesh((4,), ("x",)), in_shardings=(P("x"),),
                        out_shardings=P("x")).lower(x).compile()
    slope = np.cos(np.cumsum(x.astype(np.float64), 0) / 8) / 8
    np.testing.assert_allclose(compiled(x), np.cumsum(slope[::-1], 0)[::-1], rtol=1e-4, atol=1e-4)
    assert [c.bytes for c in compiled.collectives()] == [3 * ROWS * 4] * 2, compiled.collectives()


@pytest.mark.parametrize("size", [6, 8, 12, 13, 24])
@pytest.mark.parametrize("spec", [P("x"), P(("x", "y")), P("y"), P(None, "x"), P()], ids=str)
def test_any_split(size, spec):
    x = np.random.default_rng(size).normal(size=(size, 4)).astype(np.float32)
    compiled = weft.jit(lambda x: [f(x) for f in EXACT], mesh=weft.Mesh((2, 3), ("x", "y")),
                        in_shardings=(spec,)).lower(x).compile()
    for found, exact in zip(compiled(x), EXACT.values(), strict=True):
        np.testing.assert_allclose(found, exact(x), rtol=2e-5, atol=2e-5)


def test_examples_of_vmap():
    x = np.random.default_rng(1).normal(size=(3, 8, 4)).astype(np.float32)
    compiled = weft.jit(weft.vmap(cumsum), mesh=weft.Mesh((2,), ("x",)),
                        in_shardings=(P(None, "x"),)).lower(x).compile()
    np.testing.assert_allclose(compiled(x), np.cumsum(x, 1), rtol=1e-5, atol=1e-5)


def test_an_axis_that_is_not_there_is_told_by_the_name_of_the_function():
    with pytest.raises(ValueError, match="cumprod: axis -9 is out of bounds for a tensor of rank 2"):
        weft.jit(lambda x: wnp.cumprod(x, -9)).lower(np.ones((2, 2), np.float32))
