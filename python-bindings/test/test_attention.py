# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention: when it is one op, and that it is the same on every mesh, with which collectives."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from running import evaluate
from weft import P, ShapeDtypeStruct, nn
from weft.tracing import trace

Q, K = (2, 16, 8, 4), (2, 16, 4, 4)


def arrays():
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype(np.float32) for shape in (Q, K, K, Q)]


def loss(is_causal, dtype, q, k, v, w):
    q, k, v = (x.astype(dtype) for x in (q, k, v))
    return (nn.dot_product_attention(q, k, v, is_causal=is_causal).astype("float32") * w).sum()


def step(is_causal, dtype="float32"):
    """The loss and its gradient by queries, keys and values."""
    def of_arrays(q, k, v, w):
        return weft.value_and_grad(lambda *x: loss(is_causal, dtype, *x, w), argnums=(0, 1, 2))(q, k, v)
    return of_arrays


def text(fn, *shapes, dtype="float32"):
    return trace(fn, [ShapeDtypeStruct(shape, dtype) for shape in shapes]).text


# ===----------------------------------------------------------------------===
# What is traced
# ===----------------------------------------------------------------------===


@pytest.mark.parametrize("options, op", [
    ({}, "scale = 0.5"),
    ({"is_causal": True}, "causal scale = 0.5"),
    ({"scale": 2}, "scale = 2.0"),
    ({"scale": np.float32(1e-20)}, "scale = 9.999999682655225e-21"),
    ({"implementation": "xla"}, "scale = 0.5"),
])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_one_op(options, op, dtype):
    found = text(lambda q, k: nn.dot_product_attention(q, k, k, **options), Q, K, dtype=dtype)
    assert f"weft.attention %0, %1, %1 {op} :" in found
    assert "weft.dot_general" not in found


@pytest.mark.parametrize("options", [
    {"mask": np.ones((2, 8, 16, 16), bool)},
    {"bias": np.ones((2, 8, 16, 16), np.float32)},
    {"local_window_size": 3},
    {"query_seq_lengths": np.array([3, 4], np.int32)},
    {"key_value_seq_lengths": np.array([3, 4], np.int32)},
    {"scale": np.ones((), np.float32)},
], ids=str)
def test_other_masks_are_other_ops(options):
    found = text(lambda q, k: nn.dot_product_attention(q, k, k, **options), Q, K)
    assert "weft.attention" not in found and "weft.dot_general" in found


def test_rank_3():
    found = text(lambda q, k: nn.dot_product_attention(q, k, k), Q[1:], K[1:])
    assert "weft.attention" in found and "-> tensor<16x8x4xf32>" in found


# ===----------------------------------------------------------------------===
# What is computed
# ===----------------------------------------------------------------------===

LAYOUTS = {
    # mesh, spec of queries, spec of keys and values, kinds of collectives but those of the loss
    "batch": ((2,), P("x"), P("x"), set()),
    "heads": ((4,), P(None, None, "x"), P(None, None, "x"), set()),
    "groups": ((8,), P(None, None, "x"), P(), {"all_reduce", "all_gather"}),
    "ring of 2": ((2,), P(None, "x"), P(None, "x"), {"permute"}),
    "ring of 4": ((4,), P(None, "x"), P(None, "x"), {"permute"}),
    "ring of 16": ((16,), P(None, "x"), P(None, "x"), {"permute"}),
    "ring and heads": ((4, 2), P(None, "x", "y"), P(None, "x", "y"), {"permute"}),
    "batch, ring and heads": ((2, 2, 2), P("x", "y", "z"), P("x", "y", "z"), {"permute"}),
    "ring over two axes": ((2, 2), P(None, ("x", "y")), P(None, ("x", "y")), {"permute"}),
}


def split(layout, fn):
    sizes, of_queries, of_keys, _ = LAYOUTS[layout]
    mesh = weft.Mesh(sizes, ("x", "y", "z")[:len(sizes)])
    return weft.jit(fn, mesh=mesh, in_shardings=(of_queries, of_keys, of_keys, of_queries),
                    out_shardings=(P(), (of_queries, of_keys, of_keys)))


def close(found, expected, tolerance):
    for x, y in zip(weft.tree.leaves(found), weft.tree.leaves(expected), strict=True):
        scale = max(1.0, float(np.abs(y).max()))
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_causal", [False, True])
def test_every_mesh_computes_the_same(layout, is_causal):
    x = arrays()
    close(split(layout, step(is_causal))(*x), evaluate(step(is_causal), *x), 2e-6)


@pytest.mark.parametrize("dtype, tolerance", [("bfloat16", 1e-2), ("float16", 1.5e-3)])
def test_a_ring_of_16_bits(dtype, tolerance):
    x = arrays()
    close(split("ring of 4", step(True, dtype))(*x), evaluate(step(True, dtype), *x), tolerance)


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P(None, None, "x")], ids=["batch", "positions", "heads"])
def test_uneven_sizes(spec):
    """Padding of keys would take part in the softmax."""
    random = np.random.default_rng(0)
    x = [random.normal(size=(5, 14, 6, 4)).astype(np.float32) for _ in range(4)]
    found = weft.jit(step(False), mesh=weft.Mesh((4,), ("x",)), in_shardings=(spec,) * 4)(*x)
    close(found, evaluate(step(False), *x), 2e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_collectives(layout):
    shapes = [ShapeDtypeStruct(x.shape, x.dtype) for x in arrays()]
    compiled = split(layout, step(True)).lower(*shapes).compile(None)
    kinds = {c.kind for c in compiled.collectives() if c.bytes > 64}
    assert kinds <= LAYOUTS[layout][3], compiled.collectives()
    permutes = [c for c in compiled.collectives() if c.kind == "permute"]
    assert all("move around the ring of" in c.cause for c in permutes)
    if layout == "ring of 4":
        # Keys and values 3 steps forward and backward, their cotangents 4 steps.
        assert sum(c.count for c in permutes) == 2 * (3 + 3 + 4)


def test_what_is_keys_and_values_goes_around_once():
    def of_arrays(q, k, w):
        return weft.value_and_grad(lambda q, k: loss(True, "float32", q, k, k, w), argnums=(0, 1))(q, k)

    q, k, _, w = arrays()
    spec = P(None, "x")
    jitted = weft.jit(of_arrays, mesh=weft.Mesh((4,), ("x",)), in_shardings=(spec,) * 3, out_shardings=(P(), (spec, spec)))
    close(jitted(q, k, w), evaluate(of_arrays, q, k, w), 2e-6)
    permutes = [c for c in jitted.lower(q, k, w).compile(None).collectives() if c.kind == "permute"]
    # 3 steps forward and backward; the cotangents of keys and of values 4 steps.
    assert sum(c.count for c in permutes) == 3 + 3 + 2 * 4


def test_queries_of_more_keys_begin_at_their_part():
    """As many keys as there are: each device has all of them, and its part of the queries."""
    random = np.random.default_rng(0)
    q, k = (random.normal(size=(2, n, 4, 4)).astype(np.float32) for n in (8, 24))

    def attend(q, k):
        return nn.dot_product_attention(q, k, k, is_causal=True)

    found = weft.jit(attend, mesh=weft.Mesh((4,), ("x",)), in_shardings=(P(None, "x"), P()),
                     out_shardings=P(None, "x"))(q, k)
    close(found, evaluate(attend, q, k), 2e-6)


def test_a_long_sequence_needs_no_matrix_of_scores():
    shape = (1, 4096, 2, 8)
    q = ShapeDtypeStruct(shape, "float32")
    compiled = weft.jit(step(True)).lower(q, q, q, q).compile(None)
    scores = 2 * 4096 * 4096 * 4
    assert compiled.memory().arena < scores / 8
