# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts that several models are made of."""

import jax
import jax.numpy as jnp
from jax_models import layer_norm, norm_init, normal


def dense_init(key, inputs, outputs):
    return normal(key, inputs, outputs, scale=inputs**-0.5)


def square_loss(prediction, target):
    return jnp.mean(jnp.square(prediction - target))


def class_loss(logits, labels):
    """Cross entropy of one label an example."""
    logp = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.sum(logp * jax.nn.one_hot(labels, logits.shape[-1]), axis=-1))


def attention_init(key, width, source=None):
    kq, kk, kv, ko = jax.random.split(key, 4)
    source = source or width
    return {"wq": dense_init(kq, width, width), "wk": dense_init(kk, source, width),
            "wv": dense_init(kv, source, width), "wo": dense_init(ko, width, width)}


def split_heads(x, heads):
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def join_heads(x):
    return x.reshape(*x.shape[:-2], -1)


def attend(q, k, v, bias=None):
    """Of q [batch, q, heads, size] over k and v [batch, k, heads, size]."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    if bias is not None:
        scores = scores + bias
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)


def causal_bias(time):
    return jnp.where(jnp.tril(jnp.ones((time, time), dtype=bool)), 0.0, -1e9)


def attention(params, x, heads, source=None, bias=None):
    """Self-attention, or attention of x over a source."""
    source = x if source is None else source
    q, k, v = (split_heads(y @ params[w], heads)
               for y, w in ((x, "wq"), (source, "wk"), (source, "wv")))
    return join_heads(attend(q, k, v, bias)) @ params["wo"]


def mlp_init(key, width, hidden):
    k1, k2 = jax.random.split(key)
    return {"w1": dense_init(k1, width, hidden), "b1": jnp.zeros(hidden),
            "w2": dense_init(k2, hidden, width), "b2": jnp.zeros(width)}


def mlp(params, x):
    return jax.nn.gelu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def block_init(key, width, hidden=None):
    """Of a transformer that normalises first."""
    k1, k2 = jax.random.split(key)
    return {"ln1": norm_init(width), "attn": attention_init(k1, width),
            "ln2": norm_init(width), "mlp": mlp_init(k2, width, hidden or 4 * width)}


def block(params, x, heads, bias=None):
    x = x + attention(params["attn"], layer_norm(params["ln1"], x), heads, bias=bias)
    return x + mlp(params["mlp"], layer_norm(params["ln2"], x))


def blocks_init(key, layers, init, *arguments):
    return [init(k, *arguments) for k in jax.random.split(key, layers)]


def tokens(key, batch, time, vocab):
    return jax.random.randint(key, (batch, time), 0, vocab)


def image_batch(key, config):
    """Patches of images with labels."""
    kx, ky = jax.random.split(key)
    return {"x": jax.random.normal(kx, (config.batch, config.tokens, config.patch)),
            "y": jax.random.randint(ky, (config.batch,), 0, config.classes)}
