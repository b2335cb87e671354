# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What plans say of memory: against the runtime, against the formulas, and under a limit."""

import dataclasses
import re
from functools import partial

import numpy as np
import pytest
from tiny_models import MODELS
from weft_models import adamw, gpt2_loss, train_step

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct, optim

# ===----------------------------------------------------------------------===
# A small GPT-2
# ===----------------------------------------------------------------------===

WIDTH, HEADS, LAYERS, TIME, BATCH, WORDS = 32, 2, 3, 32, 8, 64


class Config:
    heads, dtype = HEADS, "float32"


def gpt2_state():
    random = np.random.default_rng(0)

    def normal(*shape):
        return (0.1 * random.normal(size=shape)).astype(np.float32)

    def norm():
        return {"scale": np.ones(WIDTH, np.float32), "bias": np.zeros(WIDTH, np.float32)}

    def block():
        attn = {w: normal(WIDTH, WIDTH) for w in ("wq", "wk", "wv", "wo")}
        attn |= {b: normal(WIDTH) for b in ("bq", "bk", "bv", "bo")}
        mlp = {"w1": normal(WIDTH, 4 * WIDTH), "b1": normal(4 * WIDTH),
               "w2": normal(4 * WIDTH, WIDTH), "b2": normal(WIDTH)}
        return {"ln1": norm(), "attn": attn, "ln2": norm(), "mlp": mlp}

    params = {"wte": normal(WORDS, WIDTH), "wpe": normal(TIME, WIDTH), "ln_f": norm(),
              "blocks": [block() for _ in range(LAYERS)]}
    zeros = partial(weft.tree.map, np.zeros_like)
    moments = {"mu": zeros(params), "nu": zeros(params), "step": np.int32(0)}
    return {"params": params, "optimizer": moments}


def gpt2_batch():
    random = np.random.default_rng(1)
    return {name: random.integers(0, WORDS, (BATCH, TIME)).astype(np.int32)
            for name in ("tokens", "targets")}


def gpt2_step(ranks, target="cpu", **options):
    mesh = weft.AbstractMesh((ranks,), ("data",))
    step = train_step(partial(gpt2_loss, config=Config), adamw())
    step = weft.jit(step, mesh=mesh, in_shardings=(P(), P("data")), donate_argnums=0, **options)
    # So small that what collectives exchange together would take much of the memory.
    return step.lower(gpt2_state(), gpt2_batch()).compile(target, combine_collectives=False)


@pytest.fixture(scope="module")
def step():
    return gpt2_step(2)


# ===----------------------------------------------------------------------===
# The report
# ===----------------------------------------------------------------------===


def test_the_runtime_allocates_what_the_report_says(step):
    memory = step.memory()
    assert step.session().arena_bytes == [memory.arena] * 2
    assert sum(memory.at_peak.values()) + memory.free == memory.arena
    assert sum(tensor.bytes for tensor in memory.peak) == sum(memory.at_peak.values())
    assert all(memory.at_peak[name] <= memory.highest[name] for name in memory.at_peak)
    # Alignment aside, the peak is the liveness bound.
    shared = sum(size for name, size in memory.at_peak.items()
                 if name not in ("parameters", "optimizer state", "constants"))
    assert 0 <= memory.liveness_bound - shared < 64 * len(memory.peak)


def test_purposes_of_a_training_step(step):
    memory = step.memory()
    params = sum(leaf.nbytes for leaf in weft.tree.leaves(gpt2_state()["params"]))
    assert memory.parameters == params
    assert memory.optimizer_state == 2 * params + 4
    assert memory.highest["states"] == 0
    assert memory.states == 3 * params + 4
    # Clipping needs all gradients at once.
    assert memory.gradients >= params
    assert memory.highest["arguments"] >= 2 * 4 * BATCH * TIME // 2
    # Two layers more than the first keep at least their residual and their hidden values.
    rows = BATCH * TIME // 2
    assert memory.activations > LAYERS * rows * (WIDTH + 4 * WIDTH) * 4
    names = [tensor.name for tensor in memory.peak]
    assert "state['params']['wte']" in names
    assert any(name.startswith("gpt.py:") for name in names)
    assert memory.peak_location.startswith("gpt.py:")
    assert [t.bytes for t in memory.peak] == sorted((t.bytes for t in memory.peak), reverse=True)
    assert repr(memory).startswith(f"Memory(parameters {params}, ")


def test_states_without_parameters():
    def decay(state):
        return {"x": state["x"] * 0.5}

    compiled = weft.jit(decay, donate_argnums=0).lower(
        {"x": ShapeDtypeStruct((16,), "float32")}).compile(None)
    memory = compiled.memory()
    assert memory.highest["states"] == memory.states == 64
    assert memory.parameters == memory.optimizer_state == memory.gradients == 0


# ===----------------------------------------------------------------------===
# Model states of the ZeRO paper
# ===----------------------------------------------------------------------===

RANKS = 4
SHAPES = {"a": (64, 128), "b": (128, 64), "c": (64, 64)}
PARAMETERS = sum(np.prod(shape) for shape in SHAPES.values())


def mixed_precision_step(resting, gradients, moments):
    """bf16 parameters and gradients, fp32 copies and two moments; the specs say where each
    rests. Gradients are results, so that all are there at once."""
    mesh = weft.AbstractMesh((RANKS,), ("data",))
    optimizer = optim.master_weights(optim.adamw(1e-3))

    def loss(params, x):
        for name in SHAPES:
            x = wnp.tanh(x @ params[name])
        return wnp.sum(x.astype(wnp.float32))

    def step(params, state, x):
        value, grads = weft.value_and_grad(loss)(params, x)
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state, grads, value

    params = {name: ShapeDtypeStruct(shape, "bfloat16") for name, shape in SHAPES.items()}
    state = weft.eval_shape(optimizer.init, params)
    specs = optim.state_specs(state, params, moments)
    x = ShapeDtypeStruct((RANKS, 64), "bfloat16")
    step = weft.jit(step, mesh=mesh, in_shardings=(resting, specs, P("data")),
                    out_shardings=(resting, specs, gradients, P()), donate_argnums=(0, 1))
    return step.lower(params, state, x).compile(None, combine_collectives=False)


@pytest.mark.parametrize("resting, gradients, moments, formula", [
    (P(), P(), P(), 16),
    (P(), P(), P("data"), 4 + 12 / RANKS),
    (P(), P("data"), P("data"), 2 + 14 / RANKS),
    (P("data"), P("data"), P("data"), 16 / RANKS),
], ids=["replicated", "ZeRO-1", "ZeRO-2", "ZeRO-3"])
def test_model_states_are_those_of_the_zero_paper(resting, gradients, moments, formula):
    memory = mixed_precision_step(resting, gradients, moments).memory()
    counter = loss = 4
    # Where only the update is sharded each gradient is reduced to the shards, and gathered to
    # become a result.
    gradients = max(memory.gradients, memory.highest["results"] - loss)
    states = memory.parameters + gradients + memory.optimizer_state - counter
    assert states == formula * PARAMETERS


# ===----------------------------------------------------------------------===
# A limit
# ===----------------------------------------------------------------------===


def test_a_limit_changes_no_bit(step):
    free = step.memory()
    limit = free.arena - free.activations // 2
    limited = gpt2_step(2, memory_limit=limit)
    assert limited.memory().arena <= limit < free.arena
    assert step.cost().recomputed_flops == 0 < limited.cost().recomputed_flops
    assert limited.session().arena_bytes == [limited.memory().arena] * 2
    expected, found = (gpt2_state(),) * 2
    for _ in range(3):
        expected, loss = step(expected, gpt2_batch())
        found, limited_loss = limited(found, gpt2_batch())
        assert loss == limited_loss
    for value, other in zip(weft.tree.leaves(found), weft.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(value, other)


def test_less_memory_takes_more_work(step):
    free = step.memory()
    work = []
    for share in (1.0, 0.8, 0.6):
        limit = int(free.arena - (1 - share) * free.activations)
        compiled = gpt2_step(2, target=None, memory_limit=limit)
        assert compiled.memory().arena <= limit
        work.append(compiled.cost().recomputed_flops)
    assert work == sorted(work) and work[0] == 0 < work[-1]


def test_what_is_combined_may_not_exceed_the_limit():
    """Gradients that wait for one call take memory, where there is nothing to recompute."""
    def step(weights, x):
        def loss(weights, x):
            for weight in weights:
                x = wnp.tanh(x @ weight)
            return wnp.mean(x**2)
        value, gradients = weft.value_and_grad(loss)(weights, x)
        return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], value

    lowered = weft.jit(step, mesh=weft.AbstractMesh((64,), ("data",)), in_shardings=(P(), P("data")), donate_argnums=0).lower(
        [ShapeDtypeStruct((2048, 2048), "float32")] * 10, ShapeDtypeStruct((64 * 64, 2048), "float32"))
    options = {"target": None, "cluster": "dgx-h100"}
    combined, apart = lowered.compile(**options), lowered.compile(combine_collectives=False, **options)
    assert apart.memory().arena < combined.memory().arena
    limited = lowered.compile(memory_limit=apart.memory().arena, **options)
    assert limited.memory().arena <= apart.memory().arena


@pytest.mark.parametrize("rows, layers, again", [(8, 3, 0.1), (64, 4, 0.3)])
def test_the_least_that_an_error_names_can_be_had(rows, layers, again):
    """With the most rows, by computing ranges again within ranges: much more work."""
    model = MODELS["gpt2"]
    model = dataclasses.replace(model, config=dataclasses.replace(model.config, layers=layers))
    optimizer = optim.adamw(1e-3)
    state = {"params": model.params(), "optimizer": optimizer.init(model.params())}
    batch = weft.tree.map(lambda steps: steps[0], model.batches(1, rows))
    lowered = weft.jit(model.train_step(optimizer), mesh=weft.AbstractMesh((2,), ("data",)),
                       in_shardings=(P(), P("data")), donate_argnums=0).lower(state, batch)
    free = lowered.compile(None)
    with pytest.raises(weft.CompileError) as raised:
        lowered.compile(None, memory_limit="1KB")
    least = int(re.search(r"smallest plan found needs \S+ \wiB \((\d+) bytes\)", str(raised.value))[1])
    limited = lowered.compile(None, memory_limit=least)
    assert limited.memory().arena == least < free.memory().arena
    assert limited.cost().recomputed_flops > again * free.cost().flops


def test_a_limit_that_is_met_changes_nothing(step):
    arena = step.memory().arena
    same = gpt2_step(2, target=None, memory_limit=arena)
    assert same.as_text("schedule") == gpt2_step(2, target=None).as_text("schedule")


def test_a_limit_that_cannot_be_met_names_the_tensors(step):
    states = step.memory().states
    with pytest.raises(weft.CompileError) as raised:
        gpt2_step(2, target=None, memory_limit=f"{states}B")
    (error,) = raised.value.errors
    assert error.message.startswith("does not fit the memory limit of ")
    assert f"({states} bytes) per rank: with recomputation the smallest plan" in error.message
    (note,) = error.notes
    first, *tensors, rest = note.message.splitlines()
    assert re.match(r"alive at the peak of @train_step \((gpt|attention)\.py:", first)
    assert len(tensors) == 8 and rest.startswith("  and ")
    assert all(re.match(r"  [\d.]+ [KM]?i?B, [a-z ]+, \w+\[[\dx]*\] \S", line) for line in tensors)


@pytest.mark.parametrize("limit, error, message", [
    ("many", ValueError, 'memory_limit: expected a number of bytes such as 1500MB or 2GiB, got "many"'),
    (0, ValueError, 'got "0"'),
    (True, TypeError, "memory_limit must be a number of bytes or text, got True"),
    (1.5, TypeError, "got 1.5"),
])
def test_wrong_limits(limit, error, message):
    with pytest.raises(error, match=message):
        gpt2_step(2, target=None, memory_limit=limit)
