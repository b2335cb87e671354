# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps in JAX, unmodified, on four ranks against `jax.jit` on four devices.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import pathlib
import sys
from functools import partial

import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import numpy as np  # noqa: E402

import weft  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "Import"))

import jax_models  # noqa: E402

STEPS = 20
TOLERANCE = 1e-4


def host(tree):
    return jax.tree.map(np.asarray, tree)


def batches(config):
    """Four batches, again and again, so that there is something to learn."""
    keys = jax.random.split(jax.random.key(1), 4)
    return [host(jax_models.lm_batch(keys[i % 4], config, 8)) for i in range(STEPS)]


def train(step, state, data):
    losses = []
    for batch in data:
        state, loss = step(state, batch)
        losses.append(float(loss))
    return host(state), np.array(losses)


def distances(a, b):
    """For each parameter, the largest difference by the largest value."""
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(b)]
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b))
    return {path: np.abs(x - y).max() / np.abs(y).max() for path, (x, y) in zip(paths, pairs)}


def both(style, model, optimizer):
    """Final states and losses of the plan and of JAX."""
    loss, init, config = model
    mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    layout = jax_models.Layout(mesh, style)
    step = jax_models.train_step(partial(loss, config=config, layout=layout), optimizer)
    state = host(jax_models.init_state(init(jax.random.key(0), config), optimizer))
    data = batches(config)
    jitted = jax_models.jit_step(step, layout, state, data[0])
    expected = train(jitted, state, data)
    program = weft.from_jax(jitted, state, data[0]).compile()
    assert program.plan.ranks == 4
    assert len(program.donated) == len(jax.tree.leaves(state))
    return train(program, state, data), expected


def check(got, expected):
    (state, losses), (expected_state, expected_losses) = got, expected
    np.testing.assert_allclose(losses, expected_losses, rtol=TOLERANCE)
    assert losses[-1] < losses[0] - 0.5
    far = {
        path: distance
        for path, distance in distances(state["params"], expected_state["params"]).items()
        # Attention does not depend on the bias of keys: its gradient is what rounding leaves of
        # zero, and Adam makes whole steps of it. Two runs of JAX differ in it as much.
        if not distance < TOLERANCE and "'bk'" not in path
    }
    assert not far


@pytest.mark.parametrize("style", jax_models.STYLES)
def test_gpt2(style):
    model = jax_models.gpt2_loss, jax_models.gpt2_init, jax_models.GPT2Config()
    check(*both(style, model, jax_models.adamw(rate=1e-2)))


def test_llama():
    model = jax_models.llama_loss, jax_models.llama_init, jax_models.LlamaConfig()
    # With an eps of 1e-8 Adam makes whole steps of what rounding leaves of a gradient near zero:
    # JAX's own runs from parameters one ulp apart then differ by up to 2.5e-4.
    check(*both("DP+TP", model, jax_models.adamw(rate=1e-2, eps=1e-5)))


def test_gpt2_with_optax():
    model = jax_models.gpt2_loss, jax_models.gpt2_init, jax_models.GPT2Config()
    check(*both("DP+TP", model, jax_models.optax_adamw(rate=1e-2)))
