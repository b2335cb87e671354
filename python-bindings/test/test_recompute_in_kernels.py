# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`recompute_in_kernels`: fewer bytes at the peak, and the same bits."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import tree


def gelu(x):
    """From its parts: the derivative reads each of them."""
    return 0.5 * x * (1.0 + wnp.tanh(0.8 * (x + 0.045 * x * x * x)))


def loss(params, batch):
    x = batch
    for layer in params:
        normed = weft.nn.layer_norm(x, layer["scale"], layer["bias"])
        x = x + gelu(normed @ layer["w1"] + layer["b1"]) @ layer["w2"]
    return wnp.mean(x * x)


def make_params(random, width=64, hidden=256, layers=2):
    def normal(*shape):
        return random.normal(scale=0.1, size=shape).astype(np.float32)
    return [{"scale": normal(width), "bias": normal(width), "w1": normal(width, hidden),
             "b1": normal(hidden), "w2": normal(hidden, width)} for _ in range(layers)]


@pytest.mark.parametrize("microbatches", [None, 2])
def test_no_bit_changes_and_less_memory_is_taken(microbatches):
    random = np.random.default_rng(0)
    params = make_params(random)
    batch = random.normal(size=(2048, 64)).astype(np.float32)
    gradients = weft.value_and_grad(loss)
    if microbatches:
        gradients = weft.microbatches(gradients, microbatches)

    def step(params, batch):
        value, found = gradients(params, batch)
        return tree.map(lambda p, g: p - 0.1 * g, params, found), value

    lowered = weft.jit(step, donate_argnums=0).lower(params, batch)
    now, before = (lowered.compile(recompute_in_kernels=again) for again in (True, False))
    assert now.memory().arena < 0.8 * before.memory().arena
    for ours, theirs in zip(tree.leaves(now(params, batch)), tree.leaves(before(params, batch)),
                            strict=True):
        np.testing.assert_array_equal(ours, theirs)
