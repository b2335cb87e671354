# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gMLP: half of the features gates the other half by a matmul over tokens."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import cross_entropy, layer_norm, norm_init, normal

from .model import Model
from .parts import blocks_init, dense_init, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    time: int
    width: int
    hidden: int
    layers: int
    batch: int


def block_init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"ln1": norm_init(config.width), "w1": dense_init(k1, config.width, config.hidden),
            "b1": jnp.zeros(config.hidden), "ln2": norm_init(config.hidden // 2),
            "spatial": normal(k2, config.time, config.time), "bias": jnp.ones(config.time),
            "w2": dense_init(k3, config.hidden // 2, config.width)}


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"wte": normal(k1, config.vocab, config.width),
            "blocks": blocks_init(k2, config.layers, block_init, config),
            "ln_f": norm_init(config.width),
            "head": dense_init(k3, config.width, config.vocab)}


def loss(params, batch, config):
    del config
    x = params["wte"][batch["tokens"]]
    for block in params["blocks"]:
        h = jax.nn.gelu(layer_norm(block["ln1"], x) @ block["w1"] + block["b1"])
        u, v = jnp.split(h, 2, axis=-1)
        v = jnp.einsum("btd,st->bsd", layer_norm(block["ln2"], v), block["spatial"])
        x = x + (u * (v + block["bias"][:, None])) @ block["w2"]
    return cross_entropy(layer_norm(params["ln_f"], x) @ params["head"], batch["targets"])


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"tokens": tokens(k1, config.batch, config.time, config.vocab),
            "targets": tokens(k2, config.batch, config.time, config.vocab)}


MODEL = Model(
    about="gated MLP over tokens",
    sizes={"small": Config(vocab=128, time=16, width=64, hidden=256, layers=2, batch=16),
           "large": Config(vocab=4096, time=128, width=512, hidden=2048, layers=2, batch=32)},
    init=init, loss=loss, batch=batch,
)
