# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model whose table of tokens is split by rows, over an axis that also splits
the batch."""

import dataclasses

import jax
from jax_models import cross_entropy, layer_norm, norm_init, normal

from .model import Model
from .parts import block, block_init, blocks_init, causal_bias, dense_init, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    time: int
    width: int
    heads: int
    layers: int
    batch: int


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"rows": normal(k1, config.vocab, config.width),
            "blocks": blocks_init(k2, config.layers, block_init, config.width),
            "ln_f": norm_init(config.width),
            "head": dense_init(k3, config.width, config.vocab)}


def loss(params, batch, config):
    x = params["rows"][batch["tokens"]]
    for parameters in params["blocks"]:
        x = block(parameters, x, config.heads, causal_bias(config.time))
    return cross_entropy(layer_norm(params["ln_f"], x) @ params["head"], batch["targets"])


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"tokens": tokens(k1, config.batch, config.time, config.vocab),
            "targets": tokens(k2, config.batch, config.time, config.vocab)}


MODEL = Model(
    about="causal transformer with a large table of tokens, split by rows",
    sizes={"small": Config(vocab=512, time=16, width=64, heads=8, layers=1, batch=16),
           "large": Config(vocab=32768, time=32, width=512, heads=8, layers=1, batch=32)},
    init=init, loss=loss, batch=batch, kinds=[(r"\['rows'\]", ("rows", None))],
)
