# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training step of test/Import/jax_models.py, written in weft.numpy, for the GPT-2 and the Llama
of weft.models, which are those of jax_models.py: the same parameters, the same numbers.

    step = train_step(partial(gpt2_loss, config=config), adamw())
    weft.jit(step, mesh=mesh, donate_argnums=0)(state, batch)

`wrap`, if given, is applied to every block: weft.checkpoint.
"""

import weft
import weft.numpy as wnp
from weft.models.gpt import block as gpt2_block, layer_norm, loss as gpt2_loss
from weft.models.loss import lm_loss
from weft.models.llama import block as llama_block, loss as llama_loss

__all__ = ["adamw", "global_norm", "gpt2_block", "gpt2_loss", "layer_norm", "llama_block", "llama_loss",
           "lm_loss", "train_step"]


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
