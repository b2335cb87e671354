# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A vision transformer whose queries, keys and values come of one fused matrix."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init, normal

from .model import Model
from .parts import (attend, blocks_init, class_loss, dense_init, image_batch, join_heads, mlp,
                    mlp_init, split_heads)


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    patch: int
    width: int
    heads: int
    layers: int
    classes: int
    batch: int


def block_init(key, width):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"ln1": norm_init(width), "qkv": dense_init(k1, width, 3 * width),
            "wo": dense_init(k2, width, width), "ln2": norm_init(width),
            "mlp": mlp_init(k3, width, 4 * width)}


def init(key, config):
    keys = jax.random.split(key, 4)
    return {"embed": dense_init(keys[0], config.patch, config.width),
            "wpe": normal(keys[1], config.tokens, config.width),
            "blocks": blocks_init(keys[2], config.layers, block_init, config.width),
            "ln_f": norm_init(config.width),
            "head": dense_init(keys[3], config.width, config.classes)}


def block(params, x, heads):
    qkv = layer_norm(params["ln1"], x) @ params["qkv"]
    q, k, v = (split_heads(part, heads) for part in jnp.split(qkv, 3, axis=-1))
    x = x + join_heads(attend(q, k, v)) @ params["wo"]
    return x + mlp(params["mlp"], layer_norm(params["ln2"], x))


def loss(params, batch, config):
    x = batch["x"] @ params["embed"] + params["wpe"]
    for parameters in params["blocks"]:
        x = block(parameters, x, config.heads)
    pooled = jnp.mean(layer_norm(params["ln_f"], x), axis=1)
    return class_loss(pooled @ params["head"], batch["y"])


MODEL = Model(
    about="transformer with one QKV matrix, cut into three slices, AdamW",
    sizes={"small": Config(tokens=16, patch=48, width=64, heads=8, layers=2, classes=16, batch=16),
           "large": Config(tokens=64, patch=768, width=512, heads=8, layers=2, classes=256,
                           batch=64)},
    init=init, loss=loss, batch=image_batch, optimizer="adamw",
    kinds=[(r"\['qkv'\]", ("fsdp", "tp")), (r"\['embed'\]", (None, "fsdp"))],
)
