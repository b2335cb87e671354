# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A T5-like encoder and decoder with a table of relative positions."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import cross_entropy, normal, rms_norm

from .model import Model
from .parts import attention, attention_init, blocks_init, causal_bias, dense_init, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    source: int
    target: int
    width: int
    hidden: int
    heads: int
    layers: int
    batch: int


def mlp_init(key, config):
    k1, k2 = jax.random.split(key)
    return {"w1": dense_init(k1, config.width, config.hidden),
            "w2": dense_init(k2, config.hidden, config.width)}


def layer_init(key, config, cross):
    k1, k2, k3 = jax.random.split(key, 3)
    layer = {"norm1": jnp.ones(config.width), "self": attention_init(k1, config.width),
             "norm2": jnp.ones(config.width), "mlp": mlp_init(k2, config)}
    if cross:
        layer |= {"norm3": jnp.ones(config.width), "cross": attention_init(k3, config.width)}
    return layer


def init(key, config):
    keys = jax.random.split(key, 6)
    table = 2 * max(config.source, config.target)
    return {"wte": normal(keys[0], config.vocab, config.width),
            "encoder": {"relative": normal(keys[1], table, config.heads),
                        "layers": blocks_init(keys[2], config.layers, layer_init, config, False),
                        "norm": jnp.ones(config.width)},
            "decoder": {"relative": normal(keys[3], table, config.heads),
                        "layers": blocks_init(keys[4], config.layers, layer_init, config, True),
                        "norm": jnp.ones(config.width)},
            "head": dense_init(keys[5], config.width, config.vocab)}


def relative_bias(table, time):
    """[heads, time, time]"""
    distance = jnp.arange(time)[:, None] - jnp.arange(time)[None, :] + time
    return jnp.transpose(table[distance], (2, 0, 1))


def run(params, x, config, bias, source=None):
    for layer in params["layers"]:
        x = x + attention(layer["self"], rms_norm(layer["norm1"], x), config.heads, bias=bias)
        if source is not None:
            x = x + attention(layer["cross"], rms_norm(layer["norm3"], x), config.heads, source)
        h = rms_norm(layer["norm2"], x)
        x = x + jax.nn.relu(h @ layer["mlp"]["w1"]) @ layer["mlp"]["w2"]
    return rms_norm(params["norm"], x)


def loss(params, batch, config):
    encoder, decoder = params["encoder"], params["decoder"]
    source = run(encoder, params["wte"][batch["source"]], config,
                 relative_bias(encoder["relative"], config.source))
    bias = relative_bias(decoder["relative"], config.target) + causal_bias(config.target)
    x = run(decoder, params["wte"][batch["tokens"]], config, bias, source)
    return cross_entropy(x @ params["head"], batch["targets"])


def batch(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"source": tokens(k1, config.batch, config.source, config.vocab),
            "tokens": tokens(k2, config.batch, config.target, config.vocab),
            "targets": tokens(k3, config.batch, config.target, config.vocab)}


MODEL = Model(
    about="encoder and decoder with cross attention and relative positions",
    sizes={"small": Config(vocab=128, source=16, target=8, width=64, hidden=128, heads=8,
                           layers=2, batch=16),
           "large": Config(vocab=4096, source=128, target=64, width=512, hidden=2048, heads=8,
                           layers=2, batch=32)},
    init=init, loss=loss, batch=batch, kinds=[(r"\['relative'\]", (None, "tp"))],
)
