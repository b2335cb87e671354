# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the matmuls of a training step do beside, in plans for CUDA."""

import collections
import dataclasses
import re

import pytest
from parallelisms import lower_step
from tiny_models import MODELS, adamw

import weft

FLOAT32, BFLOAT16, FLOAT16 = (weft.ShapeDtypeStruct((), name).dtype for name in ("float32", "bfloat16", "float16"))

# Of one block: queries, keys and values have a bias; those of the other two products come after
# the residual stream. The gradient of the first bias of the perceptron is formed with that of
# GELU, the other five with those of the weights. What queries, keys and values give the gradient of
# the norm before them is added up in place.
ADDED = {"accumulate": 2}
BLOCK = {"bias": 3, "bias_gelu_aux": 1, "gelu_grad_bias_grad": 1, "rhs_bias_grad": 5}


def lowered(dtype, way=None):
    model = MODELS["gpt2"]
    model = dataclasses.replace(model, config=dataclasses.replace(model.config, dtype=dtype))
    return lower_step(model, adamw(), way)


def schedule(program, target, **options):
    return program.source.lower("schedule", target=target, **options)


def epilogues(text):
    return collections.Counter(re.findall(r"weft\.gemm .* then (\w+)", text))


def times(counts, layers=MODELS["gpt2"].config.layers):
    return {name: count * layers for name, count in counts.items()}


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16, FLOAT16], ids=["f32", "bf16", "f16"])
@pytest.mark.parametrize("way", [None, "dp", "tp", "fsdp+tp"])
def test_the_products_of_gpt2(dtype, way):
    text = schedule(lowered(dtype, way), "cuda:sm_90")
    assert epilogues(text) == times(BLOCK | ADDED)
    assert "tf32" not in text
    # No kernel is left that computes GELU.
    assert "math.tanh" not in text


def test_what_is_computed_again():
    """The first run of a block keeps no sums; the second one does, for the backward pass."""
    text = schedule(lowered(BFLOAT16, "fsdp+checkpoint"), "cuda:sm_90")
    assert epilogues(text) == times({**BLOCK, **ADDED, "bias": 6, "bias_gelu": 1})


def test_other_targets_and_options():
    program = lowered(FLOAT32)
    plain = schedule(program, "none")
    assert epilogues(plain) == times(ADDED) and "math.tanh" in plain
    apart = schedule(program, "cuda:sm_90", fuse_epilogues=False)
    assert epilogues(apart) == times(ADDED) and "math.tanh" in apart
    rounded = schedule(program, "cuda:sm_90", gemm_precision="tf32")
    products = re.findall(r"weft\.gemm .*", rounded)
    assert products and all(" tf32 " in product for product in products)


def test_what_a_plan_says():
    program = lowered(BFLOAT16)
    fused, apart = (program.compile("cuda:sm_90", fuse_epilogues=fuse) for fuse in (True, False))
    assert collections.Counter(re.findall(r" gemm .* then (\w+)", fused.as_text())) == times(BLOCK)
    assert " then " not in apart.as_text()
    # A product that does more reads and writes more, and all together less.

    def traffic(plan):
        return sum(int(n) for n in re.findall(r"^ +\d+: .* bytes (\d+)", plan.as_text(), re.M))

    assert traffic(fused) < traffic(apart)
