# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLRM: embedding tables split by rows, interactions of features, and MLPs."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import normal

from .model import Model
from .parts import dense_init


@dataclasses.dataclass(frozen=True)
class Config:
    tables: int
    rows: int
    dense: int
    width: int
    hidden: int
    batch: int


def init(key, config):
    keys = jax.random.split(key, 5)
    features = config.tables + 1
    top = config.width + features * features
    return {"tables": [normal(k, config.rows, config.width)
                       for k in jax.random.split(keys[0], config.tables)],
            "bottom": {"w1": dense_init(keys[1], config.dense, config.hidden),
                       "b1": jnp.zeros(config.hidden),
                       "w2": dense_init(keys[2], config.hidden, config.width)},
            "top": {"w1": dense_init(keys[3], top, config.hidden),
                    "b1": jnp.zeros(config.hidden),
                    "out": dense_init(keys[4], config.hidden, 1)}}


def loss(params, batch, config):
    del config
    bottom, top = params["bottom"], params["top"]
    dense = jax.nn.relu(batch["dense"] @ bottom["w1"] + bottom["b1"]) @ bottom["w2"]
    looked_up = [table[batch["sparse"][:, i]] for i, table in enumerate(params["tables"])]
    features = jnp.stack([dense, *looked_up], axis=1)
    crossed = jnp.einsum("bid,bjd->bij", features, features)
    x = jnp.concatenate([dense, crossed.reshape(crossed.shape[0], -1)], axis=-1)
    logits = (jax.nn.relu(x @ top["w1"] + top["b1"]) @ top["out"])[:, 0]
    return jnp.mean(jax.nn.softplus(logits) - batch["y"] * logits)


def batch(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"dense": jax.random.normal(k1, (config.batch, config.dense)),
            "sparse": jax.random.randint(k2, (config.batch, config.tables), 0, config.rows),
            "y": jax.random.bernoulli(k3, 0.5, (config.batch,)).astype(jnp.float32)}


MODEL = Model(
    about="embedding tables split by rows, over an axis that also splits the batch",
    sizes={"small": Config(tables=3, rows=128, dense=16, width=16, hidden=64, batch=32),
           "large": Config(tables=7, rows=16384, dense=64, width=64, hidden=512, batch=1024)},
    init=init, loss=loss, batch=batch,
    # The top MLP takes what no axis divides.
    kinds=[(r"\['tables'\]\[\d+\]", ("rows", None)), (r"\['top'\]\['w1'\]", (None, "tp"))],
)
