# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of the same GPT-2 in JAX: jit, with cuDNN's attention."""

import functools
import sys

import jax
import problem

import jax_models


def cudnn_attention(query, key, value, layout):
    """In place of the model's own: query is [batch, time, groups, heads of a group, size]."""
    batch, time, groups, heads, size = query.shape
    query = query.reshape(batch, time, groups * heads, size)
    return jax.nn.dot_product_attention(query, key, value, is_causal=True, implementation="cudnn")


def main():
    arguments = problem.parse(__doc__)
    if jax.default_backend() != "gpu":
        sys.exit(f"this JAX computes on {jax.default_backend()}, not on a GPU")
    config = jax_models.GPT2Config(
        vocab=arguments.config.vocab, context=arguments.config.context, width=arguments.config.width,
        heads=arguments.config.heads, layers=arguments.config.layers, dtype=jax.numpy.bfloat16)
    jax_models.attention = cudnn_attention
    layout = jax_models.Layout(jax.make_mesh((1,), ("data",)), "DP")
    optimizer = jax_models.adamw()
    loss = functools.partial(jax_models.gpt2_loss, config=config, layout=layout)
    step = jax.jit(jax_models.train_step(loss, optimizer), donate_argnums=0)

    def make(key):
        return jax_models.init_state(jax_models.gpt2_init(key, config), optimizer)

    for size in arguments.batches:
        try:
            held = {"state": jax.jit(make)(jax.random.key(0))}

            def call(tokens, targets):
                held["state"], value = step(held["state"], {"tokens": tokens, "targets": targets})
                return jax.block_until_ready(value)

            call(*problem.batch(arguments.config, size, 0))
            break
        except jax.errors.JaxRuntimeError as error:
            print(f"batch {size}: {str(error).splitlines()[0]}", flush=True)
    else:
        sys.exit("no batch fits the device")
    seconds, value = problem.time_steps(call, arguments, size)
    problem.report(arguments, size, seconds, value)


if __name__ == "__main__":
    main()
