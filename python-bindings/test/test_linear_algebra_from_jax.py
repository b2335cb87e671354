# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorisations of matrices that are imported from JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402

MESH = weft.Mesh((2, 2), ("a", "b"))
RANDOM = np.random.default_rng(0)
SQUARE = RANDOM.normal(size=(2, 5, 5)).astype(np.float32)
TALL = RANDOM.normal(size=(2, 6, 3)).astype(np.float32)
VECTORS = RANDOM.normal(size=(2, 5, 2)).astype(np.float32)


def positive(a):
    return a @ a.mT + jnp.eye(a.shape[-1])


def compare(function, *arguments, rtol=1e-5):
    specs = tuple(P("a", "b") for _ in arguments)
    found = weft.from_jax(function, *arguments, mesh=MESH, in_shardings=specs).compile()(*arguments)
    expected = jax.jit(function)(*arguments)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.nanmax(np.abs(b), initial=0))


@pytest.mark.parametrize("function", [
    lambda a, b: jnp.linalg.cholesky(positive(a)),
    lambda a, b: jnp.linalg.cholesky(positive(a), upper=True),
    lambda a, b: jnp.linalg.cholesky(positive(a) * jnp.array([1, -1])[:, None, None]),
    lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(positive(a)), True), b),
    lambda a, b: jnp.linalg.solve(a, b),
    lambda a, b: jnp.linalg.inv(a),
    lambda a, b: jnp.linalg.slogdet(a),
    lambda a, b: jnp.linalg.qr(a),
    lambda a, b: lax.linalg.lu(a),
    lambda a, b: lax.linalg.lu(jnp.zeros_like(a).at[..., 1].set(2)),
], ids=["cholesky", "upper cholesky", "not positive definite", "cho_solve", "solve", "inv", "slogdet", "qr", "lu", "singular lu"])
def test_square(function):
    compare(function, SQUARE, VECTORS, rtol=1e-4)


@pytest.mark.parametrize("function", [
    lambda a: jnp.linalg.qr(a), lambda a: jnp.linalg.qr(a, "complete"), lambda a: lax.linalg.lu(a),
    lambda a: lax.linalg.lu(a.mT), lambda a: jnp.linalg.qr(a.mT)], ids=["qr", "complete qr", "lu", "wide lu", "wide qr"])
def test_rectangular(function):
    compare(function, TALL)


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose_a", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_triangular_solve(left_side, lower, transpose_a, unit_diagonal):
    def function(a, b):
        return lax.linalg.triangular_solve(
            a + 3 * jnp.eye(5), b if left_side else b.mT, left_side=left_side, lower=lower,
            transpose_a=transpose_a, unit_diagonal=unit_diagonal)
    compare(function, SQUARE, VECTORS, rtol=1e-4)


@pytest.mark.parametrize("function", [
    lambda a, b: jnp.sum(jnp.log(jnp.diagonal(jnp.linalg.cholesky(positive(a)), axis1=-2, axis2=-1))),
    lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2), lambda a, b: jnp.sum(jnp.linalg.qr(a)[0] * a)],
    ids=["cholesky", "solve", "qr"])
def test_gradients(function):
    compare(jax.grad(function, (0, 1)), SQUARE, VECTORS, rtol=1e-3)


@pytest.mark.parametrize("function", [jnp.linalg.eigvalsh, lambda a: jnp.linalg.cholesky(jnp.eye(130) + a[0, 0, 0])])
def test_what_is_not_written_out(function):
    with pytest.raises(weft.CompileError, match="lapack_.*of up to 128 columns") as refusal:
        weft.from_jax(function, SQUARE, mesh=MESH).compile()
    assert "ignored" not in str(refusal.value)
