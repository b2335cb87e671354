# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLP-Mixer: matmuls over tokens and over features, with transposes between; and its blocks
without normalisation, on tokens as they come."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init

from .model import Model
from .parts import blocks_init, class_loss, dense_init, image_batch, mlp, mlp_init


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    patch: int
    width: int
    token_hidden: int
    layers: int
    classes: int
    batch: int


def block_init(key, config):
    k1, k2 = jax.random.split(key)
    return {"ln1": norm_init(config.width),
            "tokens": mlp_init(k1, config.tokens, config.token_hidden),
            "ln2": norm_init(config.width),
            "features": mlp_init(k2, config.width, 4 * config.width)}


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"embed": dense_init(k1, config.patch, config.width),
            "blocks": blocks_init(k2, config.layers, block_init, config),
            "ln_f": norm_init(config.width),
            "head": dense_init(k3, config.width, config.classes)}


def loss(params, batch, config):
    del config
    x = batch["x"] @ params["embed"]
    for block in params["blocks"]:
        y = jnp.swapaxes(layer_norm(block["ln1"], x), 1, 2)
        x = x + jnp.swapaxes(mlp(block["tokens"], y), 1, 2)
        x = x + mlp(block["features"], layer_norm(block["ln2"], x))
    pooled = jnp.mean(layer_norm(params["ln_f"], x), axis=1)
    return class_loss(pooled @ params["head"], batch["y"])


def bare_init(key, config):
    params = init(key, config)
    return {"blocks": [{name: block[name] for name in ("tokens", "features")}
                       for block in params["blocks"]],
            "head": params["head"]}


def bare_loss(params, batch, config):
    del config
    x = batch["x"]
    for block in params["blocks"]:
        x = x + jnp.swapaxes(mlp(block["tokens"], jnp.swapaxes(x, 1, 2)), 1, 2)
        x = x + mlp(block["features"], x)
    return class_loss(jnp.mean(x, axis=1) @ params["head"], batch["y"])


MODEL = Model(
    about="MLPs over tokens, between transposes, and over features",
    sizes={"small": Config(tokens=16, patch=48, width=64, token_hidden=32, layers=2, classes=16,
                           batch=16),
           "large": Config(tokens=64, patch=768, width=512, token_hidden=256, layers=2,
                           classes=256, batch=64)},
    init=init, loss=loss, batch=image_batch,
    kinds=[(r"\['tokens'\]\['(w1|b1|w2|b2)'\]", ()), (r"\['embed'\]", (None, "fsdp"))],
)

BARE = dataclasses.replace(
    MODEL, about="the same without normalisation and embedding",
    sizes={"small": dataclasses.replace(MODEL.sizes["small"], patch=64),
           "large": dataclasses.replace(MODEL.sizes["large"], patch=512, batch=32)},
    init=bare_init, loss=bare_loss)
