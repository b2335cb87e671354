# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of groups of rows: numbers, derivatives, and how they are split."""

import numpy as np
import pytest
from running import evaluate

import weft
from weft import P, lax
from weft.tracing.errors import ShapeError

ROWS, K, N, GROUPS = 40, 24, 70, 5
SIZES = {
    "all rows": [8, 0, 20, 5, 7],
    "fewer": [3, 0, 1, 9, 0],
    "more": [30, 30, 30, 1, 1],
    "negative": [-4, 10, -1, 12, 3],
    "none": [0, 0, 0, 0, 0],
    "one group": [0, 0, 0, 0, 40],
}


def arguments(dtype=np.float32, sizes="all rows"):
    random = np.random.default_rng(0)
    x, w = (random.normal(size=shape).astype(dtype) for shape in ((ROWS, K), (GROUPS, K, N)))
    return x, w, np.int32(SIZES[sizes])


def by_loops(x, w, sizes):
    y, first = np.zeros((ROWS, N)), 0
    for matrix, size in zip(np.float64(w), sizes):
        last = min(ROWS, first + max(size, 0))
        y[first:last] = np.float64(x[first:last]) @ matrix
        first = last
    return y


@pytest.mark.parametrize("sizes", SIZES)
def test_numbers(sizes):
    args = arguments(sizes=sizes)
    np.testing.assert_allclose(evaluate(lax.ragged_dot, *args), by_loops(*args), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-13), ("float16", 1e-2), ("bfloat16", 5e-2)])
def test_types(dtype, tolerance):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="has bfloat16 for NumPy")
    x, w, sizes = arguments(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    shapes = [weft.ShapeDtypeStruct(a.shape, dtype) for a in (x, w)] + [weft.ShapeDtypeStruct(sizes.shape, "int32")]
    y = weft.jit(lax.ragged_dot).lower(*shapes).compile()(x, w, sizes)
    assert y.dtype == x.dtype
    np.testing.assert_allclose(np.float64(y), by_loops(x, w, sizes), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("sizes", ["all rows", "fewer", "more"])
def test_gradients(sizes):
    """By differences in float64; of the gradient as well."""
    x, w, sizes = arguments(np.float64, sizes)
    random = np.random.default_rng(1)
    target, directions = random.normal(size=(ROWS, N)), [random.normal(size=a.shape) for a in (x, w)]

    def loss(args, sizes):
        return ((lax.ragged_dot(*args, sizes) - target) ** 2).mean()

    def slope(args, sizes):
        """The derivative along the directions."""
        gradients = weft.grad(loss)(args, sizes)
        return sum((g * d).sum() for g, d in zip(gradients, directions))

    shapes = (tuple(weft.ShapeDtypeStruct(a.shape, "float64") for a in (x, w)),
              weft.ShapeDtypeStruct(sizes.shape, "int32"))
    for function in (loss, slope):
        compiled = weft.jit(lambda args, sizes: (function(args, sizes), weft.grad(function)(args, sizes))).lower(
            *shapes).compile()
        _, gradients = compiled((x, w), sizes)
        values = [float(compiled(tuple(a + step * d for a, d in zip((x, w), directions)), sizes)[0])
                  for step in (1e-6, -1e-6)]
        found = sum((g * d).sum() for g, d in zip(gradients, directions))
        np.testing.assert_allclose(found, (values[0] - values[1]) / 2e-6, rtol=1e-6)


SPLITS = {
    "columns": (P(), P(None, None, "x"), {}),
    "summed": (P(None, "x"), P(None, "x"), {"all_reduce": 1}),
    "both": (P(None, "x"), P(None, "x", "y"), {"all_reduce": 1}),
    # Rows are together for groups to be found in them, and so are matrices.
    "rows": (P("x"), P(), {"all_gather": 1}),
    "matrices": (P(), P("x"), {"all_gather": 1}),
}


@pytest.mark.parametrize("split", SPLITS)
def test_splits(split):
    *specs, kinds = SPLITS[split]
    specs = (*specs, P())
    args = (*arguments()[:2], np.int32([8, 0, 20, 5]))
    args = args[0], args[1][:4], args[2]
    y = P(None, "y" if split == "both" else "x") if split in ("columns", "both", "rows") else P()
    compiled = weft.jit(lax.ragged_dot, mesh=weft.Mesh((2, 2), ("x", "y")), in_shardings=specs,
                        out_shardings=y).lower(*args).compile()
    found = {}
    for c in compiled.collectives():
        found[c.kind] = found.get(c.kind, 0) + c.count
    assert found == kinds
    np.testing.assert_allclose(compiled(*args), by_loops(*args), rtol=1e-5, atol=1e-5)


def test_threads():
    """The result has the same bits with any number of threads."""
    args = arguments()

    def both(x, w, sizes):
        y = lax.ragged_dot(x, w, sizes)
        return y, weft.grad(lambda w: (lax.ragged_dot(x, w, sizes) ** 2).sum())(w)

    compiled = weft.jit(both).lower(*args).compile()
    results = []
    for threads in (1, 3):
        session = compiled.session(threads=threads)
        for each, value in zip(compiled.entry.inputs, args):
            session.set_input(compiled.entry.name, each.name, value)
        session.run(compiled.entry.name)
        results.append([session.output(each.name) for each in compiled.entry.outputs])
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


def test_cost():
    """As many products as rows have, however many groups there are."""
    assert weft.jit(lax.ragged_dot).lower(*arguments()).compile(None).cost().flops == 2 * ROWS * K * N


def test_for_cuda():
    """All groups at once, in other ops."""
    text = weft.jit(lax.ragged_dot).lower(*arguments()).compile("cuda:sm_90").as_text("graph")
    assert "weft.grouped_dot" not in text and "weft.dot_general" in text


@pytest.mark.parametrize("changes", [
    {"lhs": np.zeros((40, 23), np.float32)}, {"rhs": np.zeros((24, 70), np.float32)},
    {"group_sizes": np.zeros(4, np.int32)}, {"group_sizes": np.zeros(5, np.float32)},
    {"lhs": np.zeros((40, 24), np.int32), "rhs": np.zeros((5, 24, 70), np.int32)}])
def test_refusals(changes):
    given = dict(zip(("lhs", "rhs", "group_sizes"), arguments())) | changes
    with pytest.raises(ShapeError, match=r"ragged_dot takes floats \[rows, k\] and \[groups, k, n\]"):
        weft.jit(lambda: lax.ragged_dot(**given)).lower()
