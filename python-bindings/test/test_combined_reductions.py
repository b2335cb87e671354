# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many calls the gradients of a GPT-2 take in data parallel training."""

import collections
import functools

import numpy as np
import pytest
import weft
import weft.numpy as wnp
import weft_models as models
from weft import P

WIDTH, CONTEXT, LAYERS = 768, 1024, 12


class Config:
    heads = 12
    dtype = wnp.bfloat16


def array(*shape, dtype=np.float32):
    return weft.ShapeDtypeStruct(shape, dtype)


def parameters():
    norm = {"scale": array(WIDTH), "bias": array(WIDTH)}
    attn = {f"w{name}": array(WIDTH, WIDTH) for name in "qkvo"}
    attn |= {f"b{name}": array(WIDTH) for name in "qkvo"}
    mlp = {"w1": array(WIDTH, 4 * WIDTH), "b1": array(4 * WIDTH),
           "w2": array(4 * WIDTH, WIDTH), "b2": array(WIDTH)}
    block = {"ln1": norm, "attn": attn, "ln2": norm, "mlp": mlp}
    return {"wte": array(50304, WIDTH), "wpe": array(CONTEXT, WIDTH),
            "blocks": [block] * LAYERS, "ln_f": norm}


def calls(devices=8, **options):
    """Of one step of GPT-2 small, 8 sequences for each device, by kind."""
    loss = functools.partial(models.gpt2_loss, config=Config)
    params = parameters()
    state = {"params": params,
             "optimizer": {"mu": params, "nu": params, "step": array(dtype=np.int32)}}
    tokens = array(8 * devices, CONTEXT, dtype=np.int32)
    layout = weft.Layout(weft.make_mesh((devices,), ("data",)), rest=weft.rules([(".*", P())]))
    step = weft.jit(models.train_step(loss, models.adamw()), layout=layout, donate_argnums=0,
                    in_shardings=(P(), P("data")), out_shardings=(P(), P()))
    lowered = step.lower(state, {"tokens": tokens, "targets": tokens})
    plan = lowered.compile(target="none", cluster="dgx-h100", **options)
    counts = collections.Counter()
    for each in plan.collectives():
        counts[each.kind] += each.count
    return counts


def reductions(**options):
    return calls(**options)["all_reduce"]


def test_gpt2_small_takes_ten_reductions_at_most():
    assert 2 <= reductions() <= 10


@pytest.mark.parametrize("devices", [16, 24, 56, 64])
def test_over_several_nodes_each_is_one_call(devices):
    """Not cut into what stays in a node and what crosses nodes: a library does that within its call."""
    counts = calls(devices)
    assert set(counts) == {"all_reduce"} and counts["all_reduce"] <= 16


def test_apart_there_is_one_for_each_parameter():
    assert reductions(combine_collectives=False) >= 148
