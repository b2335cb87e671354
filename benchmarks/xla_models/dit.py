# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A diffusion transformer: a condition modulates each block by six slices of one matmul."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init

from .model import Model
from .parts import (attention, attention_init, blocks_init, dense_init, mlp, mlp_init,
                    square_loss)


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    channels: int
    width: int
    heads: int
    layers: int
    batch: int


def block_init(key, width):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"modulation": dense_init(k1, width, 6 * width), "ln1": norm_init(width),
            "attn": attention_init(k2, width), "ln2": norm_init(width),
            "mlp": mlp_init(k3, width, 4 * width)}


def init(key, config):
    keys = jax.random.split(key, 4)
    return {"embed": dense_init(keys[0], config.channels, config.width),
            "condition": mlp_init(keys[1], config.width, config.width),
            "blocks": blocks_init(keys[2], config.layers, block_init, config.width),
            "ln_f": norm_init(config.width),
            "out": dense_init(keys[3], config.width, config.channels)}


def timestep(t, width):
    angle = t[:, None] * jnp.exp(-jnp.arange(width // 2) * (9.0 / (width // 2)))
    return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def block(params, x, condition, heads):
    modulation = (jax.nn.silu(condition) @ params["modulation"])[:, None, :]
    shift1, scale1, gate1, shift2, scale2, gate2 = jnp.split(modulation, 6, axis=-1)
    h = layer_norm(params["ln1"], x) * (1 + scale1) + shift1
    x = x + gate1 * attention(params["attn"], h, heads)
    h = layer_norm(params["ln2"], x) * (1 + scale2) + shift2
    return x + gate2 * mlp(params["mlp"], h)


def loss(params, batch, config):
    t = batch["t"]
    noisy = jnp.cos(t)[:, None, None] * batch["x"] + jnp.sin(t)[:, None, None] * batch["noise"]
    condition = mlp(params["condition"], timestep(t, config.width))
    x = noisy @ params["embed"]
    for parameters in params["blocks"]:
        x = block(parameters, x, condition, config.heads)
    return square_loss(layer_norm(params["ln_f"], x) @ params["out"], batch["noise"])


def batch(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    shape = config.batch, config.tokens, config.channels
    return {"x": jax.random.normal(k1, shape), "noise": jax.random.normal(k2, shape),
            "t": jax.random.uniform(k3, (config.batch,))}


MODEL = Model(
    about="diffusion transformer with adaptive normalisation",
    sizes={"small": Config(tokens=16, channels=16, width=64, heads=8, layers=1, batch=16),
           "large": Config(tokens=64, channels=64, width=512, heads=8, layers=2, batch=64)},
    init=init, loss=loss, batch=batch,
    kinds=[(r"\['modulation'\]", ("fsdp", "tp")), (r"\['embed'\]", (None, "fsdp")),
           (r"\['out'\]", ("fsdp", None))],
)
