# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of the same GPT-2 in JAX: jit with a donated state, and cuDNN's attention.

The model and its optimizer are test/Import/jax_models.py.
"""

import functools
import os

# Three quarters of the memory otherwise, which would decide the batch.
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.95")

import jax
import jax_models
import numpy as np
import problem


def attention(implementation):
    """In place of the model's own: queries are [batch, time, groups, heads of a group, size]."""
    def attention(query, key, value, layout):
        query = query.reshape(*query.shape[:2], -1, query.shape[-1])
        return jax.nn.dot_product_attention(query, key, value, is_causal=True,
                                            implementation=implementation)
    return attention


class Trainer:
    def __init__(self, arguments, state, size):
        jax.config.update("jax_platforms", {"gpu": "cuda", "cpu": "cpu"}[arguments.on])
        # cuDNN has no attention in float32.
        is_fast = arguments.on == "gpu" and arguments.dtype == "bfloat16"
        jax_models.attention = attention("cudnn" if is_fast else "xla")
        loss = functools.partial(jax_models.gpt2_loss, config=arguments.config)
        self.run = jax.jit(jax_models.train_step(loss, jax_models.adamw()), donate_argnums=0)
        self.state = jax.device_put(state)

    def step(self, tokens, targets):
        self.state, loss = self.run(self.state, {"tokens": tokens, "targets": targets})
        return float(loss)

    def parameters(self):
        return map(np.asarray, jax.tree.leaves(self.state["params"]))


def is_too_large(error):
    return isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)


if __name__ == "__main__":
    problem.measure(__doc__, Trainer, is_too_large)
