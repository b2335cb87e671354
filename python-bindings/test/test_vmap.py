# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.vmap: every op against a loop over the examples, gradients of examples, shardings, errors."""

import itertools

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, lax, nn

EXAMPLES = 3


def numbers(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def indices(*shape, below=4):
    return np.random.default_rng(sum(shape)).integers(0, below, shape).astype(np.int32)


def convolution(x, w):
    return lax.conv_general_dilated(x, w, (1, 2), "SAME", feature_group_count=2)


# A function and the shapes of the tensors of one example; integers are indices.
CASES = {
    "elementwise": (lambda x, y: wnp.where(x > y, wnp.exp(x), y.astype(int) + 1) * 2, (4, 5), (4, 5)),
    "broadcasts": (lambda x, y: x[:, None] - y, (4,), (5,)),
    "clip": (lambda x, y: wnp.clip(x, -0.5, y), (4,), ()),
    "shapes": (lambda x: wnp.pad(x.reshape(5, 4).T[::2, 1:], ((1, 0), (0, 2)), constant_values=2), (4, 5)),
    "flip, concatenate": (lambda x, y: wnp.concatenate([wnp.flip(x, 1), y], 0), (2, 5), (3, 5)),
    "reductions": (lambda x: (x.sum(0), x.max(), x.argmin(1), wnp.cumsum(x, 1), x.var(-1)), (4, 5)),
    "matmul": (lambda x, y: x @ y, (4, 5), (5, 2)),
    "einsum": (lambda x, y: wnp.einsum("bij,bkj->ikb", x, y), (2, 3, 4), (2, 5, 4)),
    "tensordot": (lambda x, y: wnp.tensordot(x, y, 2), (2, 3, 4), (3, 4, 5)),
    "gather": (lambda x, i: x[i], (4, 5), indices(2, 3)),
    "lookups of rows": (lambda x, i: wnp.take_along_axis(x, i, 1), (4, 5), indices(4, 2)),
    "scatter": (lambda x, i, y: (x.at[i].add(y), x.at[i].set(y), x.at[i].max(y)), (4, 5), indices(2), (2, 5)),
    "dynamic slice": (lambda x, i: lax.dynamic_slice_in_dim(x, i, 2), (6, 5), indices()),
    "sort": (lambda x: (wnp.sort(x, 0), wnp.argsort(x, 1), lax.top_k(x, 2)), (4, 5)),
    "softmax": (lambda x: (nn.softmax(x, 0), nn.log_softmax(x)), (4, 5)),
    "norms": (lambda x, a, b: (nn.layer_norm(x, a, b), nn.rms_norm(x, a)), (4, 5), (5,), (5,)),
    "cross entropy": (nn.softmax_cross_entropy_with_integer_labels, (4, 5), indices(4)),
    "attention": (lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True),
                  (1, 4, 2, 3), (1, 4, 2, 3), (1, 4, 2, 3)),
    "convolution": (convolution, (2, 4, 5, 6), (4, 2, 3, 3)),
    "pooling": (lambda x: nn.max_pool(x, (2, 2)), (2, 4, 5, 3)),
    "groups of rows": (lax.ragged_dot, (6, 4), (3, 4, 2), indices(3)),
    "random": (lambda key, x: (weft.random.split(key), weft.random.normal(key, (3,)) + x), indices(2), ()),
    "checkpoint": (lambda x, y: weft.checkpoint(lambda x: wnp.sin(x) * y)(x), (4,), (4,)),
    "gradient": (lambda x, y: weft.value_and_grad(lambda x, y: (wnp.sin(x) * y).sum(), (0, 1))(x, y), (4,), (4,)),
    "gradient by what is shared": (lambda x, y: weft.grad(lambda y: wnp.sin(x @ y).sum())(y), (4, 5), (5, 2)),
    "gradient of examples": (
        lambda x, y: weft.grad(lambda y: (weft.vmap(lambda row: wnp.tanh(row @ y))(x) ** 2).mean())(y), (4, 5), (5, 2)),
    "gradient of a gradient": (
        lambda x, y: weft.grad(lambda x: weft.grad(lambda x: (x ** 3 * y).sum())(x).sum())(x), (4,), (4,)),
    "loops": (lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x), (3, 5)),
    "vmap": (lambda x, y: weft.vmap(lambda a, b: a @ b, (1, None))(x, y), (4, 5), (4, 2)),
    "axes": (lambda x, y: weft.vmap(lambda a, b: (a - b, b), (1, -1), (1, -1))(x, y), (4, 5), (2, 4, 5)),
}


def loop(function, axes, args):
    each = [function(*(arg if axis is None else arg[i] for arg, axis in zip(args, axes))) for i in range(EXAMPLES)]
    return weft.tree.map(lambda *parts: wnp.stack(parts), *each)


@pytest.mark.parametrize("case", CASES)
def test_examples(case):
    """With every argument that examples may share, shared and not."""
    function, *shapes = CASES[case]
    args = [numbers(EXAMPLES, *s, seed=n) if isinstance(s, tuple) else (s + np.arange(EXAMPLES).reshape(-1, *[1] * s.ndim)) % 4
            for n, s in enumerate(shapes)]
    args = [a.astype(np.int32) if a.dtype.kind == "i" else a for a in args]
    ways = [axes for axes in itertools.product((0, None), repeat=len(args)) if any(axis == 0 for axis in axes)]

    def both(*args):
        given = [[arg if axis == 0 else arg[1] for arg, axis in zip(args, axes)] for axes in ways]
        return ([weft.vmap(function, axes)(*each) for axes, each in zip(ways, given)],
                [loop(function, axes, each) for axes, each in zip(ways, given)])

    found, wanted = weft.jit(both)(*args)
    for axes, a, b in zip(ways, found, wanted):
        for x, y in zip(weft.tree.leaves(a), weft.tree.leaves(b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=str(axes))


def test_a_shared_matrix_is_one_matmul():
    text = weft.jit(weft.vmap(lambda x, w: wnp.tanh(x @ w), (0, None))).lower(numbers(8, 4), numbers(4, 2)).as_text()
    assert text.count("weft.dot_general") == 1 and "batching" not in text


def test_trees_and_names():
    """Prefix trees of axes; results that examples share; arguments by name."""
    params = {"w": numbers(4, 2), "b": numbers(5, 2)}

    def function(params, x, *, scale):
        return {"y": x @ params["w"] * scale + params["b"], "count": 1, "w": params["w"]}

    x, scale = numbers(4, 5), numbers(5)
    mapped = weft.vmap(function, ({"w": None, "b": 0}, 1), {"y": 1, "count": 0, "w": None})
    result = weft.jit(mapped)(params, x, scale=scale)
    np.testing.assert_allclose(result["y"], ((x.T @ params["w"]) * scale[:, None] + params["b"]).T, rtol=1e-5)
    np.testing.assert_array_equal(result["count"], np.ones(5))
    np.testing.assert_array_equal(result["w"], params["w"])


@pytest.mark.parametrize("axes, spec", [(None, '[{?}, {"model"}]'), ("data", '[{"data"}, {"model"}]')])
def test_shardings_are_of_an_example(axes, spec):
    mesh = weft.Mesh((2, 2), ("data", "model"))
    function = weft.vmap(lambda x: weft.with_sharding_constraint(x * 2, P("model")), spmd_axis_name=axes)
    lowered = weft.jit(function, mesh=mesh, in_shardings=P("data")).lower(numbers(4, 6))
    assert spec in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(numbers(4, 6)), numbers(4, 6) * 2)


def test_gradients_of_examples_are_split_as_examples():
    """Gradients of each example by shared parameters need no collective."""
    mesh = weft.Mesh((4,), ("data",))
    gradients = weft.vmap(weft.grad(lambda w, x: wnp.tanh(x @ w).sum()), (None, 0))
    compiled = weft.jit(gradients, mesh=mesh, in_shardings=(P(), P("data")), out_shardings=P("data")).lower(
        numbers(4, 2), numbers(8, 4)).compile()
    assert not compiled.collectives()


def fails(kind, text, function, *args):
    with pytest.raises(kind, match=text):
        weft.jit(function).lower(*args)


def test_errors():
    x, y = numbers(3, 4), numbers(2, 4)
    fails(ValueError, r"test_vmap.py:\d+: vmap: arguments must have one number of examples, got 3 in args\[0\] and 2 in args\[1\]",
          lambda x, y: weft.vmap(wnp.add)(x, y), x, y)
    fails(ValueError, "vmap: in_axes has 1 entries for 2 arguments", lambda x, y: weft.vmap(wnp.add, (0,))(x, y), x, y)
    fails(ValueError, r"vmap: args\[0\] has 2 dimensions, so no axis 2 of examples", lambda x: weft.vmap(wnp.exp, 2)(x), x)
    fails(ValueError, "vmap: no argument has examples; give one an axis in in_axes, or say axis_size",
          lambda x: weft.vmap(wnp.exp, None)(x), x)
    fails(TypeError, "vmap: in_axes are integers or None, got 'a'", lambda x: weft.vmap(wnp.exp, "a")(x), x)
    fails(ValueError, "vmap: out_axes is None for Tracer.*, of which each example has its own",
          lambda x: weft.vmap(wnp.exp, 0, None)(x), x)
    fails(NotImplementedError, "vmap has no collectives over examples", lambda x: weft.vmap(wnp.exp, axis_name="i")(x), x)
    kept = []
    fails(weft.UnexpectedTracerError, "made in a function given to weft.vmap whose tracing is over",
          lambda x: weft.vmap(lambda row: kept.append(row) or row)(x) + kept[0], x)
    fails(NotImplementedError, "this function cannot be called with tensors of a function given to weft.vmap",
          lambda x: weft.vmap(lambda p: weft.microbatches(weft.value_and_grad(lambda p, b: (p * b).sum()), 2)(p, p))(x), x)
