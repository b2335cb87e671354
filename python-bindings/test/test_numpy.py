# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of weft.numpy against those of NumPy: shapes and numbers."""

import types

import numpy as np
import pytest

import cases
import weft
from running import evaluate
from weft import tree

WEFT = types.SimpleNamespace(numpy=weft.numpy, nn=weft.nn, lax=weft.lax)
NUMPY = types.SimpleNamespace(numpy=np)


def evaluate_all(selected):
    """The results of all cases, from one program."""
    def program(args):
        return {c.name: tree.map(weft.numpy.asarray, c.call(WEFT, *args[c.name])) for c in selected}

    return evaluate(program, {c.name: c.args for c in selected})


@pytest.fixture(scope="module")
def results():
    return evaluate_all(cases.NUMPY)


def check(got, expected, tolerance):
    got, expected = tree.leaves(got), tree.leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        b = np.asarray(b)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", cases.NUMPY, ids=lambda case: case.name)
def test_as_numpy(case, results):
    with np.errstate(all="ignore"):
        expected = case.call(NUMPY, *case.args)
    check(results[case.name], expected, case.tolerance)


@pytest.mark.parametrize("axis", [0, 1])
def test_pieces_of_many_kernels(axis):
    """More of them than one kernel writes, also when they are computed."""
    pieces = [np.random.default_rng(i).normal(size=(3, 2 + i % 3) if axis else (2 + i % 3, 3)).astype(np.float32)
              for i in range(200)]
    got = evaluate(lambda *v: [weft.numpy.concatenate(v, axis), weft.numpy.concatenate([2 * x for x in v], axis)],
                   *pieces)
    expected = np.concatenate(pieces, axis)
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_array_equal(got[1], 2 * expected)
