# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of JAX programs: imported, on one device and on four, with their gradients, against JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
import jax_ops  # noqa: E402

import weft  # noqa: E402

P = weft.P
MESH = weft.Mesh((2, 2), ("a", "b"))


def gradient(f):
    def loss(y, x, i):
        terms = [t.astype(jnp.float32) for t in jax.tree.leaves(f(x, y, i)) if jnp.issubdtype(t.dtype, jnp.floating)]
        # Weights that all differ.
        return sum(jnp.sum(t * jnp.cos(jnp.arange(t.size, dtype=jnp.float32)).reshape(t.shape)) for t in terms)
    return lambda x, y, i: jax.grad(loss)(y, x, i)


NAMES = [*jax_ops.FORWARD, *(f"gradient of {name}" for name in jax_ops.DIFFERENTIABLE)]


def program(x, y, i):
    """All at once: compiled once for each sharding."""
    results = {name: f(x, y, i) for name, f in jax_ops.FORWARD.items()}
    return results | {f"gradient of {name}": gradient(f)(x, y, i) for name, f in jax_ops.DIFFERENTIABLE.items()}


@pytest.fixture(scope="module")
def expected():
    return jax.jit(program)(*jax_ops.arguments())


@pytest.fixture(scope="module", params=[None, P("a", "b")], ids=str)
def results(request):
    options = {} if request.param is None else {"mesh": MESH, "in_shardings": request.param}
    x, y, i = jax_ops.arguments()
    return weft.from_jax(program, x, y, i, **options).compile()(x, y, i)


@pytest.mark.parametrize("name", NAMES)
def test_as_jax(name, results, expected):
    got, wanted = jax.tree.leaves(results[name]), jax.tree.leaves(expected[name])
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        b = np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        tolerance = 1e-2 if b.dtype.itemsize == 2 else 2e-5
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=tolerance,
                                   atol=tolerance)
