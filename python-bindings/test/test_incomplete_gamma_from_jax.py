# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Incomplete gamma functions, which JAX computes in loops that nothing but values ends.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from jax.scipy import special, stats  # noqa: E402

import weft  # noqa: E402


def points(limit, kind):
    """On both sides of x = a, where most terms are needed, and where nothing is to be computed."""
    random = np.random.default_rng(0)
    a = np.concatenate([10 ** random.uniform(-2, np.log10(limit), 1000), [limit, 0, 0, 1, np.nan, 2, -1, 5, 5, 1e-3]])
    spread = np.concatenate([a[:500] * 10 ** random.uniform(-1, 1, 500), a[500:1001] + random.normal(size=501) * a[500:1001]**0.5])
    x = np.concatenate([np.abs(spread), [0, 1, 0, 1, np.nan, 1, np.inf, -1, 1]])
    return a.astype(kind), x.astype(kind)


def both(a, x):
    return special.gammainc(a, x), special.gammaincc(a, x)


# In single precision both are wrong by that much where parameters are large: a factor is the exponential of
# a small difference of large numbers.
@pytest.mark.parametrize("kind, limit, tolerance", [("float32", 1000, 5e-4), ("float64", 500, 1e-12)])
def test_as_jax(kind, limit, tolerance):
    with jax.enable_x64(kind == "float64"):
        a, x = points(limit, jnp.dtype(kind))
        found = weft.from_jax(both, a, x).compile()(a, x)
        for y, wanted in zip(found, jax.jit(both)(a, x)):
            assert y.dtype == wanted.dtype
            np.testing.assert_allclose(np.asarray(y, np.float64), np.asarray(wanted, np.float64), rtol=0, atol=tolerance)


def test_distributions_with_derivatives():
    def tails(a, x):
        halves = stats.gamma.sf(x.astype("bfloat16"), a.astype("bfloat16"))
        return jnp.sum(stats.gamma.cdf(x, a) * jnp.arange(8)) + jnp.sum(stats.chi2.sf(x, a)), halves

    a, x = np.linspace(0.5, 6, 8, dtype=np.float32), np.linspace(0.2, 9, 8, dtype=np.float32)
    step = jax.value_and_grad(tails, 1, has_aux=True)
    mesh = weft.Mesh((2,), ("x",))
    (value, halves), gradient = weft.from_jax(step, a, x, mesh=mesh, in_shardings=weft.P("x")).compile()(a, x)
    (wanted, wanted_halves), wanted_gradient = jax.jit(step)(a, x)
    assert halves.dtype == wanted_halves.dtype
    np.testing.assert_allclose(np.float32(halves), np.float32(wanted_halves), rtol=1e-2)
    np.testing.assert_allclose(value, wanted, rtol=2e-5)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=2e-5, atol=1e-6)


def test_too_many_terms():
    """No number, instead of a wrong one."""
    a, x = points(1000, np.float32)
    a[0] = x[0] = 1e5
    lower, upper = weft.from_jax(both, a, x).compile()(a, x)
    assert np.isnan([lower[0], upper[0]]).all() and np.isfinite([lower[1], upper[1]]).all()
