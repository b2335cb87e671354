# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Soft mixture of experts: every slot of an expert is a weighted mean of the tokens."""

import dataclasses

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init, normal

from .model import Model
from .parts import attention, attention_init, blocks_init, class_loss, dense_init, image_batch


@dataclasses.dataclass(frozen=True)
class Config:
    tokens: int
    patch: int
    width: int
    heads: int
    experts: int
    slots: int
    layers: int
    classes: int
    batch: int


def block_init(key, config):
    keys = jax.random.split(key, 4)
    width, hidden, experts = config.width, 2 * config.width, config.experts
    return {"ln1": norm_init(width), "attn": attention_init(keys[0], width),
            "ln2": norm_init(width),
            "phi": normal(keys[1], width, experts, config.slots, scale=width**-0.5),
            "experts1": normal(keys[2], experts, width, hidden),
            "experts2": normal(keys[3], experts, hidden, width)}


def init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"embed": dense_init(k1, config.patch, config.width),
            "blocks": blocks_init(k2, config.layers, block_init, config),
            "ln_f": norm_init(config.width),
            "head": dense_init(k3, config.width, config.classes)}


def experts(params, x):
    logits = jnp.einsum("btd,des->btes", x, params["phi"])
    dispatch = jax.nn.softmax(logits, axis=1)
    combine = jax.nn.softmax(logits.reshape(*x.shape[:2], -1), axis=-1).reshape(logits.shape)
    slots = jnp.einsum("btd,btes->besd", x, dispatch)
    hidden = jax.nn.gelu(jnp.einsum("besd,edh->besh", slots, params["experts1"]))
    outputs = jnp.einsum("besh,ehd->besd", hidden, params["experts2"])
    return jnp.einsum("besd,btes->btd", outputs, combine)


def loss(params, batch, config):
    x = batch["x"] @ params["embed"]
    for block in params["blocks"]:
        x = x + attention(block["attn"], layer_norm(block["ln1"], x), config.heads)
        x = x + experts(block, layer_norm(block["ln2"], x))
    pooled = jnp.mean(layer_norm(params["ln_f"], x), axis=1)
    return class_loss(pooled @ params["head"], batch["y"])


MODEL = Model(
    about="transformer with a soft mixture of experts, experts over the model axis",
    sizes={"small": Config(tokens=16, patch=48, width=64, heads=8, experts=8, slots=2, layers=1,
                           classes=16, batch=16),
           "large": Config(tokens=64, patch=768, width=512, heads=8, experts=16, slots=4,
                           layers=2, classes=256, batch=64)},
    init=init, loss=loss, batch=image_batch,
    kinds=[(r"\['phi'\]", ("fsdp", "tp", None)), (r"\['experts1'\]", ("tp", "fsdp", None)),
           (r"\['experts2'\]", ("tp", None, "fsdp")), (r"\['embed'\]", (None, "fsdp"))],
)
