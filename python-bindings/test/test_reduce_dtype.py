# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.Layout(..., reduce_dtype="float32")`: gradients of bfloat16 are summed over devices in
float32 and rounded once."""

import re

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct

RANKS, ROWS, WIDTH = 8, 64, 32
BFLOAT16 = ShapeDtypeStruct((), "bfloat16").dtype
WHOLE, PARTS = weft.rules([(".*", P())]), weft.rules([(".*", P("data"))])


def loss(params, batch):
    """Linear, so that cotangents are what they are in float32 and only sums are rounded. The two
    uses of w make its gradient a sum of two products."""
    x, u, t = batch
    y = x @ params["w"] + params["b"]
    return wnp.sum(y.astype(wnp.float32) * t) + wnp.sum((u @ params["w"]).astype(wnp.float32) * t)


def values(dtype=BFLOAT16):
    """Numbers of bfloat16, in any type."""
    random = np.random.default_rng(0)

    def normal(*shape):
        return random.normal(size=shape).astype(BFLOAT16).astype(dtype)

    return ({"w": normal(WIDTH, WIDTH), "b": normal(WIDTH)},
            tuple(normal(ROWS, WIDTH) for _ in range(3)))


def lowered(reduce_dtype, rest=WHOLE, gradients=None, microbatches=None):
    layout = weft.Layout(weft.Mesh((RANKS,), ("data",)), rest=rest, gradients=gradients,
                         compute=WHOLE, reduce_dtype=reduce_dtype)
    params, batch = values()
    gradient = weft.value_and_grad(loss)
    if microbatches:
        gradient = weft.microbatches(gradient, microbatches)
    specs = layout.parameter_specs(params), P("data")
    return weft.jit(lambda params, batch: gradient(params, batch)[1], layout=layout,
                    in_shardings=specs).lower(params, batch)


def sums(program):
    """(collective, type) of all that is summed over devices."""
    text = program.compile(None, combine_collectives=False).as_text("spmd")
    return sorted(re.findall(r"weft\.(all_reduce|reduce_scatter) sum .* : tensor<(?:\d+x)+(\w+)>", text))


def test_sums_are_of_the_type_asked_for():
    for rest, kind in ((WHOLE, "all_reduce"), (PARTS, "reduce_scatter")):
        assert sums(lowered(None, rest)) == [(kind, "bf16")] * 2
        for dtype in ("float32", np.float32):
            assert sums(lowered(dtype, rest)) == [(kind, "f32")] * 2


def test_results_keep_their_type_and_bytes_are_twice_as_many():
    narrow, wide = (lowered(dtype).compile(None) for dtype in (None, "float32"))
    assert [info.dtype for info in wide.entry.outputs] == [BFLOAT16] * 2
    sent = [sum(c.total_bytes for c in plan.collectives()) for plan in (narrow, wide)]
    assert sent[1] == 2 * sent[0] > 0
    assert wide.as_text("spmd") != narrow.as_text("spmd")


@pytest.mark.parametrize("rest", [WHOLE, PARTS], ids=["whole", "parts"])
@pytest.mark.parametrize("microbatches", [None, 2])
def test_errors_are_those_of_one_rounding(rest, microbatches):
    def gradients(dtype):
        return lowered(dtype, rest, microbatches=microbatches).compile()(*values())

    exact = weft.jit(weft.grad(loss))(*values(np.float32))
    narrow, wide = gradients(None), gradients("float32")
    for name, expected in exact.items():
        expected = expected / (microbatches or 1)
        errors = [np.abs(np.float32(found[name]) - expected) for found in (narrow, wide)]
        assert np.all(errors[1] <= 2**-8 * np.abs(expected) + 1e-5), name  # half a last place
        assert np.linalg.norm(errors[1]) < 0.7 * np.linalg.norm(errors[0]), name


@pytest.mark.parametrize("rest", [WHOLE, PARTS], ids=["whole", "parts"])
@pytest.mark.parametrize("microbatches", [None, 2])
@pytest.mark.parametrize("lookup", ["narrow", "wide"])
def test_both_uses_of_a_tied_embedding(rest, microbatches, lookup):
    """The table is of float32, its uses of bfloat16: the gradient of each is summed in float32, and
    so are these two."""
    def tied(table, batch):
        tokens, x, t, u = batch
        rows = table.astype(BFLOAT16)[tokens] if lookup == "narrow" else table[tokens].astype(BFLOAT16)
        logits = x @ table.astype(BFLOAT16).T
        return wnp.sum(logits.astype(wnp.float32) * t) + wnp.sum(rows.astype(wnp.float32) * u)

    layout = weft.Layout(weft.Mesh((RANKS,), ("data",)), rest=rest, compute=WHOLE, reduce_dtype="float32")
    gradient = weft.grad(tied)
    if microbatches:
        gradient = weft.microbatches(weft.value_and_grad(tied), microbatches)
    random = np.random.default_rng(0)
    table, (_, (x, t, u)) = np.ones((WIDTH, WIDTH), np.float32), values()
    batch = random.integers(0, WIDTH, ROWS).astype(np.int32), x, t, u
    specs = layout.parameter_specs(table), P("data")
    step = weft.jit(gradient, layout=layout, in_shardings=specs).lower(table, batch).compile()
    found = step(table, batch)
    expected = np.float32(t).T @ np.float32(x)
    np.add.at(expected, batch[0], np.float32(u))
    if microbatches:
        found, expected = found[1], expected / microbatches
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "much", 3])
def test_other_types_are_refused(dtype):
    with pytest.raises(TypeError, match="reduce_dtype must be float32, or None"):
        weft.Layout(weft.Mesh((2,), ("data",)), rest=WHOLE, reduce_dtype=dtype)


def test_a_layout_says_it():
    mesh = weft.Mesh((2,), ("data",))
    assert "reduce_dtype='float32'" in repr(weft.Layout(mesh, rest=P(), reduce_dtype="float32"))
    assert "reduce_dtype" not in repr(weft.Layout(mesh, rest=P()))
