# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PaLM: attention and MLP in parallel, of one fused matrix, one head of keys and values."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import cross_entropy, normal, rms_norm

from .model import Model
from .parts import blocks_init, causal_bias, dense_init, join_heads, split_heads, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    time: int
    width: int
    heads: int
    layers: int
    batch: int


def block_init(key, config):
    k1, k2 = jax.random.split(key)
    width, size = config.width, config.width // config.heads
    return {"norm": jnp.ones(width),
            # Queries, keys, values, gate and hidden units.
            "fused": dense_init(k1, width, width + 2 * size + 8 * width),
            "joined": dense_init(k2, width + 4 * width, width)}


def init(key, config):
    k1, k2 = jax.random.split(key)
    return {"wte": normal(k1, config.vocab, config.width),
            "blocks": blocks_init(k2, config.layers, block_init, config),
            "norm_f": jnp.ones(config.width)}


def block(params, x, config):
    width, size = config.width, config.width // config.heads
    ends = (width, width + size, width + 2 * size, 5 * width + 2 * size)
    q, k, v, gate, up = jnp.split(rms_norm(params["norm"], x) @ params["fused"], ends, axis=-1)
    scores = jnp.einsum("bqhd,bkd->bhqk", split_heads(q, config.heads), k) * size**-0.5
    weights = jax.nn.softmax(scores + causal_bias(x.shape[1]), axis=-1)
    y = join_heads(jnp.einsum("bhqk,bkd->bqhd", weights, v))
    return x + jnp.concatenate([y, jax.nn.silu(gate) * up], axis=-1) @ params["joined"]


def loss(params, batch, config):
    x = params["wte"][batch["tokens"]]
    for parameters in params["blocks"]:
        x = block(parameters, x, config)
    logits = jnp.einsum("btd,vd->btv", rms_norm(params["norm_f"], x), params["wte"])
    return cross_entropy(logits, batch["targets"])


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"tokens": tokens(k1, config.batch, config.time, config.vocab),
            "targets": tokens(k2, config.batch, config.time, config.vocab)}


MODEL = Model(
    about="parallel attention and MLP of one fused matrix, tied embedding",
    sizes={"small": Config(vocab=128, time=16, width=64, heads=8, layers=1, batch=16),
           "large": Config(vocab=4096, time=128, width=512, heads=8, layers=2, batch=32)},
    init=init, loss=loss, batch=batch,
    kinds=[(r"\['fused'\]", ("fsdp", "tp")), (r"\['joined'\]", ("tp", "fsdp"))],
)
