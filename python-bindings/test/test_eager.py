# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of tensors called with arrays where nothing is traced: the numbers of a traced function."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import eager, lax, nn, random

X = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
KEY = random.key(3)

CALLS = {
    "elementwise": lambda x: wnp.exp(x),
    "numbers of a program": lambda x: wnp.power(wnp.multiply(x, 2), 3.0),
    "reductions": lambda x: [wnp.sum(x), wnp.argmax(x, axis=1), wnp.linalg.norm(x)],
    "shapes": lambda x: wnp.concatenate([wnp.reshape(x, [5, 4]), wnp.transpose(x)], axis=-1),
    "products": lambda x: wnp.einsum("ij,kj->ik", x, x),
    "functions of windows": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2)),
    "several results": lambda x: lax.top_k(x, 2),
    "creation": lambda x: [wnp.zeros((2, 3)), wnp.arange(5), wnp.eye(3), wnp.full_like(x, 2), wnp.array([[1, 2], [3, 4]])],
    "types": lambda x: [wnp.array([1, 2.5]), wnp.asarray(x, int), wnp.array([True]), wnp.ones(2, wnp.bfloat16)],
    "functions of trees": lambda x: nn.rms_norm(x, x[0]),
    "functions of functions": lambda x: lax.fori_loop(0, 3, lambda i, y: y * 2 + i, x),
    "random": lambda x: [random.normal(KEY, (3,)), random.split(KEY), nn.initializers.he_normal()(KEY, (4, 2))],
    "gradients": lambda x: weft.value_and_grad(_loss)(x),
    "examples": lambda x: weft.vmap(weft.grad(_loss))(x),
    "checkpoints": lambda x: weft.checkpoint(_loss)(x),
}


def _loss(x):
    return (wnp.sin(x) ** 2).sum()


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_those_of_a_traced_function(name):
    found, wanted = CALLS[name](X), weft.jit(CALLS[name])(X)
    for x, y in zip(weft.tree.leaves(found), weft.tree.leaves(wanted), strict=True):
        assert isinstance(x, (np.ndarray, weft.Array)) and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


def test_packages_share_functions():
    """As max of lax and maximum of numpy, which reduce_window and users compare."""
    assert lax.max is wnp.maximum and nn.tanh is wnp.tanh


def test_a_call_is_compiled_once():
    eager._programs.clear()
    for factor in range(3):
        wnp.add(X * factor, X)
        wnp.sum(X, axis=0)
    assert len(eager._programs) == 2
    wnp.sum(X, axis=1)
    wnp.add(X[:2], X[:2])
    assert len(eager._programs) == 4


def test_numbers_make_other_programs_than_their_equals():
    """1, 1.0 and True are equal, but give tensors of other types."""
    assert [wnp.multiply(np.int32([2]), value).dtype for value in (1, 1.0, True)] == [np.int32, np.float32, np.int32]


def test_plans_of_calls_that_are_long_past_are_dropped(monkeypatch):
    eager._programs.clear()
    monkeypatch.setattr(eager, "KEPT", 2)
    for size in (1, 2, 3):
        wnp.arange(size)
    assert len(eager._programs) == 2


def test_results_that_are_no_tensors():
    assert wnp.shape(X) == (4, 5) and wnp.ndim(X) == 2 and wnp.broadcast_shapes((4, 1), (5,)) == (4, 5)


def test_arrays_of_devices():
    mesh = weft.Mesh((2,), ("x",))
    placed = weft.device_put(X, weft.NamedSharding(mesh, weft.P("x")))
    np.testing.assert_array_equal(wnp.negative(placed), -X)


def test_errors_name_the_line():
    with pytest.raises(weft.ShapeError, match=r"test_eager.py:\d+: "):
        wnp.matmul(X, X)
    with pytest.raises(OverflowError, match="3000000000 is out of bounds for int32"):
        wnp.array([3000000000])
    with pytest.raises(weft.NoTraceError, match="what describes a program, as a sharding constraint, can only be called in"):
        weft.with_sharding_constraint(X, weft.P())
