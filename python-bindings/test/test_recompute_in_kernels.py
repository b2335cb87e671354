# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`recompute_in_kernels`: fewer bytes at the peak, and the same bits."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import PartitionSpec as P, tree
from weft.simulation import simulate


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


TENSOR = dict(w1=P(None, "x"), b1=P("x"), w2=P("x"))


def shardings(mesh, params, specs):
    """Of the arguments of a step."""
    return ([{name: weft.NamedSharding(mesh, specs.get(name, P())) for name in layer} for layer in params],
            weft.NamedSharding(mesh, specs.get("batch", P())))


def make_step(gradients):
    def step(params, batch):
        value, found = gradients(params, batch)
        return tree.map(lambda p, g: p - 0.1 * g, params, found), value
    return step


def assert_same_in_less_memory(lowered, params, batch, **options):
    now, before = (lowered.compile(recompute_in_kernels=again, **options) for again in (True, False))
    assert now.memory().arena < 0.85 * before.memory().arena
    for ours, theirs in zip(tree.leaves(now(params, batch)), tree.leaves(before(params, batch)),
                            strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("microbatches", [None, 2])
def test_no_bit_changes_and_less_memory_is_taken(microbatches):
    random = np.random.default_rng(0)
    params, batch = make_params(random), random.normal(size=(2048, 64)).astype(np.float32)
    gradients = weft.value_and_grad(loss)
    if microbatches:
        gradients = weft.microbatches(gradients, microbatches)
    lowered = weft.jit(make_step(gradients), donate_argnums=0).lower(params, batch)
    assert_same_in_less_memory(lowered, params, batch)


@pytest.mark.parametrize("specs, options", [(dict(batch=P("x")), {}), (TENSOR, dict(collective_pieces=2))])
def test_no_bit_changes_of_two_ranks(specs, options):
    random = np.random.default_rng(0)
    params, batch = make_params(random), random.normal(size=(4096, 64)).astype(np.float32)
    lowered = weft.jit(make_step(weft.value_and_grad(loss)), donate_argnums=0, in_shardings=shardings(
        weft.AbstractMesh((2,), ("x",)), params, specs)).lower(params, batch)
    assert_same_in_less_memory(lowered, params, batch, **options)


@pytest.mark.parametrize("specs, options", [
    (dict(batch=P("x")), {}),
    (TENSOR, {}),
    (TENSOR | dict(batch=P("x")), dict(collective_pieces=2))])
def test_a_large_step_takes_less_memory_and_no_more_time(specs, options):
    params = [{name: np.zeros(shape, np.float32) for name, shape in (
        ("scale", 1024), ("bias", 1024), ("w1", (1024, 4096)), ("b1", 4096), ("w2", (4096, 1024)))}] * 2
    lowered = weft.jit(make_step(weft.value_and_grad(loss)), donate_argnums=0, in_shardings=shardings(
        weft.AbstractMesh((8,), ("x",)), params, specs)).lower(params, np.zeros((16384, 1024), np.float32))
    now, before = (lowered.compile(None, cluster="dgx-h100", recompute_in_kernels=again, **options)
                   for again in (True, False))
    assert now.memory().call < 0.9 * before.memory().call
    # What runs at once takes from each other, which the choice does not know.
    assert simulate(now, "dgx-h100")["step_seconds"] < 1.005 * simulate(before, "dgx-h100")["step_seconds"]
