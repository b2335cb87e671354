# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A residual MLP with statistics over the batch, as convolutional networks have them."""

import dataclasses

import jax
import jax.numpy as jnp

from .model import Model
from .parts import blocks_init, class_loss, dense_init


@dataclasses.dataclass(frozen=True)
class Config:
    inputs: int
    width: int
    layers: int
    classes: int
    batch: int


def block_init(key, width):
    k1, k2 = jax.random.split(key)
    return {"w1": dense_init(k1, width, width), "w2": dense_init(k2, width, width),
            "norm1": {"scale": jnp.ones(width), "bias": jnp.zeros(width)},
            "norm2": {"scale": jnp.ones(width), "bias": jnp.zeros(width)}}


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    running = {"mean": jnp.zeros(config.width), "variance": jnp.ones(config.width)}
    return {"stem": {"w1": dense_init(k1, config.inputs, config.width)},
            "blocks": blocks_init(k2, config.layers, block_init, config.width),
            "head": dense_init(k3, config.width, config.classes),
            "running": [{"norm1": running, "norm2": running} for _ in range(config.layers)]}


def normalise(params, running, x):
    """(the normalised batch, the new running statistics)"""
    mean, variance = jnp.mean(x, axis=0), jnp.var(x, axis=0)
    y = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * params["scale"] + params["bias"]
    new = {"mean": 0.9 * running["mean"] + 0.1 * mean,
           "variance": 0.9 * running["variance"] + 0.1 * variance}
    return y, jax.lax.stop_gradient(new)


def loss(params, batch, config):
    del config
    x = batch["x"] @ params["stem"]["w1"]
    statistics = []
    for block, running in zip(params["blocks"], params["running"]):
        h, new1 = normalise(block["norm1"], running["norm1"], x @ block["w1"])
        h, new2 = normalise(block["norm2"], running["norm2"], jax.nn.relu(h) @ block["w2"])
        x = jax.nn.relu(x + h)
        statistics.append({"norm1": new1, "norm2": new2})
    return class_loss(x @ params["head"], batch["y"]), {"running": statistics}


def batch(key, config):
    kx, ky = jax.random.split(key)
    return {"x": jax.random.normal(kx, (config.batch, config.inputs)),
            "y": jax.random.randint(ky, (config.batch,), 0, config.classes)}


MODEL = Model(
    about="residual blocks of matmuls with batch normalisation",
    sizes={"small": Config(inputs=32, width=64, layers=2, classes=16, batch=16),
           "large": Config(inputs=512, width=1024, layers=3, classes=256, batch=512)},
    init=init, loss=loss, batch=batch, fixed=("running",),
)
