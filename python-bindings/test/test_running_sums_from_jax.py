# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running sums, products and extremes along split dimensions: JAX's numbers, and a collective of one
element a row and rank.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402

ROWS = 64


def cumsum(x):
    return jnp.cumsum(x, 0)


def product(x):
    return jnp.cumprod(1 + x / 256, 0)


def reversed_max(x):
    return lax.cummax(x, 0, reverse=True)


def minimum(x):
    return lax.cummin(x, 0)


def logsumexp(x):
    return lax.cumlogsumexp(x, 0)


def gradient(x):
    return jax.grad(lambda x: jnp.sum(jnp.sin(jnp.cumsum(x, 0) / 8)))(x)


@pytest.mark.parametrize("function, steps", [
    (cumsum, 1), (product, 1), (reversed_max, 1), (minimum, 1), (logsumexp, 1), (gradient, 2)],
    ids=lambda value: getattr(value, "__name__", None))
def test_one_element_a_row_and_rank(function, steps):
    x = np.random.default_rng(0).normal(size=(1024, ROWS)).astype(np.float32)
    compiled = weft.from_jax(function, x, mesh=weft.Mesh((4,), ("x",)), in_shardings=(P("x"),), out_shardings=P("x")).compile()
    with jax.enable_x64(True):
        exact = np.asarray(jax.jit(function)(x.astype(np.float64)))
    rounding = np.abs(jax.jit(function)(x) - exact).max()
    assert np.abs(compiled(x) - exact).max() <= 2 * rounding
    sent = [c.bytes for c in compiled.collectives()]
    assert sent == [3 * ROWS * 4] * steps, compiled.collectives()


@pytest.mark.parametrize("size", [6, 8, 12, 13, 24])
@pytest.mark.parametrize("spec", [P("x"), P(("x", "y")), P("y"), P(None, "x"), P()], ids=str)
def test_any_split(size, spec):
    x = np.random.default_rng(size).normal(size=(size, 4)).astype(np.float32)
    functions = cumsum, reversed_max, gradient
    compiled = weft.from_jax(lambda x: [f(x) for f in functions], x, mesh=weft.Mesh((2, 3), ("x", "y")), in_shardings=(spec,)).compile()
    for found, function in zip(compiled(x), functions, strict=True):
        np.testing.assert_allclose(found, jax.jit(function)(x), rtol=2e-5, atol=2e-5)
