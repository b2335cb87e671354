# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps as others write them, in layouts that nobody has chosen for them, against `jax.jit`.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("optax", reason="the steps use optax, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import third_party_steps  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402


def is_key(leaf):
    return jax.dtypes.issubdtype(getattr(leaf, "dtype", np.dtype(int)), jax.dtypes.prng_key)


def random_spec(random, mesh, leaf):
    """Of axes that divide the dimensions."""
    left, dims = list(mesh.axis_names), []
    for size in () if is_key(leaf) else np.shape(leaf):
        found = [axis for axis in left if size % mesh.shape[axis] == 0 and random.random() < 0.5][:1]
        dims.append(found[0] if found else None)
        left = [axis for axis in left if axis not in found]
    return P(*dims)


def train(function, state, batches):
    outputs = []
    for batch in batches:
        state, output = function(state, *batch)
        outputs.append(jax.tree.map(lambda leaf: leaf if is_key(leaf) else np.array(leaf), output))
    return outputs, state


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sizes", [(4,), (2, 2)], ids=str)
@pytest.mark.parametrize("build", third_party_steps.EVERY, ids=lambda build: build.__name__)
def test_steps(build, sizes):
    step, state, batches = build()
    mesh = weft.Mesh(sizes, ("x", "y")[:len(sizes)])
    random = np.random.default_rng(len(sizes))
    specs = jax.tree.map(lambda leaf: random_spec(random, mesh, leaf), (state, *batches[0]))
    wanted = train(jax.jit(step), state, batches)
    compiled = weft.from_jax(step, state, *batches[0], mesh=mesh, in_shardings=specs, donate_argnums=0).compile()
    found = train(compiled, state, batches)
    for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        a, b = (np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf) for leaf in (a, b))
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
