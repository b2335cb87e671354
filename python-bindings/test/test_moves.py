# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices, concatenations and paddings along a split dimension: the numbers of one device, and no
more bytes than change the device."""

import ml_dtypes
import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

ROWS, WIDTH = 16, 8
TOLERANCE = {"float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}


def numbers(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed + sum(shape)).normal(0, 0.5, shape)
    return values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def mesh_of(ways):
    """One axis; two for 8 ways."""
    if ways == 8:
        return weft.Mesh((2, 4), ("a", "b")), ("b", "a")
    return weft.Mesh((ways,), ("a",)), "a"


def close(found, expected, dtype):
    for a, b in zip(weft.tree.leaves(found), weft.tree.leaves(expected), strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        distance = np.abs(a - b).max() / max(np.abs(b).max(), 1e-6)
        assert distance < TOLERANCE[dtype], distance


def compiled(function, arguments, ways, specs, results):
    """Compiled for the mesh, and for one device."""
    mesh, axes = mesh_of(ways)
    name = {"split": P(None, axes), "last": P(None, None, axes), "rows": P(axes), None: P()}
    step = weft.jit(function, mesh=mesh,
                    in_shardings=weft.tree.map(name.get, specs, is_leaf=lambda s: s is None),
                    out_shardings=weft.tree.map(name.get, results, is_leaf=lambda s: s is None))
    return step.lower(*arguments).compile(), weft.jit(function)


def fused_loss(sizes):
    """Of one product in three parts, each with a matrix of its own behind it."""
    ends = (sizes[0], sizes[0] + sizes[1])

    def loss(params, x):
        q, k, v = wnp.split(x @ params["fused"], ends, axis=-1)
        out = wnp.tanh(q) @ params["q"] + wnp.tanh(k) @ params["k"] + v @ params["v"]
        return wnp.sum(out * out) / ROWS

    return loss


def fused_params(sizes, dtype):
    return {"fused": numbers(WIDTH, sum(sizes), dtype=dtype)} | {
        n: numbers(size, WIDTH, dtype=dtype, seed=i)
        for i, (n, size) in enumerate(zip("qkv", sizes, strict=True))
    }


SPECS = {"fused": "split", "q": "rows", "k": "rows", "v": "rows"}
EQUAL, GROUPED, UNEVEN = (24, 24, 24), (48, 12, 12), (25, 13, 11)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("ways", [2, 3, 4, 8])
@pytest.mark.parametrize("sizes", [EQUAL, GROUPED, UNEVEN], ids=["equal", "grouped", "uneven"])
def test_fused_projection(sizes, ways, dtype):
    function = weft.value_and_grad(fused_loss(sizes))
    arguments = fused_params(sizes, dtype), numbers(ROWS, WIDTH, dtype=dtype, seed=9)
    step, alone = compiled(function, arguments, ways, (SPECS, None), (None, SPECS))
    close(step(*arguments), alone(*arguments), dtype)
    kinds = [c.kind for c in step.collectives() for _ in range(c.count)]
    # One for the slices, one for the gradient of them; no part is gathered.
    assert kinds.count("exchange") == 2, kinds
    assert "all_gather" not in kinds and "all_to_all" not in kinds, kinds


@pytest.mark.parametrize("rows", [4, ROWS])
@pytest.mark.parametrize(("ways", "thirds"), [(2, 1), (3, 2), (4, 2), (8, 3)])
def test_bytes_of_a_fused_projection(ways, thirds, rows):
    """Rows of the batch or of the weight, whichever are fewer, in units of what a device has of
    one of the three parts."""
    sizes = (24 * ways,) * 3
    function = weft.value_and_grad(fused_loss(sizes))
    arguments = fused_params(sizes, "float32"), numbers(rows, WIDTH)
    step, _ = compiled(function, arguments, ways, (SPECS, None), (None, SPECS))
    exchanges = [c for c in step.collectives() if c.kind == "exchange"]
    assert sum(c.total_bytes for c in exchanges) == 2 * thirds * min(rows, WIDTH) * 24 * 4


def step_in_shards(loss, width, ways, **options):
    """A training step of three parts of a matrix that is in two shards along its rows too."""
    mesh = weft.Mesh((2, ways), ("f", "m"))
    params = {"fused": numbers(512, 3 * width)} | {
        n: numbers(width, 512, seed=i) for i, n in enumerate("qkv")}
    specs = {"fused": P("f", "m"), "q": P("m", "f"), "k": P("m", "f"), "v": P("m", "f")}
    arguments = params, numbers(8192, 512, seed=9)
    function = weft.value_and_grad(loss)
    step = weft.jit(function, mesh=mesh, in_shardings=(specs, P("f")), out_shardings=(P(), specs))
    return step.lower(*arguments).compile(**options), weft.jit(function), arguments


@pytest.mark.parametrize(("ways", "thirds"), [(2, 1), (4, 2)])
def test_a_fused_projection_in_shards(ways, thirds):
    """A shard of the weight is exchanged, and one of its gradient; both are gathered and scattered
    as three matrices are."""
    width = 64 * ways
    step, alone, arguments = step_in_shards(fused_loss((width,) * 3), width, ways)

    def three_losses(params, x):
        fused = params["fused"]
        out = sum(f(x @ fused[i]) @ params[n]
                  for i, (f, n) in enumerate(zip((wnp.tanh, wnp.tanh, lambda v: v), "qkv", strict=True)))
        return wnp.sum(out * out) / ROWS

    params, x = arguments
    three = params | {"fused": [numbers(512, width, seed=i) for i in range(3)]}
    specs = {"fused": [P("f", "m")] * 3} | {n: P("m", "f") for n in "qkv"}
    apart = weft.jit(weft.value_and_grad(three_losses), mesh=weft.Mesh((2, ways), ("f", "m")),
                     in_shardings=(specs, P("f")), out_shardings=(P(), specs)).lower(three, x).compile()

    def sent(plan, exchanges):
        return sum(c.total_bytes for c in plan.collectives() if (c.kind == "exchange") == exchanges)

    assert sent(step, exchanges=False) == sent(apart, exchanges=False)
    assert sent(step, exchanges=True) == 2 * thirds * 256 * 64 * 4
    close(step(*arguments), alone(*arguments), "float32")


MOVES = {
    "pad": lambda x: wnp.pad(x, ((0, 0), (3, 1)), constant_values=2.0),
    "pad at the end": lambda x: wnp.pad(x, ((1, 0), (0, 7))),
    "tail": lambda x: x[:, 1:],
    "middle": lambda x: x[2:11, 5:-3],
    "every second": lambda x: x[:, 1::2],
    "overlapping": lambda x: x[:, 3:-5] * x[:, 5:-3] + x[:, :-8],
    "concat": lambda x: wnp.concatenate([x, x[:, :9], 2 * x], axis=1),
    "pieces of two": lambda x: wnp.concatenate([x[:, 30:], wnp.sin(x), wnp.zeros_like(x[:, :3]), x[:, 2:20:3], wnp.sin(x)[:, 7:]], axis=1),
    "roll": lambda x: wnp.roll(x, 5, axis=1),
    "roll of slices": lambda x: wnp.roll(wnp.roll(x, 7, axis=1)[:, 2:], -3, axis=1),
    "flip": lambda x: wnp.flip(x, 1),
    "flip of both": lambda x: wnp.flip(x),
    "flip and slices": lambda x: x[:, ::-1] * x[:, -1::-1] + x,
    "every second from the end": lambda x: x[:, -2::-2],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [48, 45])
@pytest.mark.parametrize("ways", [2, 4, 8])
@pytest.mark.parametrize("move", list(MOVES))
def test_moves(move, ways, columns):
    """Forward, and the derivative of a function in which every position counts."""
    x, w = numbers(ROWS, columns), MOVES[move]

    def loss(x, weights):
        y = w(x)
        return wnp.sum(wnp.sin(y) * weights), y

    shape = weft.eval_shape(w, x).shape
    arguments = x, numbers(*shape, seed=3)
    step, alone = compiled(weft.value_and_grad(loss, has_aux=True), arguments, ways,
                           ("split", "split"), ((None, "split"), "split"))
    close(step(*arguments), alone(*arguments), "float32")


@pytest.mark.parametrize("ways", [4, 8])
def test_bytes_of_a_flip(ways):
    """Each device sends what it has to one other, and back in the derivative."""
    x = numbers(512, 1024 * ways, seed=1)

    def loss(x, weights):
        return wnp.sum(wnp.sin(wnp.flip(wnp.tanh(x), 1)) * weights)

    step, alone = compiled(weft.value_and_grad(loss), (x, x), ways, ("split", "split"),
                           (None, "split"))
    close(step(x, x), alone(x, x), "float32")
    moved = [(c.kind, c.total_bytes) for c in step.collectives() if c.kind != "all_reduce"]
    assert moved == 2 * [("exchange", x.nbytes // ways)]


# Shapes of which the named dimension is split.
RESHAPES = {
    "thirds": ((ROWS, 48), "split", (ROWS, 3, 16), "last"),
    "one of thirds": ((ROWS, 3, 16), "last", (ROWS, 48), "split"),
    "other halves": ((ROWS, 3, 16), "last", (ROWS, 6, 8), "last"),
    "rows and columns": ((ROWS, 3, 16), "last", (ROWS, 16, 3), "split"),
    "rows too": ((4, ROWS), "split", (2, 32), "split"),
}


@pytest.mark.parametrize("ways", [2, 4, 8])
@pytest.mark.parametrize("case", list(RESHAPES))
def test_reshapes(case, ways):
    before, spec, after, result = RESHAPES[case]

    def loss(x, weights):
        y = wnp.reshape(wnp.tanh(x), after)
        return wnp.sum(wnp.sin(y) * weights), y

    arguments = numbers(*before), numbers(*after, seed=3)
    step, alone = compiled(weft.value_and_grad(loss, has_aux=True), arguments, ways,
                           (spec, result), ((None, result), spec))
    close(step(*arguments), alone(*arguments), "float32")


@pytest.mark.parametrize(("ways", "thirds"), [(2, 1), (4, 2), (8, 3)])
def test_bytes_of_a_reshape(ways, thirds):
    """A fused projection whose result is reshaped costs what slices of it do."""
    width = 512 * ways
    params = {"fused": numbers(WIDTH, 3 * width), "out": numbers(width, WIDTH)}
    specs = {"fused": "split", "out": "rows"}

    def loss(params, x):
        parts = wnp.reshape(x @ params["fused"], (4096, 3, width))
        return wnp.sum(wnp.tanh(parts) @ params["out"])

    step, _ = compiled(weft.value_and_grad(loss), (params, numbers(4096, WIDTH)), ways,
                       (specs, None), (None, specs))
    moved = [(c.kind, c.total_bytes) for c in step.collectives() if c.kind != "all_reduce"]
    assert moved == 2 * [("exchange", thirds * 4096 * 512 * 4)]


@pytest.mark.parametrize("dtype", ["int32", "int64", "int16", "int8", "bool"])
def test_types_without_a_derivative(dtype):
    x = np.random.default_rng(1).integers(0, 2, (ROWS, 32)).astype(dtype)

    def function(x):
        return wnp.concatenate([x[:, 5:], x[:, 12::-1]], axis=1)

    step, alone = compiled(function, (x,), 4, ("split",), "split")
    np.testing.assert_array_equal(np.asarray(step(x)), np.asarray(alone(x)))
