# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.checkpoint`: what is traced, and that no number changes."""

import re

import numpy as np
import pytest
from running import evaluate

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct
from weft.tracing import trace

X = ShapeDtypeStruct((4, 8), "float32")
POLICIES = weft.checkpoint_policies


def layer(params, x, *, scale=2):
    hidden = weft.checkpoint_name(wnp.tanh(x @ params["w"]), "hidden")
    return {"y": hidden * scale + x, "scale": scale}


def test_remat_is_checkpoint():
    assert weft.remat is weft.checkpoint


def test_a_checkpoint_is_a_function_of_its_own():
    def f(w, x):
        bias = wnp.exp(x[0])

        def body(params, x):
            out = layer(params, x, scale=3)
            return out["y"] + bias, out["scale"]

        y, scale = weft.checkpoint(body, policy=POLICIES.save_only_these_names("hidden", "b"))(
            {"w": w}, x)
        assert scale == 3  # what is no tensor is passed on
        return y

    program = trace(f, (ShapeDtypeStruct((8, 8), "float32"), X))
    call = re.search(r"weft.checkpoint @body\((.*?)\) policy = (.*?) : \((.*?)\)", program.text)
    # The value that the function closes over comes last.
    assert call[1].split(", ")[:2] == ["%0", "%1"]
    assert call[2] == '"names" ["hidden", "b"]'
    assert call[3] == "tensor<8x8xf32>, tensor<4x8xf32>, tensor<8xf32>"
    assert 'weft.checkpoint_name' in program.text


@pytest.mark.parametrize("policy", [None, POLICIES.nothing_saveable, POLICIES.dots_saveable,
                                    POLICIES.everything_saveable,
                                    POLICIES.save_only_these_names("hidden")], ids=str)
def test_no_number_changes(policy):
    random = np.random.default_rng(0)
    ws = [random.normal(size=(8, 8)).astype(np.float32) for _ in range(3)]
    x = random.normal(size=(4, 8)).astype(np.float32)

    def gradients(wrap):
        def loss(ws, x):
            for w in ws:
                x = wrap(layer)({"w": w}, x)["y"]
            return wnp.sum(x * x)
        return lambda ws, x: weft.value_and_grad(loss)(ws, x)

    expected = weft.tree.leaves(evaluate(gradients(lambda f: f), ws, x))
    found = weft.tree.leaves(evaluate(gradients(lambda f: weft.checkpoint(f, policy=policy)), ws, x))
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("policy", [POLICIES.nothing_saveable, POLICIES.dots_saveable, POLICIES.everything_saveable])
@pytest.mark.parametrize("ranks", [1, 2])
def test_gradients_of_shared_weights_have_the_bits_they_have_without(policy, ranks):
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(8, 8)).astype("f4") / 3, rng.normal(size=(4, 8)).astype("f4")

    def block(w, b, x):
        return wnp.tanh(x @ w + b) @ w + x * b

    def step(wrapped):
        def loss(w, b, x):
            for _ in range(3):
                x = wrapped(w, b, x)
            return (x * x).sum() + (w * b).sum()

        return weft.grad(loss, argnums=(0, 1, 2))

    nested = weft.checkpoint(lambda w, b, x: block(w, b, weft.checkpoint(block)(w, b, x)), policy=policy)
    options = {} if ranks == 1 else {"mesh": weft.Mesh((2,), ("x",)), "in_shardings": (None, None, P("x"))}
    for wrapped, plain in [(weft.checkpoint(block, policy=policy), block),
                           (nested, lambda w, b, x: block(w, b, block(w, b, x)))]:
        values = (w, x[0], x)
        for one, other in zip(evaluate(step(wrapped), *values, **options),
                              evaluate(step(plain), *values, **options), strict=True):
            np.testing.assert_array_equal(one, other)


def test_wrong_policies_and_names():
    with pytest.raises(TypeError, match="policy must be one of weft.checkpoint_policies, got 'dots'"):
        weft.checkpoint(layer, policy="dots")
    with pytest.raises(ValueError, match="a checkpoint name is text without quotes and backslashes"):
        POLICIES.save_only_these_names('a"b')
    with pytest.raises(ValueError, match="got 3"):
        weft.checkpoint_name(None, 3)
    assert POLICIES.save_only_these_names() == POLICIES.nothing_saveable
