# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A diagonal state-space model, its recurrence by lax.scan or lax.associative_scan."""

import dataclasses
from functools import partial

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
            "gate": dense_init(k2, config.width, config.hidden),
            "decay": jnp.linspace(-1.0, 3.0, config.hidden), "skip": jnp.ones(config.hidden),
            "w2": dense_init(k3, config.hidden, config.width)}


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"wte": normal(k1, config.vocab, config.width),
            "blocks": blocks_init(k2, config.layers, block_init, config),
            "ln_f": norm_init(config.width),
            "head": dense_init(k3, config.width, config.vocab)}


# h[t] = decay * h[t - 1] + u[t] along the second dimension of u.


def scanned(decay, u):
    def step(h, u):
        h = decay * h + u
        return h, h

    _, h = jax.lax.scan(step, jnp.zeros_like(u[:, 0]), jnp.swapaxes(u, 0, 1))
    return jnp.swapaxes(h, 0, 1)


def associative(decay, u):
    def combine(first, second):
        (a, x), (b, y) = first, second
        return a * b, b * x + y

    return jax.lax.associative_scan(combine, (jnp.broadcast_to(decay, u.shape), u), axis=1)[1]


def loss(params, batch, config, recur):
    del config
    x = params["wte"][batch["tokens"]]
    for block in params["blocks"]:
        y = layer_norm(block["ln1"], x)
        u = y @ block["w1"]
        h = recur(jax.nn.sigmoid(block["decay"]), u) + block["skip"] * u
        x = x + (h * jax.nn.silu(y @ block["gate"])) @ block["w2"]
    return cross_entropy(layer_norm(params["ln_f"], x) @ params["head"], batch["targets"])


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"tokens": tokens(k1, config.batch, config.time, config.vocab),
            "targets": tokens(k2, config.batch, config.time, config.vocab)}


SCANNED = Model(
    about="diagonal state space by lax.scan, gated",
    sizes={"small": Config(vocab=128, time=8, width=64, hidden=128, layers=1, batch=16),
           "large": Config(vocab=4096, time=16, width=512, hidden=1024, layers=2, batch=64)},
    init=init, loss=partial(loss, recur=scanned), batch=batch,
    kinds=[(r"\['(decay|skip)'\]", ("tp",))],
)

ASSOCIATIVE = dataclasses.replace(
    SCANNED, about="diagonal state space by lax.associative_scan, gated",
    loss=partial(loss, recur=associative))
