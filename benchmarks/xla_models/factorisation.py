# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix factorisation: ratings are dot products of rows of two tables."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import normal

from .model import Model
from .parts import square_loss


@dataclasses.dataclass(frozen=True)
class Config:
    users: int
    items: int
    rank: int
    batch: int


def init(key, config):
    k1, k2 = jax.random.split(key)
    return {"users": normal(k1, config.users, config.rank),
            "items": normal(k2, config.items, config.rank),
            "user_bias": jnp.zeros(config.users), "item_bias": jnp.zeros(config.items)}


def loss(params, batch, config):
    del config
    user, item = batch["user"], batch["item"]
    rating = jnp.sum(params["users"][user] * params["items"][item], axis=-1)
    rating = rating + params["user_bias"][user] + params["item_bias"][item]
    decay = sum(jnp.mean(jnp.square(params[name])) for name in ("users", "items"))
    return square_loss(rating, batch["y"]) + 1e-3 * decay


def batch(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"user": jax.random.randint(k1, (config.batch,), 0, config.users),
            "item": jax.random.randint(k2, (config.batch,), 0, config.items),
            "y": jax.random.normal(k3, (config.batch,))}


MODEL = Model(
    about="two tables split by rows, dot products of their rows",
    sizes={"small": Config(users=128, items=64, rank=16, batch=32),
           "large": Config(users=32768, items=8192, rank=512, batch=1024)},
    init=init, loss=loss, batch=batch,
    kinds=[(r"\['(users|items)'\]", ("rows", None)), (r"_bias'\]", ("rows",))],
)
