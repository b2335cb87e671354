# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/cnn on four ranks trains as the same network does in JAX and optax on one device.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import pathlib
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "cnn"))

import digits  # noqa: E402
import train_digits  # noqa: E402

EPOCHS = 3


def logits(params, images):
    def conv(layer, x):
        return jax.lax.conv_general_dilated(x, layer["kernel"], (1, 1), "SAME",
                                            dimension_numbers=("NHWC", "HWIO", "NHWC")) + layer["bias"]

    x = jax.nn.relu(conv(params["conv1"], images))
    x = jax.nn.relu(conv(params["conv2"], x))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(len(x), -1) @ params["dense"]["kernel"] + params["dense"]["bias"]


def loss(params, images, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits(params, images), labels).mean()


def trained():
    """(mean loss, accuracy) of each epoch, and the held-out digits as the last one classifies them."""
    training, (images, labels) = digits.load()
    optimizer = optax.sgd(0.1, momentum=0.9)
    params = train_digits.first_state()["params"]
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, *batch):
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    for epoch in range(EPOCHS):
        losses = []
        for batch in digits.batches(training, 64, epoch):
            params, state, value = step(params, state, *batch)
            losses.append(float(value))
        yield np.mean(losses), np.mean(np.argmax(logits(params, images), axis=-1) == labels)


def test_four_ranks_train_as_jax():
    found, expected = (np.array(list(epochs)) for epochs in (train_digits.train(4, EPOCHS), trained()))
    np.testing.assert_allclose(found[:, 0], expected[:, 0], rtol=1e-5)
    # One digit may be on either side of a decision.
    np.testing.assert_allclose(found[:, 1], expected[:, 1], atol=1.5 / digits.HELD_OUT)
    assert expected[-1, 1] > 0.9
