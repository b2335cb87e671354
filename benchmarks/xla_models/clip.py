# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CLIP: two encoders and a contrastive loss over all pairs of the batch."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init, normal

from .model import Model
from .parts import block, block_init, blocks_init, dense_init, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    patch: int
    vocab: int
    time: int
    width: int
    heads: int
    layers: int
    shared: int
    batch: int


def tower_init(key, config):
    k1, k2 = jax.random.split(key)
    return {"blocks": blocks_init(k1, config.layers, block_init, config.width),
            "ln_f": norm_init(config.width),
            "projection": dense_init(k2, config.width, config.shared)}


def init(key, config):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    return {"image": {"embed": dense_init(k1, config.patch, config.width),
                      **tower_init(k2, config)},
            "text": {"wte": normal(k3, config.vocab, config.width), **tower_init(k4, config)},
            "temperature": jnp.zeros(())}


def encode(params, x, heads):
    for parameters in params["blocks"]:
        x = block(parameters, x, heads)
    pooled = jnp.mean(layer_norm(params["ln_f"], x), axis=1) @ params["projection"]
    return pooled * jax.lax.rsqrt(jnp.sum(jnp.square(pooled), axis=-1, keepdims=True) + 1e-6)


def loss(params, batch, config):
    image, text = params["image"], params["text"]
    a = encode(image, batch["image"] @ image["embed"], config.heads)
    b = encode(text, text["wte"][batch["text"]], config.heads)
    logits = a @ b.T * jnp.exp(params["temperature"])
    right = jnp.eye(logits.shape[0])
    by_row, by_column = (jax.nn.log_softmax(logits, axis=axis) for axis in (1, 0))
    return -0.5 * jnp.sum(right * (by_row + by_column)) / logits.shape[0]


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"image": jax.random.normal(k1, (config.batch, config.tokens, config.patch)),
            "text": tokens(k2, config.batch, config.time, config.vocab)}


MODEL = Model(
    about="two encoders, contrastive loss over the batch",
    sizes={"small": Config(tokens=16, patch=48, vocab=128, time=8, width=64, heads=8, layers=1,
                           shared=32, batch=16),
           "large": Config(tokens=64, patch=768, vocab=4096, time=32, width=512, heads=8,
                           layers=2, shared=256, batch=128)},
    init=init, loss=loss, batch=batch,
    kinds=[(r"\['embed'\]", (None, "fsdp")), (r"\['projection'\]", ("fsdp", "tp"))],
)
