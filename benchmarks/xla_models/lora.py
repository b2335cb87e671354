# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoRA: the matrices of a transformer stay, factors of low rank are trained."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import cross_entropy, layer_norm, norm_init, normal

from .model import Model
from .parts import (attend, block_init, blocks_init, causal_bias, dense_init, join_heads, mlp,
                    split_heads, tokens)


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    time: int
    width: int
    heads: int
    rank: int
    layers: int
    batch: int


ADAPTED = ("wq", "wk", "wv", "wo")


def adapter_init(key, config):
    return {name: {"down": dense_init(k, config.width, config.rank),
                   "up": jnp.zeros((config.rank, config.width))}
            for name, k in zip(ADAPTED, jax.random.split(key, len(ADAPTED)))}


def init(key, config):
    keys = jax.random.split(key, 4)
    return {"base": {"wte": normal(keys[0], config.vocab, config.width),
                     "blocks": blocks_init(keys[1], config.layers, block_init, config.width),
                     "ln_f": norm_init(config.width),
                     "head": dense_init(keys[2], config.width, config.vocab)},
            "adapters": blocks_init(keys[3], config.layers, adapter_init, config)}


def block(params, adapter, x, heads):
    def project(name, y):
        return y @ params["attn"][name] + y @ adapter[name]["down"] @ adapter[name]["up"]

    y = layer_norm(params["ln1"], x)
    q, k, v = (split_heads(project(name, y), heads) for name in ("wq", "wk", "wv"))
    x = x + project("wo", join_heads(attend(q, k, v, causal_bias(x.shape[1]))))
    return x + mlp(params["mlp"], layer_norm(params["ln2"], x))


def loss(params, batch, config):
    base = params["base"]
    x = base["wte"][batch["tokens"]]
    for parameters, adapter in zip(base["blocks"], params["adapters"]):
        x = block(parameters, adapter, x, config.heads)
    return cross_entropy(layer_norm(base["ln_f"], x) @ base["head"], batch["targets"])


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"tokens": tokens(k1, config.batch, config.time, config.vocab),
            "targets": tokens(k2, config.batch, config.time, config.vocab)}


MODEL = Model(
    about="transformer with frozen weights and trained adapters, AdamW",
    sizes={"small": Config(vocab=128, time=16, width=64, heads=8, rank=4, layers=2, batch=16),
           "large": Config(vocab=4096, time=128, width=512, heads=8, rank=16, layers=2, batch=32)},
    init=init, loss=loss, batch=batch, fixed=("base",), optimizer="adamw",
    # As their matrices: those of queries, keys and values by columns, that of outputs by rows.
    kinds=[(r"\['adapters'\]\[\d+\]\['w[qkv]'\]\['down'\]", ("fsdp", None)),
           (r"\['adapters'\]\[\d+\]\['w[qkv]'\]\['up'\]", (None, "tp")),
           (r"\['adapters'\]\[\d+\]\['wo'\]\['down'\]", ("tp", None)),
           (r"\['adapters'\]\[\d+\]\['wo'\]\['up'\]", (None, "fsdp"))],
)
