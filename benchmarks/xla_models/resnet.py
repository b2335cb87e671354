# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A residual convolutional network with batch normalisation and a pooling that overlaps."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import normal

from .model import Model
from .parts import class_loss, dense_init


@dataclasses.dataclass(frozen=True)
class Config:
    image: int
    width: int
    """Channels of the first block; each one after it has twice as many."""
    blocks: int
    classes: int
    batch: int


def conv_init(key, size, inputs, outputs):
    return normal(key, size, size, inputs, outputs, scale=(size * size * inputs) ** -0.5)


def norm_init(channels):
    return {"scale": jnp.ones(channels), "bias": jnp.zeros(channels)}


def block_init(key, inputs, outputs):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"conv1": conv_init(k1, 3, inputs, outputs), "norm1": norm_init(outputs),
            "conv2": conv_init(k2, 3, outputs, outputs), "norm2": norm_init(outputs),
            "short": conv_init(k3, 1, inputs, outputs), "norm3": norm_init(outputs)}


def init(key, config):
    keys = iter(jax.random.split(key, config.blocks + 2))
    widths = [config.width << i for i in range(config.blocks + 1)]
    return {"stem": conv_init(next(keys), 7, 3, widths[0]), "norm": norm_init(widths[0]),
            "blocks": [block_init(next(keys), a, b) for a, b in zip(widths, widths[1:])],
            "head": dense_init(next(keys), widths[-1], config.classes)}


def conv(x, kernel, stride=1):
    return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def normalise(params, x):
    mean, variance = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * params["scale"] + params["bias"]


def loss(params, batch, config):
    del config
    x = jax.nn.relu(normalise(params["norm"], conv(batch["x"], params["stem"], 2)))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for i, block in enumerate(params["blocks"]):
        stride = 1 if i == 0 else 2
        h = jax.nn.relu(normalise(block["norm1"], conv(x, block["conv1"], stride)))
        h = normalise(block["norm2"], conv(h, block["conv2"]))
        x = jax.nn.relu(h + normalise(block["norm3"], conv(x, block["short"], stride)))
    return class_loss(jnp.mean(x, axis=(1, 2)) @ params["head"], batch["y"])


def batch(key, config):
    kx, ky = jax.random.split(key)
    return {"x": jax.random.normal(kx, (config.batch, config.image, config.image, 3)),
            "y": jax.random.randint(ky, (config.batch,), 0, config.classes)}


MODEL = Model(
    about="residual convolutions with batch normalisation",
    sizes={"small": Config(image=64, width=8, blocks=2, classes=16, batch=16),
           "large": Config(image=128, width=64, blocks=3, classes=128, batch=32)},
    init=init, loss=loss, batch=batch, images=("x",),
)
