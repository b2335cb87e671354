# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Perceiver: a learned array of latents reads the input by cross attention; and this attention
alone, with an MLP and without normalisation."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init, normal

from .model import Model
from .parts import (attention, attention_init, block, block_init, blocks_init, class_loss,
                    dense_init, image_batch, mlp, mlp_init)


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    patch: int
    latents: int
    width: int
    heads: int
    layers: int
    classes: int
    batch: int


def init(key, config):
    keys = jax.random.split(key, 6)
    return {"embed": dense_init(keys[0], config.patch, config.width),
            "wpe": normal(keys[1], config.tokens, config.width),
            "latents": normal(keys[2], config.latents, config.width),
            "ln_in": norm_init(config.width),
            "cross": attention_init(keys[3], config.width),
            "blocks": blocks_init(keys[4], config.layers, block_init, config.width),
            "ln_f": norm_init(config.width),
            "head": dense_init(keys[5], config.width, config.classes)}


def loss(params, batch, config):
    source = layer_norm(params["ln_in"], batch["x"] @ params["embed"] + params["wpe"])
    latents = jnp.broadcast_to(params["latents"],
                               (source.shape[0], config.latents, config.width))
    x = latents + attention(params["cross"], latents, config.heads, source)
    for parameters in params["blocks"]:
        x = block(parameters, x, config.heads)
    pooled = jnp.mean(layer_norm(params["ln_f"], x), axis=1)
    return class_loss(pooled @ params["head"], batch["y"])


def bare_init(key, config):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    return {"latents": normal(k1, config.latents, config.width),
            "cross": attention_init(k2, config.width, config.patch),
            "mlp": mlp_init(k3, config.width, 4 * config.width),
            "head": dense_init(k4, config.width, config.classes)}


def bare_loss(params, batch, config):
    latents = jnp.broadcast_to(params["latents"],
                               (config.batch, config.latents, config.width))
    x = latents + attention(params["cross"], latents, config.heads, batch["x"])
    x = x + mlp(params["mlp"], x)
    return class_loss(jnp.mean(x, axis=1) @ params["head"], batch["y"])


MODEL = Model(
    about="attention of a learned array over the input",
    sizes={"small": Config(tokens=32, patch=48, latents=8, width=64, heads=8, layers=2,
                           classes=16, batch=16),
           "large": Config(tokens=256, patch=768, latents=64, width=512, heads=8, layers=2,
                           classes=256, batch=32)},
    init=init, loss=loss, batch=image_batch,
    kinds=[(r"\['latents'\]", (None, "fsdp")), (r"\['embed'\]", (None, "fsdp"))],
)

BARE = dataclasses.replace(
    MODEL, about="cross attention of a learned array and an MLP, without normalisation",
    init=bare_init, loss=bare_loss,
    kinds=[(r"\['latents'\]", (None, "fsdp"))])
