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


def random_like(random, array, high):
    if array.dtype.kind == "i":
        return random.integers(0, high, array.shape).astype(array.dtype)
    return (0.05 * random.random(array.shape)).astype(array.dtype)


@pytest.mark.parametrize("layout, options", [
    (dict(data=2, micro_batch=8), {}),
    (dict(tensor=2, sequence_parallel=True, micro_batch=8), dict(collective_pieces=2)),
    (dict(pipeline=2, global_batch=16, micro_batch=8), {})])
def test_a_gpt_in_parallel_has_the_same_bits_in_no_more_memory(layout, options):
    random = np.random.default_rng(0)
    model = weft.models.gpt(layers=2, hidden=64, heads=4, vocabulary=64, sequence=64, dtype="float32", **layout)
    lowered = model.lower()
    now, before = (lowered.compile(recompute_in_kernels=again, **options) for again in (True, False))
    assert now.memory().arena <= before.memory().arena
    state, batch = (tree.map(lambda each: random_like(random, each, 64), shapes)
                    for shapes in (model.state(), model.batch()))
    for ours, theirs in zip(tree.leaves(now(state, batch)), tree.leaves(before(state, batch)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("specs, options", [
    (dict(batch=P("x")), {}),
    (dict(w1=P(None, "x"), b1=P("x"), w2=P("x")), {}),
    (dict(w1=P(None, "x"), b1=P("x"), w2=P("x"), batch=P("x")), dict(collective_pieces=2))])
def test_a_large_step_takes_less_memory_and_no_more_time(specs, options):
    def step(params, batch):
        value, found = weft.value_and_grad(loss)(params, batch)
        return tree.map(lambda p, g: p - 0.1 * g, params, found), value

    mesh = weft.AbstractMesh((8,), ("x",))
    params = [{name: np.zeros(shape, np.float32) for name, shape in (
        ("scale", 1024), ("bias", 1024), ("w1", (1024, 4096)), ("b1", 4096), ("w2", (4096, 1024)))}] * 2
    shardings = [{name: weft.NamedSharding(mesh, specs.get(name, P())) for name in layer} for layer in params]
    lowered = weft.jit(step, in_shardings=(shardings, weft.NamedSharding(mesh, specs.get("batch", P()))),
                       donate_argnums=0).lower(params, np.zeros((16384, 1024), np.float32))
    now, before = (lowered.compile(None, cluster="dgx-h100", recompute_in_kernels=again, **options)
                   for again in (True, False))
    assert now.memory().call < 0.9 * before.memory().call
    # What runs at once takes from each other, which the choice does not know.
    assert simulate(now, "dgx-h100")["step_seconds"] < 1.005 * simulate(before, "dgx-h100")["step_seconds"]
