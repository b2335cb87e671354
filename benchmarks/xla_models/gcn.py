# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph convolutional network: the rows of the adjacency matrix are the batch."""

import dataclasses

import jax
import jax.numpy as jnp

from .model import Model
from .parts import class_loss, dense_init


@dataclasses.dataclass(frozen=True)
class Config:
    nodes: int
    inputs: int
    width: int
    classes: int


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"w1": dense_init(k1, config.inputs, config.width), "b1": jnp.zeros(config.width),
            "w2": dense_init(k2, config.width, config.width), "b2": jnp.zeros(config.width),
            "head": dense_init(k3, config.width, config.classes)}


def loss(params, batch, config):
    del config
    h = jax.nn.relu(batch["adjacency"] @ (batch["x"] @ params["w1"]) + params["b1"])
    h = jax.nn.relu(batch["adjacency"] @ (h @ params["w2"]) + params["b2"])
    return class_loss(h @ params["head"], batch["y"])


def batch(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"adjacency": jax.random.uniform(k1, (config.nodes, config.nodes)) / config.nodes,
            "x": jax.random.normal(k2, (config.nodes, config.inputs)),
            "y": jax.random.randint(k3, (config.nodes,), 0, config.classes)}


MODEL = Model(
    about="graph convolutions over a dense adjacency matrix split by nodes",
    sizes={"small": Config(nodes=64, inputs=32, width=64, classes=16),
           "large": Config(nodes=1024, inputs=512, width=1024, classes=64)},
    init=init, loss=loss, batch=batch,
)
