# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A variational autoencoder; its noise comes with the batch."""

import dataclasses

import jax
import jax.numpy as jnp

from .model import Model
from .parts import dense_init, square_loss


@dataclasses.dataclass(frozen=True)
class Config:
    inputs: int
    width: int
    latent: int
    batch: int


def init(key, config):
    keys = jax.random.split(key, 5)
    return {"encoder": {"w1": dense_init(keys[0], config.inputs, config.width),
                        "b1": jnp.zeros(config.width)},
            "mean": {"w2": dense_init(keys[1], config.width, config.latent)},
            "logvar": {"w2": dense_init(keys[2], config.width, config.latent)},
            "decoder": {"w1": dense_init(keys[3], config.latent, config.width),
                        "b1": jnp.zeros(config.width),
                        "w2": dense_init(keys[4], config.width, config.inputs),
                        "b2": jnp.zeros(config.inputs)}}


def loss(params, batch, config):
    del config
    encoder, decoder = params["encoder"], params["decoder"]
    h = jax.nn.relu(batch["x"] @ encoder["w1"] + encoder["b1"])
    mean, logvar = h @ params["mean"]["w2"], h @ params["logvar"]["w2"]
    z = mean + jnp.exp(0.5 * logvar) * batch["noise"]
    h = jax.nn.relu(z @ decoder["w1"] + decoder["b1"])
    divergence = -0.5 * jnp.mean(1 + logvar - jnp.square(mean) - jnp.exp(logvar))
    return square_loss(h @ decoder["w2"] + decoder["b2"], batch["x"]) + divergence


def batch(key, config):
    kx, kn = jax.random.split(key)
    return {"x": jax.random.normal(kx, (config.batch, config.inputs)),
            "noise": jax.random.normal(kn, (config.batch, config.latent))}


MODEL = Model(
    about="encoder to a mean and a variance, decoder, AdamW",
    sizes={"small": Config(inputs=64, width=64, latent=16, batch=16),
           "large": Config(inputs=1024, width=1024, latent=128, batch=512)},
    init=init, loss=loss, batch=batch, optimizer="adamw",
)
