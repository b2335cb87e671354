# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolution and pooling: what they refuse, and numbers that need no JAX."""

import numpy as np
import pytest

import weft
from running import evaluate
from weft import lax, nn

X, W = np.arange(2 * 6 * 4, dtype=np.float32).reshape(2, 6, 4), np.ones((3, 4, 5), np.float32)
ROW = ("NHC", "HIO", "NHC")


def conv(x=X, w=W, strides=(1,), padding="VALID", **options):
    return lax.conv_general_dilated(x, w, strides, padding, **{"dimension_numbers": ROW, **options})


@pytest.mark.parametrize("call, message", [
    (lambda: conv(w=W[0]), r"operands of one rank of at least 2, got shapes \(2, 6, 4\) and \(4, 5\)"),
    (lambda: conv(dimension_numbers=("NHC", "HIO")), "three words of 3 different letters"),
    (lambda: conv(dimension_numbers=("NHC", "HIX", "NHC")), "O and I for the kernel"),
    (lambda: conv(strides=(1, 1)), "window_strides must have a number of at least 1 for each of 1 dimensions"),
    (lambda: conv(rhs_dilation=(0,)), r"rhs_dilation must have a number of at least 1 .* got \(0,\)"),
    (lambda: conv(x=X.astype(np.int32), w=W.astype(np.int32)), "conv_general_dilated is of floats, got int32; convert"),
    (lambda: conv(strides=(1.5,)), r"window_strides must be of whole numbers, got \(1.5,\)"),
    (lambda: conv(padding=[(1.9, 0.5)]), r"padding must be of whole numbers, got \(1.9, 0.5\)"),
    (lambda: conv(padding="CIRCULAR"), "padding must be SAME, SAME_LOWER, VALID or a pair for each dimension, got 'CIRCULAR'"),
    (lambda: conv(padding=[(1, 1), (0, 0)]), "padding must have a pair for each of 1 dimensions"),
    (lambda: conv(padding="SAME", lhs_dilation=(2,)), "with lhs_dilation, padding must be pairs of numbers; conv_transpose"),
    (lambda: conv(feature_group_count=2, batch_group_count=2), "must be at least 1, and one of them 1, got 2 and 2"),
    (lambda: conv(batch_group_count=3), "batch_group_count=3 must divide the batch of 2"),
    (lambda: conv(feature_group_count=2), "2 groups of 4 features of the kernel, which makes 5, do not fit 4 features"),
    (lambda: conv(rhs_dilation=(3,)), "a window of 7 elements does not fit in dimension 0, which has 6 with its padding"),
    (lambda: conv(w=W[:0]), r"a window must have at least 1 element along each dimension, got \(0,\)"),
    (lambda: lax.reduce_window(X.astype(np.int32), 0, lax.add, (1, 2, 1)), "takes floats, and weft.lax.add, max or min"),
    (lambda: lax.reduce_window(X, 1.0, lax.mul, (1, 2, 1)), "max or min, got .* and multiply"),
    (lambda: nn.max_pool(X, (2, 2, 2)), r"a window of \(2, 2, 2\) and strides \(1, 1, 1\) do not fit shape \(2, 6, 4\)"),
])
def test_messages(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        evaluate(call)


def test_numbers():
    found = evaluate(lambda: (conv(), nn.max_pool(X, (2,), (2,)), nn.avg_pool(X, (3,), padding="SAME", count_include_pad=False)))
    sums = np.stack([X[:, i:i + 3].sum(axis=(1, 2)) for i in range(4)], axis=1)
    np.testing.assert_array_equal(found[0], np.repeat(sums[..., None], 5, axis=2))
    np.testing.assert_array_equal(found[1], X[:, 1::2])
    means = [X[:, max(i - 1, 0):i + 2].mean(axis=1) for i in range(6)]
    np.testing.assert_allclose(found[2], np.stack(means, axis=1), rtol=1e-6)


def test_a_transposed_convolution_is_the_derivative():
    g = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)

    def f(x):
        return weft.numpy.sum(conv(x, strides=(2,), padding="SAME") * g)

    found, expected = evaluate(lambda: (
        lax.conv_transpose(g, W, (2,), "SAME", transpose_kernel=True), weft.grad(f)(weft.numpy.asarray(X))))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("images", [1, 4])
def test_threads(images):
    """Where there are fewer images than threads another implementation computes them; each has the same bits in each run."""
    random = np.random.default_rng(0)
    x = random.normal(size=(images, 12, 12, 8)).astype(np.float32)
    w = random.normal(size=(3, 3, 8, 24)).astype(np.float32)
    compiled = weft.jit(lambda x, w: lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))).lower(x, w).compile()
    around = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (1, 2))
    expected = np.einsum("nhwiab,abio->nhwo", windows, w)
    for threads in (1, 2, 3):
        session = compiled.session(threads=threads)
        found = []
        for _ in range(2):
            results = session.call(compiled.entry.name, [x, w])
            found.append(results[0])
        np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(*found)


def test_stages_are_found_between_convolutions():
    random = np.random.default_rng(1)
    kernels = [random.normal(0, 0.3, (3, 4, 4)).astype(np.float32) for _ in range(4)]

    def loss(kernels, x, y):
        for w in kernels:
            x = nn.relu(conv(x, w, padding="SAME"))
        return weft.numpy.mean((x - y) ** 2)

    def step(kernels, x, y):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), 2)(kernels, x, y)
        return [w - 0.1 * g for w, g in zip(kernels, gradients)], value

    x, y = random.normal(size=(2, 4, 6, 4)).astype(np.float32)
    wanted, value = weft.jit(step)(kernels, x, y)
    found, same = weft.jit(step, mesh=weft.Mesh((2,), ("pipe",)),
                           pipeline=weft.Pipeline("pipe", stages="auto"))(kernels, x, y)
    np.testing.assert_allclose(same, value, rtol=1e-6)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
