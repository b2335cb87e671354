# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT: bidirectional, learned positions and segments, masked tokens and a pooled class."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import cross_entropy, layer_norm, norm_init, normal

from .model import Model
from .parts import block, block_init, blocks_init, class_loss, dense_init, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    time: int
    width: int
    heads: int
    layers: int
    batch: int


def init(key, config):
    keys = jax.random.split(key, 7)
    width = config.width
    return {"wte": normal(keys[0], config.vocab, width),
            "wpe": normal(keys[1], config.time, width),
            "segments": normal(keys[2], 2, width),
            "blocks": blocks_init(keys[3], config.layers, block_init, width),
            "ln_f": norm_init(width),
            "transform": {"w1": dense_init(keys[4], width, width), "b1": jnp.zeros(width)},
            "pooler": {"w1": dense_init(keys[5], width, width), "b1": jnp.zeros(width),
                       "classes": dense_init(keys[6], width, 2)}}


def loss(params, batch, config):
    x = params["wte"][batch["tokens"]] + params["wpe"] + params["segments"][batch["segments"]]
    bias = jnp.where(batch["mask"], 0.0, -1e9)[:, None, None, :]
    for parameters in params["blocks"]:
        x = block(parameters, x, config.heads, bias)
    x = layer_norm(params["ln_f"], x)
    transform, pooler = params["transform"], params["pooler"]
    h = jax.nn.gelu(x @ transform["w1"] + transform["b1"])
    masked = cross_entropy(jnp.einsum("btd,vd->btv", h, params["wte"]), batch["targets"])
    pooled = jnp.tanh(x[:, 0] @ pooler["w1"] + pooler["b1"])
    return masked + class_loss(pooled @ pooler["classes"], batch["next"])


def batch(key, config):
    keys = jax.random.split(key, 4)
    shape = config.batch, config.time
    return {"tokens": tokens(keys[0], *shape, config.vocab),
            "targets": tokens(keys[1], *shape, config.vocab),
            "segments": tokens(keys[2], *shape, 2),
            "mask": jnp.ones(shape, dtype=bool),
            "next": jax.random.randint(keys[3], (config.batch,), 0, 2)}


MODEL = Model(
    about="bidirectional transformer, two losses",
    sizes={"small": Config(vocab=128, time=16, width=64, heads=8, layers=2, batch=16),
           "large": Config(vocab=4096, time=128, width=512, heads=8, layers=2, batch=32)},
    init=init, loss=loss, batch=batch,
)
