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
