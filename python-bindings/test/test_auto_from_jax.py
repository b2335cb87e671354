# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.auto` of a step of JAX: the weights of two layers are found to belong together."""

import jax
import jax.numpy as jnp

import weft
from weft import P


def loss(params, x, y):
    return ((jnp.tanh(x @ params["up"]) @ params["down"] - y) ** 2).mean()


def step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value


def test_a_step_of_jax():
    shape = lambda *sizes: jax.ShapeDtypeStruct(sizes, "float32")
    params = {"up": shape(1024, 4096), "down": shape(4096, 1024)}
    lowered = weft.from_jax(step, params, shape(64, 1024), shape(64, 1024), donate_argnums=0)
    found = weft.auto(lowered, devices=2)
    # A small batch is not worth sending large gradients for.
    assert found.best.mesh == weft.Mesh((2,), ("model",))
    assert (found.best.specs["params['up']"], found.best.specs["params['down']"]) == (P(None, "model"), P("model", None))
    assert found.best.compile().plan.ranks == 2
    assert [each.step_seconds for each in found.plans] == sorted(each.step_seconds for each in found.plans)
    assert "optimizer in parts" not in str(found)
