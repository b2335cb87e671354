# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A U-shaped transformer: fewer tokens and more features inwards, skips that are concatenated."""

import dataclasses

import jax
import jax.numpy as jnp

from .model import Model
from .parts import block, block_init, dense_init, square_loss


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    channels: int
    width: int
    heads: int
    levels: int
    batch: int


def init(key, config):
    keys = iter(jax.random.split(key, 5 * config.levels + 3))
    width, down, up = config.width, [], []
    for _ in range(config.levels):
        down.append({"block": block_init(next(keys), width, 2 * width),
                     "merge": dense_init(next(keys), 2 * width, 2 * width)})
        up.append({"expand": dense_init(next(keys), 2 * width, 2 * width),
                   "join": dense_init(next(keys), 2 * width, width),
                   "block": block_init(next(keys), width, 2 * width)})
        width *= 2
    return {"embed": dense_init(next(keys), config.channels, config.width), "down": down,
            "middle": block_init(next(keys), width, 2 * width), "up": up,
            "out": dense_init(next(keys), config.width, config.channels)}


def loss(params, batch, config):
    x = batch["x"] @ params["embed"]
    skips = []
    for level in params["down"]:
        x = block(level["block"], x, config.heads)
        skips.append(x)
        # Two neighbouring tokens become one.
        x = x.reshape(x.shape[0], x.shape[1] // 2, 2 * x.shape[2]) @ level["merge"]
    x = block(params["middle"], x, config.heads)
    for level, skip in zip(reversed(params["up"]), reversed(skips)):
        x = (x @ level["expand"]).reshape(skip.shape)
        x = jnp.concatenate([x, skip], axis=-1) @ level["join"]
        x = block(level["block"], x, config.heads)
    return square_loss(x @ params["out"], batch["y"])


def batch(key, config):
    kx, ky = jax.random.split(key)
    shape = config.batch, config.tokens, config.channels
    return {"x": jax.random.normal(kx, shape), "y": jax.random.normal(ky, shape)}


MODEL = Model(
    about="U-shaped transformer with concatenated skips",
    sizes={"small": Config(tokens=16, channels=16, width=32, heads=8, levels=1, batch=16),
           "large": Config(tokens=64, channels=64, width=512, heads=8, levels=1, batch=64)},
    init=init, loss=loss, batch=batch,
    kinds=[(r"\['(merge|join)'\]", ("tp", "fsdp")), (r"\['expand'\]", ("fsdp", "tp")),
           (r"\['embed'\]", (None, "fsdp")), (r"\['out'\]", ("fsdp", None))],
)
