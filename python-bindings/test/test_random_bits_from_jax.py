# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of keys that are not threefry's, and samples by rejection, imported from JAX: those of
JAX, wherever the results are split.

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


def same(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        a, b = (jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in (a, b))
        assert a.dtype == b.dtype and a.shape == b.shape
        tolerance = 1e-2 if b.dtype == jnp.bfloat16 else 2e-6
        a, b = (np.asarray(x).astype(np.float64) for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mesh", [None, MESH], ids=["one", "four"])
@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys(impl, mesh):
    def draw(key, x):
        first, second, third = jax.random.split(key, 3)
        kept = jax.random.bernoulli(first, 0.8, x.shape)
        return (jnp.where(kept, x, 0), jax.random.normal(second, (8, 6)) + x[:, :6], jax.random.uniform(third, (5, 3)),
                jax.random.randint(second, (7,), -5, 90), jax.random.bits(first, (3, 5), "uint8"), jax.random.bits(third),
                jax.random.permutation(first, 12), jax.random.fold_in(key, 3), jax.random.normal(third, (4, 2), "bfloat16"),
                jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(second, 4)))

    key, x = jax.random.key(7, impl=impl), np.arange(64, dtype=np.float32).reshape(8, 8)
    sharded = {} if mesh is None else dict(mesh=mesh, in_shardings=(P(), P("a", "b")))
    same(weft.from_jax(draw, key, x, **sharded).compile()(key, x), jax.jit(draw)(key, x))


@pytest.mark.parametrize("state", [[1, 2, 3, 4], [5, 6, 2**32 - 2, 2**32 - 1]], ids=["small", "carried"])
def test_bits(state):
    """With a counter of 64 bits that is carried over into the key."""
    def draw(state):
        return [lax.rng_bit_generator(state, shape, dtype, algorithm)
                for algorithm in (lax.RandomAlgorithm.RNG_DEFAULT, lax.RandomAlgorithm.RNG_PHILOX)
                for shape, dtype in (((8, 4), "uint32"), ((3, 3, 3), "uint16"), ((), "uint32"), ((7,), "uint8"))]

    state = np.array(state, np.uint32)
    same(weft.from_jax(draw, state).compile()(state), jax.jit(draw)(state))


def test_bits_of_64_bits():
    def draw(state):
        return [lax.rng_bit_generator(state, shape, dtype) for shape, dtype in (((5, 3), "uint64"), ((6,), "uint32"))]

    with jax.enable_x64(True):
        state = np.array([1, 2, 2**32 - 1, 2**32 - 1], np.uint32)
        wanted = jax.jit(draw)(state)
        found = weft.from_jax(draw, state).compile()(state)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(np.asarray(a).view(np.uint32), np.asarray(b).view(np.uint32))


@pytest.mark.parametrize("mesh", [None, MESH], ids=["one", "four"])
def test_samples_by_rejection(mesh):
    """Of shape parameters that need more trials and fewer, and of none that there are samples for."""
    def draw(key, shapes):
        return (jax.random.gamma(key, shapes), jax.random.loggamma(key, 0.1 * shapes), jax.random.dirichlet(key, jnp.ones(4), (6,)),
                jax.vmap(lambda each: jax.random.gamma(each, 1.0, (50,)))(jax.random.split(key, 4)))

    random = np.random.default_rng(0)
    shapes = np.exp(random.normal(size=(8, 16)) * 3).astype(np.float32)
    shapes[0, :5] = 0, -1, np.nan, 1, np.inf
    key = jax.random.key(3)
    sharded = {} if mesh is None else dict(mesh=mesh, in_shardings=(P(), P("a", "b")))
    found = weft.from_jax(draw, key, shapes, **sharded).compile()(key, shapes)
    for a, b in zip(found, jax.jit(draw)(key, shapes), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_normal_numbers_of_64_bits():
    """Of a logarithm that is small, larger, and so large that few samples have it."""
    def draw(key, x):
        return jax.random.normal(key, (2000,), "float64"), lax.erf_inv(x), jax.vmap(jax.grad(lax.erf_inv))(x[1:-1])

    with jax.enable_x64(True):
        key = jax.random.key(5)
        near = 1 - np.geomspace(1e-15, 0.9, 50)
        x = np.concatenate([[-1], -near, [0], near[::-1], [1]])
        found = weft.from_jax(draw, key, x).compile()(key, x)
        for a, b in zip(found, jax.jit(draw)(key, x), strict=True):
            assert a.dtype == np.float64
            np.testing.assert_allclose(a, b, rtol=1e-12)
