# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing in 16 bits: what moves in which type, what is stored, and the numbers."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from parallelisms import PARALLELISMS
from running import train
from tiny_models import MODELS, adamw

import weft
from weft import optim, tree

BFLOAT16 = weft.ShapeDtypeStruct((), "bfloat16").dtype


def model_of(dtype):
    return dataclasses.replace(MODELS["gpt2"],
                               config=dataclasses.replace(MODELS["gpt2"].config, dtype=dtype))


MODEL = model_of(BFLOAT16)
PARAMS = MODEL.params()
NUMBERS = sum(leaf.size for leaf in tree.leaves(PARAMS))


def lowered(way, optimizer, params):
    state = {"params": params, "optimizer": weft.eval_shape(optimizer.init, params)}
    layout = PARALLELISMS[way].layout(params)
    step = weft.jit(MODEL.train_step(optimizer), layout=layout, donate_argnums=0,
                    in_shardings=PARALLELISMS[way].in_shardings(layout, state))
    return step.lower(state, tree.map(lambda steps: steps[0], MODEL.batches(1)))


def moved(program, kind):
    """(rank, type) of what collectives of a kind take."""
    types = re.findall(rf"weft\.{kind} .* : tensor<((?:\d+x)*)(bf16|f32)> ->", program)
    return {(dims.count("x"), type_) for dims, type_ in types}


def test_weights_in_float32_are_gathered_in_bfloat16():
    lowered_step = lowered("fsdp", optim.adamw(1e-3), PARAMS)
    program = lowered_step.compile(None, combine_collectives=False).as_text("spmd")
    # The two tables of embeddings are looked up as they are; so are scales of norms.
    assert moved(program, "all_gather") == {(2, "bf16"), (1, "bf16"), (2, "f32"), (1, "f32")}
    blocks = [line for line in program.splitlines() if "weft.all_gather" in line
              and "by weft.dot_general there" in line]
    assert len(blocks) == 6 * MODEL.config.layers + 1
    assert all("bf16> -> " in line for line in blocks)


@pytest.mark.parametrize("way, params, rest", [("dp", 1, 1), ("zero1", 1, 4), ("fsdp", 4, 4)])
def test_bytes_of_states_with_master_weights(way, params, rest):
    """Two bytes of a parameter, four of its copy, eight of its moments."""
    half = tree.map(lambda p: weft.ShapeDtypeStruct(p.shape, BFLOAT16), PARAMS)
    plan = lowered(way, optim.master_weights(optim.adamw(1e-3)), half).compile(None)
    counter = 4
    assert plan.memory().states == NUMBERS * 2 // params + NUMBERS * 12 // rest + counter


@functools.cache
def trained(dtype, way):
    optimizer, model = optim.master_weights(adamw()), model_of(dtype)
    params = tree.map(lambda p: p.astype(dtype), PARAMS)
    state = {"params": params, "optimizer": weft.jit(optimizer.init)(params)}
    options = {}
    if way:
        layout = PARALLELISMS[way].layout(params)
        options = {"layout": layout, "in_shardings": PARALLELISMS[way].in_shardings(layout, state)}
    return train(model.train_step(optimizer), state, model.batches(20), **options)


# A part of the loss, and of the length of all parameters: bfloat16 has 8 bits, float16 has 11.
@pytest.mark.parametrize("way", ["zero1", "fsdp+tp"])
@pytest.mark.parametrize("dtype, of_losses, of_params", [(BFLOAT16, 4e-3, 2e-2),
                                                         (np.dtype(np.float16), 5e-4, 1e-2)])
def test_training_in_16_bits(dtype, of_losses, of_params, way):
    losses, final = trained(dtype, way)
    expected, reference = trained(dtype, None)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(losses, expected, rtol=of_losses)
    # As a whole: the gradient of a key's bias is rounding, of which Adam makes whole steps.
    a, b = (np.concatenate([leaf.ravel() for leaf in tree.leaves(state["optimizer"]["master"])])
            for state in (final, reference))
    assert np.linalg.norm(a - b) <= of_params * np.linalg.norm(b)
    # Each parameter is its copy, rounded.
    for p, m in zip(tree.leaves(final["params"]), tree.leaves(final["optimizer"]["master"])):
        np.testing.assert_array_equal(p, m.astype(dtype))
