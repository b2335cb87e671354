# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks by lax.scan over time: a GRU, and an LSTM with fused gates."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
from jax_models import cross_entropy, normal

from .model import Model
from .parts import dense_init, tokens


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    time: int
    width: int
    batch: int


def init(key, config, gates):
    keys = jax.random.split(key, 3 + gates)
    width = config.width
    if gates == 1:
        cell = {"inputs": dense_init(keys[3], width, 4 * width),
                "hidden": dense_init(keys[2], width, 4 * width), "b1": jnp.zeros(4 * width)}
    else:
        cell = {name: {"inputs": dense_init(k, width, width),
                       "hidden": dense_init(jax.random.fold_in(k, 1), width, width),
                       "b1": jnp.zeros(width)}
                for name, k in zip(("reset", "update", "candidate"), keys[3:])}
    return {"wte": normal(keys[0], config.vocab, width), "cell": cell,
            "head": dense_init(keys[1], width, config.vocab)}


def gru_cell(params, h, x):
    def gate(name, state):
        part = params[name]
        return x @ part["inputs"] + state @ part["hidden"] + part["b1"]

    reset, update = jax.nn.sigmoid(gate("reset", h)), jax.nn.sigmoid(gate("update", h))
    candidate = jnp.tanh(gate("candidate", reset * h))
    h = update * h + (1 - update) * candidate
    return h, h


def lstm_cell(params, state, x):
    h, c = state
    gates = x @ params["inputs"] + h @ params["hidden"] + params["b1"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def loss(params, batch, config, cell, states):
    x = jnp.swapaxes(params["wte"][batch["tokens"]], 0, 1)
    zeros = jnp.zeros((x.shape[1], config.width))
    start = zeros if states == 1 else (zeros,) * states
    _, h = jax.lax.scan(partial(cell, params["cell"]), start, x)
    return cross_entropy(jnp.swapaxes(h, 0, 1) @ params["head"], batch["targets"])


def batch(key, config):
    k1, k2 = jax.random.split(key)
    return {"tokens": tokens(k1, config.batch, config.time, config.vocab),
            "targets": tokens(k2, config.batch, config.time, config.vocab)}


GRU = Model(
    about="GRU by lax.scan, a matrix for each gate",
    sizes={"small": Config(vocab=128, time=6, width=64, batch=16),
           "large": Config(vocab=1024, time=12, width=512, batch=128)},
    init=partial(init, gates=3), loss=partial(loss, cell=gru_cell, states=1), batch=batch,
    kinds=[(r"\['(inputs|hidden)'\]", ("fsdp", "tp"))],
)

LSTM = dataclasses.replace(
    GRU, about="LSTM by lax.scan, one matrix for all gates, cut into four slices",
    init=partial(init, gates=1), loss=partial(loss, cell=lstm_cell, states=2))
