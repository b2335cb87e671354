# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional networks train on several ranks as they do in JAX on one device.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import types
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import cnn  # noqa: E402
import weft  # noqa: E402
from weft import P, tree  # noqa: E402

JAX = types.SimpleNamespace(numpy=jax.numpy, nn=jax.nn, lax=jax.lax)
STEPS = 6
IMAGES = {"lenet": (12, 12, 1), "resnet": (8, 8, 3)}


@pytest.fixture(scope="module", params=list(IMAGES))
def reference(request):
    """(name, first state, batches, step and losses of JAX)"""
    name = request.param
    rng = np.random.default_rng(0)
    params = getattr(cnn, f"{name}_init")(rng)
    state = {"params": params, "momentum": tree.map(np.zeros_like, params)}
    batches = [(rng.normal(size=(8, *IMAGES[name])).astype(np.float32), rng.integers(0, 10, 8).astype(np.int32))
               for _ in range(2)] * (STEPS // 2)
    step = cnn.momentum_step(partial(getattr(cnn, f"{name}_loss"), x=JAX), jax.value_and_grad, jax.tree.map)
    return name, state, batches, step, losses(jax.jit(step), state, batches)


def losses(step, state, batches):
    values = []
    for batch in batches:
        state, loss = step(state, batch)
        values.append(float(loss))
    return np.array(values)


def weights(state, kinds):
    """The specs of a state: `kinds` has those that are split."""
    params = {name: tree.map(lambda _, name=name: kinds.get(name, P()), value)
              for name, value in state["params"].items()}
    return {"params": params, "momentum": params}


OUT, IN = P(None, None, None, "x"), P(None, None, "x")
FEATURES = {"conv1": OUT, "conv2": IN, "depthwise": OUT, "pointwise": IN}
# Sizes of the mesh axes x, y and z, what splits weights, and images.
LAYOUTS = {
    "batch on 2": ((2,), {}, P("x")),
    "batch on 4": ((4,), {}, P("x")),
    "features": ((2,), FEATURES, P()),
    "space": ((2,), {}, P(None, "x")),
    "columns": ((2,), {}, P(None, None, "x")),
    "both dimensions of space": ((2, 2), {}, P(None, "x", "y")),
    "batch and space": ((2, 2), {}, P("y", "x")),
    "batch, features and space": ((2, 2, 2), FEATURES, P("y", "z")),
}
SPACE = ["space", "columns", "both dimensions of space", "batch and space", "batch, features and space"]


def shardings(state, layout):
    sizes, kinds, images = LAYOUTS[layout]
    return {"mesh": weft.Mesh(sizes, ("x", "y", "z")[:len(sizes)]),
            "in_shardings": (weights(state, kinds), (images, P(*images[:1]))), "donate_argnums": 0}


@pytest.mark.parametrize("layout", ["batch on 2", "features", *SPACE])
def test_training_in_jax(reference, layout):
    _, state, batches, step, expected = reference
    program = weft.from_jax(step, state, batches[0], **shardings(state, layout)).compile()
    np.testing.assert_allclose(losses(program, state, batches), expected, rtol=1e-5)
    assert expected[-1] < expected[0]
    # What moves with a split batch: sums of gradients, losses and the statistics of norms.
    if layout == "batch on 2":
        assert {collective.kind for collective in program.collectives()} == {"all_reduce"}


@pytest.mark.parametrize("layout", ["batch on 4", "features", *SPACE])
def test_training_in_weft(reference, layout):
    name, state, batches, _, expected = reference
    loss = partial(getattr(cnn, f"{name}_loss"), x=weft)
    step = weft.jit(cnn.momentum_step(loss, weft.value_and_grad, tree.map), **shardings(state, layout))
    np.testing.assert_allclose(losses(step, state, batches), expected, rtol=1e-5)
