# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orders of elements, short and long, by kernels and by the instruction of CPUs."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, lax

# By counting; by comparisons; by the digits of keys.
SIZES = (32, 33, 1500)


def numbers(dtype, *shape):
    """With equal ones, zeros of both signs, NaNs and infinities where there are any."""
    random = np.random.default_rng(shape[-1])
    if np.dtype(dtype).kind != "f":
        return random.integers(0, 2, shape).astype(dtype) if dtype == "bool" else random.integers(-100, 100, shape).astype(dtype)
    x = np.round(random.normal(size=shape), 1)
    x[random.random(shape) < 0.1] = -0.0
    x[random.random(shape) < 0.05] = np.nan
    x[random.random(shape) < 0.05] = -np.inf
    return x.astype(dtype)


def order(x, axis, descending=False):
    """NaNs are the greatest, equal ones stay in order."""
    ranks = np.unique(x[x == x])
    keys = np.where(x == x, np.searchsorted(ranks, x), len(ranks))
    return np.argsort(-keys if descending else keys, axis, kind="stable")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int16", "int8", "bool"])
def test_orders(dtype):
    args = [numbers(dtype, 2, size, 3) for size in SIZES]
    shapes = [weft.ShapeDtypeStruct(a.shape, dtype) for a in args]

    def orders(*xs):
        return [(wnp.argsort(x, 1), wnp.argsort(x, 1, descending=True), wnp.sort(x, 1)) for x in xs]

    for x, (up, down, values) in zip(args, weft.jit(orders).lower(*shapes).compile()(*args)):
        np.testing.assert_array_equal(up, order(x, 1))
        np.testing.assert_array_equal(down, order(x, 1, descending=True))
        np.testing.assert_array_equal(values, np.take_along_axis(x, order(x, 1), 1))


@pytest.mark.parametrize("count", [1, 5, 100, 700, 1500])
def test_first_ones(count):
    """By a heap where they are few, else by a partition."""
    x = numbers(np.float32, 4, 1500)
    mesh = weft.Mesh((2,), ("x",))
    values, indices = weft.jit(lambda x: lax.top_k(x, count), mesh=mesh, in_shardings=P("x"), out_shardings=P("x"))(x)
    wanted = order(x, 1, descending=True)[:, :count]
    np.testing.assert_array_equal(indices, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


def test_a_gradient_goes_to_the_sorted_elements():
    x, weights = numbers(np.float32, 64), np.arange(64, dtype=np.float32)
    x = np.where(np.isfinite(x), x, 0)
    gradient = weft.jit(weft.grad(lambda x: (wnp.sort(x) * weights).sum()))(x)
    np.testing.assert_array_equal(gradient[order(x, 0)], weights)
