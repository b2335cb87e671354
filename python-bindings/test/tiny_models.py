# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters and batches of the models of weft_models.py, so small that many steps on many
ranks take seconds. No parameter starts as zero or one: where one is taken for another part
of itself, numbers change.

    model = MODELS["gpt2"]
    state, batches = model.state(optimizer), model.batches(50)
    step = model.train_step(optimizer)
"""

import dataclasses
from functools import partial
from typing import Any, Callable

import numpy as np
import weft_models

import weft
from weft import optim


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int = 64
    context: int = 16
    width: int = 32
    hidden: int = 64
    heads: int = 4
    groups: int = 4
    layers: int = 2
    theta: float = 10000.0
    dtype: Any = np.float32


def normal(random, *shape, mean=0.0, scale=0.1):
    return random.normal(mean, scale, shape).astype(np.float32)


def gpt2_params(random, config):
    d = config.width

    def norm():
        return {"scale": normal(random, d, mean=1.0), "bias": normal(random, d)}

    def block():
        attn = {name: normal(random, d, d) for name in ("wq", "wk", "wv", "wo")}
        attn |= {name: normal(random, d) for name in ("bq", "bk", "bv", "bo")}
        mlp = {"w1": normal(random, d, config.hidden), "b1": normal(random, config.hidden),
               "w2": normal(random, config.hidden, d), "b2": normal(random, d)}
        return {"ln1": norm(), "attn": attn, "ln2": norm(), "mlp": mlp}

    return {"wte": normal(random, config.vocab, d), "wpe": normal(random, config.context, d),
            "blocks": [block() for _ in range(config.layers)], "ln_f": norm()}


def llama_params(random, config):
    d, keys = config.width, config.groups * (config.width // config.heads)

    def block():
        attn = {"wq": normal(random, d, d), "wk": normal(random, d, keys),
                "wv": normal(random, d, keys), "wo": normal(random, d, d)}
        mlp = {"gate": normal(random, d, config.hidden), "up": normal(random, d, config.hidden),
               "down": normal(random, config.hidden, d)}
        return {"norm1": normal(random, d, mean=1.0), "attn": attn,
                "norm2": normal(random, d, mean=1.0), "mlp": mlp}

    return {"wte": normal(random, config.vocab, d),
            "blocks": [block() for _ in range(config.layers)],
            "norm_f": normal(random, d, mean=1.0), "head": normal(random, d, config.vocab)}


@dataclasses.dataclass(frozen=True)
class Model:
    loss_of: Callable
    params_of: Callable
    config: Config

    def params(self):
        return self.params_of(np.random.default_rng(0), self.config)

    def state(self, optimizer):
        """The first state of training; the optimizer's as the program makes it."""
        params = self.params()
        return {"params": params, "optimizer": weft.jit(optimizer.init)(params)}

    def batches(self, steps, rows=8):
        tokens = np.random.default_rng(1).integers(
            0, self.config.vocab, (steps, rows, self.config.context + 1)).astype(np.int32)
        return {"tokens": tokens[..., :-1], "targets": tokens[..., 1:]}

    def loss(self, wrap=lambda block: block):
        return partial(self.loss_of, config=self.config, wrap=wrap)

    def train_step(self, optimizer, wrap=lambda block: block, microbatches=None):
        """(state, batch) -> (state, loss). `wrap` is applied to every block."""
        value_and_grad = weft.value_and_grad(self.loss(wrap))
        if microbatches:
            value_and_grad = weft.microbatches(value_and_grad, microbatches)

        def train_step(state, batch):
            loss, gradients = value_and_grad(state["params"], batch)
            updates, moments = optimizer.update(gradients, state["optimizer"], state["params"])
            params = optim.apply_updates(state["params"], updates)
            return {"params": params, "optimizer": moments}, loss

        return train_step


MODELS = {
    "gpt2": Model(weft_models.gpt2_loss, gpt2_params, Config()),
    "llama": Model(weft_models.llama_loss, llama_params, Config(hidden=96)),
}


def adamw():
    """As transformers are trained: clipped, warmed up, decayed. `eps` is Llama 2's: the gradient
    of the biases of keys is zero but for rounding, which a smaller one would scale up to steps."""
    return optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(
        optim.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100, 1e-3), b1=0.9, b2=0.95, eps=1e-5,
        weight_decay=0.1))
