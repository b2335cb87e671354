# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.from_jax(..., reduce_dtype="float32")`: JAX does not say what it differentiated; the
gradients are what donated parameters are updated with."""

import os
import re

import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402

RANKS, ROWS, WIDTH = 8, 1024, 32
MESH = weft.Mesh((RANKS,), ("data",))
OPTIMIZERS = {
    "sgd": optax.sgd(2.0**-4),
    "momentum": optax.sgd(2.0**-4, momentum=0.5),
    "adam": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2.0**-4)),
    "muon": optax.contrib.muon(2.0**-4),
}


def loss(params, batch):
    """Cotangents are what they are in float32, and only sums are rounded. That gradients depend
    on parameters is what they are found by."""
    x, t = batch
    w, b = (params[name].astype(x.dtype) for name in "wb")
    y = (x @ w + b).astype(jnp.float32)
    return jnp.where(jnp.sum(y) < 1e6, 0.5, 1.0) * jnp.sum(y * t)


def step(optimizer):
    def of(params, state, batch):
        def add(sums, part):
            return jax.tree.map(jnp.add, sums, jax.grad(loss)(params, part)), None

        if batch[0].ndim == 3:  # of micro-batches
            gradients = lax.scan(add, jax.tree.map(jnp.zeros_like, params), batch)[0]
        else:
            gradients = jax.grad(loss)(params, batch)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state
    return of


def values(dtype, of_batch=jnp.bfloat16):
    """Numbers of bfloat16, in any type."""
    random = np.random.default_rng(0)

    def normal(dtype, *shape):
        return jnp.asarray(random.normal(size=shape), jnp.bfloat16).astype(dtype)

    params = {"w": normal(dtype, WIDTH, WIDTH), "b": normal(dtype, WIDTH)}
    return params, (normal(of_batch, ROWS, WIDTH), normal(of_batch, ROWS, WIDTH))


def lowered(optimizer, reduce_dtype="float32", rest=P(), donate=(0, 1), dtype=jnp.bfloat16,
            microbatches=()):
    params, batch = values(dtype)
    batch = tuple(a.reshape(*microbatches, -1, WIDTH) for a in batch)
    state = optimizer.init(params)
    specs = jax.tree.map(lambda a: rest if WIDTH in a.shape else P(), (params, state))
    return weft.from_jax(step(optimizer), params, state, batch, mesh=MESH,
                         in_shardings=(*specs, P(*len(microbatches) * (None,), "data")), out_shardings=specs,
                         donate_argnums=donate, reduce_dtype=reduce_dtype)


def sums(program):
    """(collective, type) of the arrays that are summed over devices as propagated, since the choice by cost knows the
    type; but for those of muon itself, which multiplies matrices that are split."""
    spmd = program.source.lower("spmd", **program._options | {"optimize_shardings": False})
    text = "\n".join(line for line in spmd.splitlines()
                     if os.path.basename(__file__) in line or "_muon.py" not in line)
    return sorted(re.findall(r"weft\.(all_reduce|reduce_scatter) sum .* : tensor<(?:\d+x)+(\w+)>", text))


@pytest.mark.parametrize("rest", [P(), P("data")], ids=["whole", "parts"])
@pytest.mark.parametrize("microbatches", [(), (2,)], ids=["whole batch", "micro-batches"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_gradients_are_summed_in_the_type_asked_for(optimizer, microbatches, rest):
    narrow, wide = (sums(lowered(OPTIMIZERS[optimizer], dtype, rest, microbatches=microbatches))
                    for dtype in (None, "float32"))
    assert {kind for _, kind in narrow} >= {"bf16"}
    assert len(narrow) == len(wide) and {kind for _, kind in wide} == {"f32"}


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_errors_are_those_of_one_rounding(optimizer):
    optimizer = OPTIMIZERS[optimizer]
    params, batch = values(jnp.float32, jnp.float32)
    state = optimizer.init(params)
    exact = jax.jit(step(optimizer))(params, state, batch)[0]
    params, batch = values(jnp.float32)
    narrow, wide = (
        lowered(optimizer, dtype, dtype=jnp.float32).compile()(params, state, batch)[0]
        for dtype in (None, "float32"))
    for name in exact:
        errors = [np.linalg.norm(found[name] - exact[name]) for found in (narrow, wide)]
        assert errors[1] < 0.7 * errors[0], name


def test_without_donation_there_is_nothing_to_go_by():
    with pytest.raises(weft.CompileError, match="donate the parameters that a JAX program updates"):
        lowered(OPTIMIZERS["sgd"], donate=()).as_text("spmd")


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="from_jax: reduce_dtype must be float32, or None"):
        lowered(OPTIMIZERS["sgd"], "bfloat16")
