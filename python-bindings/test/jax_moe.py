# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of experts in JAX as one finds them: one-hot tensors [groups, tokens, experts, slots]
with which einsums dispatch tokens and combine results.

    tokens_choose  masks from top_k, one_hot and cumsum, as flaxformer and T5X have them
    gshard         the best two experts one after the other, as the GShard paper and Mesh TensorFlow
    switch         the best expert, as Mesh TensorFlow

Each returns combine weights [groups, tokens, experts, slots] and a loss that balances experts.
`model_loss` is the model of moe_models.py with such layers.
"""

import math

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def slots_of(tokens, config):
    return min(tokens, math.ceil(tokens * config.top_k * config.capacity / config.experts))


def tokens_choose(probs, slots, top_k, normalize=None):
    groups, tokens, experts = probs.shape
    gates, index = jax.lax.top_k(probs, top_k)
    weights = probs
    if top_k > 1 if normalize is None else normalize:
        weights = probs / jnp.sum(gates, -1, keepdims=True)
    # First choices have priority over second ones.
    index = jnp.swapaxes(index, 1, 2).reshape(groups, -1)
    mask = jax.nn.one_hot(index, experts, dtype=jnp.int32)
    load = jnp.mean(mask.astype(jnp.float32), axis=1)
    balance = experts * jnp.mean(jnp.sum(load * jnp.mean(probs, axis=1), -1))
    priority = jnp.cumsum(mask, axis=1) * mask - 1
    priority = priority.reshape(groups, top_k, tokens, experts)
    priority = jnp.max(jnp.swapaxes(priority, 1, 2), axis=2)
    dispatch = jax.nn.one_hot(priority, slots, dtype=jnp.float32)
    return jnp.einsum("gte,gtec->gtec", weights, dispatch), balance


def _exclusive(mask):
    return jnp.cumsum(mask, axis=1) - mask


def gshard(gates, slots, top_k=2):
    experts = gates.shape[-1]
    first = jnp.argmax(gates, -1)
    mask1 = jax.nn.one_hot(first, experts)
    gate1 = jnp.einsum("gse,gse->gs", gates, mask1)
    balance = jnp.mean(jnp.mean(gates, 1) * jnp.mean(mask1, 1)) * experts * experts
    rest = gates * (1.0 - mask1)
    second = jnp.argmax(rest, -1)
    mask2 = jax.nn.one_hot(second, experts)
    gate2 = jnp.einsum("gse,gse->gs", rest, mask2)
    total = gate1 + gate2 + 1e-9
    gate1, gate2 = gate1 / total, gate2 / total
    place1 = _exclusive(mask1) * mask1
    mask1 = mask1 * (place1 < slots)
    place2 = (_exclusive(mask2) + jnp.sum(mask1, 1, keepdims=True)) * mask2
    mask2 = mask2 * (place2 < slots)

    def part(gate, mask, place):
        gate = gate * jnp.sum(mask, -1)
        at = jax.nn.one_hot(jnp.sum(place, -1).astype(jnp.int32), slots)
        return jnp.einsum("gs,gse,gsc->gsec", gate, mask, at)

    return part(gate1, mask1, place1) + part(gate2, mask2, place2), balance


def switch(gates, slots, top_k=1):
    experts = gates.shape[-1]
    index = jnp.argmax(gates, -1)
    mask = jax.nn.one_hot(index, experts)
    gate = jnp.max(gates, -1)
    balance = experts * jnp.mean(jnp.sum(jnp.mean(mask, 1) * jnp.mean(gates, 1), -1))
    place = jnp.cumsum(mask, 1) * mask
    mask = mask * (place <= slots)
    flat, place = jnp.sum(mask, -1), jnp.sum(place * mask, -1).astype(jnp.int32) - 1
    return (gate * flat)[..., None, None] * mask[..., None] * jax.nn.one_hot(place, slots)[:, :, None], balance


ROUTERS = {"tokens_choose": tokens_choose, "gshard": gshard, "switch": switch}


def layer(params, x, config, router, place=lambda x, name: x):
    """Result and losses of x [groups, tokens, features]."""
    logits = x @ params["router"]
    combine, balance = router(jax.nn.softmax(logits), slots_of(x.shape[1], config), config.top_k)
    dispatch = (combine > 0).astype(x.dtype)
    inputs = place(place(jnp.einsum("gsec,gsm->egcm", dispatch, x), "dispatched"), "experts")
    hidden = jnp.einsum("egcm,emh->egch", inputs, params["experts"]["up"])
    if config.is_gated:
        hidden = hidden * jax.nn.silu(jnp.einsum("egcm,emh->egch", inputs, params["experts"]["gate"]))
    else:
        hidden = jax.nn.relu(hidden)
    outputs = jnp.einsum("egch,ehm->egcm", hidden, params["experts"]["down"])
    outputs = place(place(outputs, "experts"), "dispatched")
    y = jnp.einsum("gsec,egcm->gsm", combine, outputs)
    return y, balance, jnp.mean(jax.nn.logsumexp(logits, -1) ** 2)


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attention(params, x, config):
    rows, time, width = x.shape
    q, k, v = ((x @ params[w]).reshape(rows, time, config.heads, -1) for w in ("wq", "wk", "wv"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // config.heads)
    scores = jnp.where(jnp.tril(jnp.ones((time, time), bool)), scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(rows, time, width) @ params["wo"]


def model_loss(params, batch, config, router=tokens_choose, place=lambda x, name: x, balance=1e-2, z=1e-3):
    x, extra = params["wte"][batch["tokens"]], 0.0
    for each in params["blocks"]:
        x = x + attention(each["attn"], rms_norm(x, each["norm1"]), config)
        h = rms_norm(x, each["norm2"])
        size = config.group_size or h.shape[1]
        y, balances, zs = layer(each, h.reshape(-1, size, h.shape[-1]), config, router, place)
        x = x + y.reshape(x.shape)
        if config.has_shared:
            shared = each["shared"]
            x = x + (jax.nn.silu(h @ shared["gate"]) * (h @ shared["up"])) @ shared["down"]
        extra = extra + balance * balances + z * zs
    logp = jax.nn.log_softmax(rms_norm(x, params["norm_f"]) @ params["head"])
    loss = -jnp.mean(jnp.take_along_axis(logp, batch["targets"][..., None], -1))
    return loss + extra / config.layers


def placed(mesh, groups, expert):
    """For `place`: groups over some axes, and experts over one of them instead."""
    left = tuple(axis for axis in groups if axis != expert)
    specs = {"dispatched": P(None, groups), "experts": P(expert, left)}
    return lambda x, name: jax.lax.with_sharding_constraint(x, NamedSharding(mesh, specs[name]))
