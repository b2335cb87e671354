# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of JAX training steps of many kinds, against jax.jit."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("optax", reason="the steps use optax, which is not installed here")

import jax_training_steps as steps  # noqa: E402

import weft  # noqa: E402


def train(function, state, batches):
    found = []
    for batch in batches:
        state, value = function(state, *batch)
        found.append(jax.tree.map(np.array, value))
    return found, jax.tree.map(np.array, state)


@pytest.mark.parametrize("build", [
    steps.tied_embeddings, steps.skip_connections, steps.dropout, steps.clipped_adam, steps.checkpointed, steps.scanned,
    steps.frozen, steps.auxiliary_loss, steps.running_states], ids=lambda build: build.__name__)
def test_steps(build):
    step, state, batches = build((0, 1, 2))
    compiled = weft.from_jax(step, state, *batches[0], mesh=weft.Mesh((2,), ("pipe",)), donate_argnums=0,
                             pipeline=weft.Pipeline("pipe", "zb-v", microbatches=4)).compile()
    found, wanted = train(compiled, state, batches), train(jax.jit(step), state, batches)
    for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
