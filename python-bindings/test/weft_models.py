# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPT-2 and the Llama of test/Import/jax_models.py, and their training step, written
in weft.numpy: the same parameters, the same numbers.

    step = train_step(partial(gpt2_loss, config=config), adamw())
    weft.jit(step, mesh=mesh, donate_argnums=0)(state, batch)

Of their activations they name "residual", which goes from block to block, "heads", queries,
keys and values, "attended", what heads make of them, "hidden", inside a perceptron, and "logits".
`wrap`, if given, is applied to every block: weft.checkpoint.
"""

from functools import partial

import weft
import weft.numpy as wnp
from weft import checkpoint_name as named, nn

# ===----------------------------------------------------------------------===
# Parts of models
# ===----------------------------------------------------------------------===


def lm_loss(logits, targets):
    """The mean over all positions of -log p(target)."""
    logits = named(logits.astype(wnp.float32), "logits")
    return nn.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


# ===----------------------------------------------------------------------===
# GPT-2
# ===----------------------------------------------------------------------===


def layer_norm(params, x):
    return nn.layer_norm(x, params["scale"], params["bias"])


def gpt2_block(params, x, config):
    batch, time, width = x.shape
    attn, mlp = params["attn"], params["mlp"]

    def heads(w, b):
        y = h @ attn[w].astype(h.dtype) + attn[b].astype(h.dtype)
        return named(y.reshape(batch, time, config.heads, width // config.heads), "heads")

    h = layer_norm(params["ln1"], x)
    q, k, v = heads("wq", "bq"), heads("wk", "bk"), heads("wv", "bv")
    y = named(nn.dot_product_attention(q, k, v, is_causal=True), "attended").reshape(batch, time, width)
    x = named(x + y @ attn["wo"].astype(y.dtype) + attn["bo"].astype(y.dtype), "residual")

    h = layer_norm(params["ln2"], x)
    h = named(nn.gelu(h @ mlp["w1"].astype(h.dtype) + mlp["b1"].astype(h.dtype)), "hidden")
    return named(x + h @ mlp["w2"].astype(h.dtype) + mlp["b2"].astype(h.dtype), "residual")


def gpt2_loss(params, batch, config, wrap=lambda block: block):
    tokens = batch["tokens"]
    x = params["wte"][tokens] + params["wpe"][: tokens.shape[1]]
    x = named(x.astype(config.dtype), "residual")
    for block in params["blocks"]:
        x = wrap(partial(gpt2_block, config=config))(block, x)
    x = layer_norm(params["ln_f"], x)
    logits = wnp.einsum("btd,vd->btv", x, params["wte"].astype(x.dtype))
    return lm_loss(logits, batch["targets"])


# ===----------------------------------------------------------------------===
# Llama
# ===----------------------------------------------------------------------===


def llama_block(params, x, config):
    batch, time, width = x.shape
    size = width // config.heads
    attn, mlp = params["attn"], params["mlp"]

    h = nn.rms_norm(x, params["norm1"])
    q, k, v = (named((h @ attn[w].astype(h.dtype)).reshape(batch, time, -1, size), "heads")
               for w in ("wq", "wk", "wv"))
    q, k = (nn.rotary_embedding(y, base=config.theta) for y in (q, k))
    y = named(nn.dot_product_attention(q, k, v, is_causal=True), "attended").reshape(batch, time, width)
    x = named(x + y @ attn["wo"].astype(y.dtype), "residual")

    h = nn.rms_norm(x, params["norm2"])
    gate, up = h @ mlp["gate"].astype(h.dtype), h @ mlp["up"].astype(h.dtype)
    return named(x + named(nn.silu(gate) * up, "hidden") @ mlp["down"].astype(h.dtype), "residual")


def llama_loss(params, batch, config, wrap=lambda block: block):
    x = named(params["wte"][batch["tokens"]].astype(config.dtype), "residual")
    for block in params["blocks"]:
        x = wrap(partial(llama_block, config=config))(block, x)
    x = nn.rms_norm(x, params["norm_f"])
    return lm_loss(x @ params["head"].astype(x.dtype), batch["targets"])


# ===----------------------------------------------------------------------===
# Training
# ===----------------------------------------------------------------------===


def global_norm(tree):
    return wnp.sqrt(sum(wnp.sum(wnp.square(leaf)) for leaf in weft.tree.leaves(tree)))


def warmup_cosine(step, peak, warmup, total):
    """Rises to `peak` over `warmup` steps and falls to a tenth of it."""
    progress = wnp.clip((step - warmup) / (total - warmup), 0.0, 1.0)
    cosine = 0.1 + 0.45 * (1.0 + wnp.cos(wnp.pi * progress))
    return peak * wnp.where(step < warmup, (step + 1) / warmup, cosine)


def adamw(rate=1e-3, b1=0.9, b2=0.95, eps=1e-8, decay=0.1, max_norm=1.0, warmup=10, total=1000):
    """The update of AdamW on gradients clipped to a global norm."""
    def update(grads, state, params):
        step = state["step"]
        lr = warmup_cosine(step.astype(wnp.float32), rate, warmup, total)
        factor = wnp.minimum(1.0, max_norm / (global_norm(grads) + 1e-6))
        grads = weft.tree.map(lambda g: g * factor, grads)
        mu = weft.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mu"], grads)
        nu = weft.tree.map(lambda v, g: b2 * v + (1 - b2) * wnp.square(g), state["nu"], grads)
        count = (step + 1).astype(wnp.float32)
        scale1, scale2 = 1 / (1 - b1**count), 1 / (1 - b2**count)
        updates = weft.tree.map(
            lambda p, m, v: -lr * (m * scale1 / (wnp.sqrt(v * scale2) + eps) + decay * p),
            params, mu, nu)
        return updates, {"mu": mu, "nu": nu, "step": step + 1}

    return update


def train_step(loss, update, microbatches=1):
    """One step: `(state, batch) -> (state, loss)`."""
    value_and_grad = weft.microbatches(weft.value_and_grad(loss), microbatches)

    def train_step(state, batch):
        value, grads = value_and_grad(state["params"], batch)
        updates, moments = update(grads, state["optimizer"], state["params"])
        params = weft.tree.map(wnp.add, state["params"], updates)
        return {"params": params, "optimizer": moments}, value
    return train_step
