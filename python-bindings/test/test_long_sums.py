# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of many numbers, and what is made of them, against float64: in every type, over several ranks, in
norms, losses, matmuls and attention. The bounds are those of docs/Numerics.md."""

import numpy as np
import pytest
from running import evaluate

import weft
from weft import nn
from weft import numpy as wnp

LONG = 2**20
# Half a unit in the last place of 1.
UNITS = {"float32": 2.0**-24, "bfloat16": 2.0**-8 / 2, "float16": 2.0**-11}


def tenths(*shape, size=0.1):
    return np.full(shape, size, np.float32)


def narrowed(x, dtype):
    """What is left of x in the type, in float64."""
    return evaluate(lambda v: v.astype(dtype).astype("float32"), x).astype(float)


def summed(dtype, axis):
    return lambda x: x.astype(dtype).sum(axis).astype("float32")


@pytest.mark.parametrize("shape, axis", [((3, LONG), 1), ((LONG, 3), 0), ((2, LONG // 4, 3), 1)])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_16_bits_are_rounded_once(dtype, shape, axis):
    x = np.random.default_rng(0).uniform(0, 0.06, shape).astype(np.float32)
    exact = narrowed(x, dtype).sum(axis)
    got = evaluate(summed(dtype, axis), x)
    # To float32, which shows no more than its own last place, and to 16 bits.
    assert (np.abs(got - exact) <= exact * (UNITS[dtype] + 2 * UNITS["float32"])).all()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("dtype", UNITS)
def test_sums_over_ranks(dtype, ranks):
    """Each rank rounds its own to float32, and each addition of two of them rounds."""
    x = tenths(LONG, 4) * np.float32([1, -2, 3, 0.5]) * (0.1 if dtype == "float16" else 1)
    exact = narrowed(x, dtype).sum(0)
    mesh, split = weft.Mesh((ranks,), ("d",)), weft.P("d")
    for out in (weft.P(None), split):  # all-reduced, and reduce-scattered
        got = evaluate(summed(dtype, 0), x, mesh=mesh, in_shardings=split, out_shardings=out)
        allowed = np.abs(exact) * (ranks * UNITS["float32"] + (UNITS[dtype] if dtype != "float32" else 0))
        assert (np.abs(got - exact) <= allowed * 1.001).all()


def log_sum_exp(x):
    largest = x.max(-1, keepdims=True)
    return largest + np.log(np.exp(x - largest).sum(-1, keepdims=True))


def standardized(x, epsilon, mean):
    away = x - mean
    return away / np.sqrt((away * away).mean(-1, keepdims=True) + epsilon)


LABELS = np.int32([5, LONG - 1])
# Of rows in float32, and the same in float64.
ROWS = {
    "softmax": (nn.softmax, lambda x: np.exp(x - log_sum_exp(x))),
    "log_softmax": (nn.log_softmax, lambda x: x - log_sum_exp(x)),
    "logsumexp": (lambda x: nn.logsumexp(x, -1, keepdims=True), log_sum_exp),
    "layer_norm": (nn.layer_norm, lambda x: standardized(x, 1e-5, x.mean(-1, keepdims=True))),
    "rms_norm": (nn.rms_norm, lambda x: standardized(x, 1e-6, 0)),
    "cross_entropy": (
        lambda x: nn.softmax_cross_entropy_with_integer_labels(x, LABELS)[:, None],
        lambda x: log_sum_exp(x) - np.take_along_axis(x, LABELS[:, None], -1)),
    "var": (lambda x: wnp.var(x, -1, keepdims=True), lambda x: x.var(-1, keepdims=True)),
}


@pytest.mark.parametrize("kind", ["tenths", "normal"])
@pytest.mark.parametrize("name", ROWS)
def test_long_rows(name, kind):
    ours, theirs = ROWS[name]
    x = tenths(2, LONG) if kind == "tenths" else np.random.default_rng(1).normal(
        1, 1, (2, LONG)).astype(np.float32)
    exact = theirs(x.astype(float))
    size = np.maximum(np.abs(exact).max(-1, keepdims=True), 0 if name in ("softmax", "var") else 1)
    assert (np.abs(evaluate(ours, x) - exact) <= 8 * UNITS["float32"] * size + 1e-16).all()


@pytest.mark.parametrize("kind", ["tenths", "uniform", "normal"])
def test_long_products(kind):
    """A GEMM adds in f32, in blocks: as exact as NumPy's, and far from the bound of one sum after another."""
    length, random = 2**22, np.random.default_rng(2)
    x = {"tenths": lambda: tenths(4, length), "uniform": lambda: random.uniform(0, 1, (4, length)),
         "normal": lambda: random.normal(0, 1, (4, length))}[kind]().astype(np.float32)
    y = x[::-1].T.copy()
    exact, sizes = x.astype(float) @ y, np.abs(x).astype(float) @ np.abs(y)
    assert (np.abs(evaluate(lambda x, y: x @ y, x, y) - exact) <= 2**10 * UNITS["float32"] * sizes).all()


def test_long_attention():
    random = np.random.default_rng(3)
    query, keys = (random.normal(size=(1, n, 1, 64)).astype(np.float32) for n in (2, 2**17))
    values = random.uniform(0, 1, keys.shape).astype(np.float32)
    scores = np.einsum("bqhd,bkhd->bhqk", query.astype(float), keys) / 8
    exact = np.einsum("bhqk,bkhd->bqhd", np.exp(scores - log_sum_exp(scores)), values)
    got = evaluate(nn.dot_product_attention, query, keys, values)
    assert (np.abs(got - exact) <= 2**10 * UNITS["float32"] * exact).all()
