# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Composites and their gradients on parts of tensors: the numbers of one device, and the
collectives that they are chosen for."""

import numpy as np
import pytest

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft  # noqa: E402
import weft.numpy as wnp  # noqa: E402
from running import evaluate  # noqa: E402
from weft import P, nn, random  # noqa: E402

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(4, 8, 16)).astype(np.float32)
SCALE, BIAS = (RANDOM.normal(size=16).astype(np.float32) for _ in range(2))
LABELS = RANDOM.integers(0, 16, (4, 8)).astype(np.int32)
WEIGHTS = RANDOM.normal(size=(4, 8, 16)).astype(np.float32)

OPS = {
    "softmax": lambda x, scale, bias: nn.softmax(x),
    "softmax_over_two": lambda x, scale, bias: nn.softmax(x, (0, 2)),
    "log_softmax": lambda x, scale, bias: nn.log_softmax(x),
    "layer_norm": lambda x, scale, bias: nn.layer_norm(x, scale, bias),
    "layer_norm_plain": lambda x, scale, bias: nn.layer_norm(x, axis=(1, 2)),
    "layer_norm_inner": lambda x, scale, bias: nn.layer_norm(x, scale[:8, None], axis=1),
    "rms_norm": lambda x, scale, bias: nn.rms_norm(x, scale),
    "gelu": lambda x, scale, bias: nn.gelu(x),
    "gelu_exact": lambda x, scale, bias: nn.gelu(x, approximate=False),
    "silu": lambda x, scale, bias: nn.silu(x),
    "cross_entropy": lambda x, scale, bias:
        nn.softmax_cross_entropy_with_integer_labels(x, LABELS)[..., None],
}
SPECS = {
    "batch": P("a"),
    "sequence": P(None, "a"),
    "features": P(None, None, "a"),
    "sequence_and_features": P(None, "b", "a"),
    "all": P("b", None, ("a",)),
}


def value_and_gradients(op, element):
    def loss(x, scale, bias):
        result = op(*(v.astype(element) for v in (x, scale, bias)))
        return (result.astype(wnp.float32) * WEIGHTS).sum()
    return weft.value_and_grad(loss, argnums=(0, 1, 2))


@pytest.mark.parametrize("name", OPS)
def test_parts_have_the_numbers_of_one_device(name):
    function = value_and_gradients(OPS[name], "float32")
    value, gradients = evaluate(function, X, SCALE, BIAS)
    for what, spec in SPECS.items():
        parts, of_parts = evaluate(function, X, SCALE, BIAS, mesh=weft.Mesh((2, 2), ("a", "b")),
                                   in_shardings=(spec, None, None))
        np.testing.assert_allclose(parts, value, rtol=1e-5, atol=1e-5, err_msg=what)
        for got, wanted in zip(of_parts, gradients, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5, err_msg=what)


@pytest.mark.parametrize("dtype, part", [("bfloat16", 3e-2), ("float16", 4e-3)])
@pytest.mark.parametrize("name", OPS)
def test_16_bits_are_computed_in_float32(name, dtype, part):
    """Rounded operands, one rounding of the result and one of each gradient: nothing else."""
    def rounded(x):
        return x.astype(dtype).astype("float32")

    function = value_and_gradients(OPS[name], dtype)
    exact = value_and_gradients(OPS[name], "float32")
    _, got = evaluate(function, X, SCALE, BIAS)
    inputs = evaluate(lambda x, s, b: [rounded(v) for v in (x, s, b)], X, SCALE, BIAS)
    _, wanted = evaluate(exact, *inputs)
    for one, other in zip(got, wanted, strict=True):
        # The cotangent is rounded as well, where the result was.
        np.testing.assert_allclose(one, other, rtol=part, atol=part * max(1e-3, np.abs(other).max()))


def moved(step, *arrays, mesh, **options):
    """(kind, axes, bytes of one) of each collective of a function."""
    records = weft.jit(step, mesh=mesh, **options).lower(*arrays).compile(None).collectives()
    return sorted((r.kind, tuple(r.axes), r.bytes, r.count) for r in records)


def test_activations_move_nothing():
    mesh = weft.Mesh((2, 2), ("a", "b"))
    for name in ("gelu", "silu"):
        gradient = weft.grad(lambda x: OPS[name](x, None, None).sum())
        assert moved(gradient, X, mesh=mesh, in_shardings=P("a", None, "b"),
                     out_shardings=P("a", None, "b")) == []


def test_numbers_of_a_generator_move_nothing():
    mesh = weft.Mesh((2, 2), ("a", "b"))
    key = random.key(0)
    for draw in (random.normal, random.uniform, random.bernoulli):
        shape = (0.5, (8, 16)) if draw is random.bernoulli else ((8, 16),)
        assert moved(lambda key: draw(key, *shape), key, mesh=mesh, out_shardings=P("a", "b")) == []


# ===----------------------------------------------------------------------===
# Dropout
# ===----------------------------------------------------------------------===

KEY = random.key(3)


def test_dropout_keeps_the_mean():
    x = np.ones((100, 200), np.float32)
    y = evaluate(lambda key, x: nn.dropout(key, 0.25, x), KEY, x)
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
    # Five standard errors.
    assert abs((y == 0).mean() - 0.25) < 5 * (0.25 * 0.75 / y.size)**0.5


def test_dropout_does_not_depend_on_the_sharding():
    def step(key, x):
        return nn.dropout(key, 0.5, x), weft.grad(lambda x: (nn.dropout(key, 0.5, x) * WEIGHTS).sum())(x)

    whole, gradient = evaluate(step, KEY, X)
    np.testing.assert_array_equal(gradient != 0, whole != 0)
    mesh = weft.Mesh((2, 2), ("a", "b"))
    for spec in SPECS.values():
        parts, of_parts = evaluate(step, KEY, X, mesh=mesh, in_shardings=(None, spec), out_shardings=spec)
        np.testing.assert_array_equal(parts, whole)
        np.testing.assert_array_equal(of_parts, gradient)
        assert moved(step, KEY, X, mesh=mesh, in_shardings=(None, spec), out_shardings=spec) == []


def test_dropout_of_nothing_and_rates():
    np.testing.assert_array_equal(evaluate(lambda x: nn.dropout(KEY, 0.0, x), X), X)
    assert evaluate(lambda x: nn.dropout(KEY, 0.5, x.astype("bfloat16")).astype("float32"), X).dtype == np.float32
    with pytest.raises(ValueError, match="test_composites.py:.*dropout takes a rate of at least 0 and below 1, got 1"):
        evaluate(lambda x: nn.dropout(KEY, 1.0, x), X)


# ===----------------------------------------------------------------------===
# Labels outside of the classes
# ===----------------------------------------------------------------------===

CLASSES = 16
# Of 3 and of 5 parts one is padded.
MESHES = {1: None, 2: weft.Mesh((2,), ("a",)), 3: weft.Mesh((3,), ("a",)), 4: weft.Mesh((4,), ("a",)),
          5: weft.Mesh((5,), ("a",))}
OUTSIDE = np.array([3, 16, -1, 17, -16, -17, -100, 2**31 - 1, -2**31, 15], np.int32)
ROWS = RANDOM.normal(size=(len(OUTSIDE), CLASSES)).astype(np.float32)
PLACES = np.array([3, -1, 15, -1, 0, -1, -1, -1, -1, 15])


def losses_and_gradient(labels, parts, function, rows=ROWS):
    def loss(x):
        losses = function(x, labels)
        return losses.sum(), losses
    options = {} if MESHES[parts] is None else {"mesh": MESHES[parts], "in_shardings": (P(None, "a"),)}
    (_, losses), gradient = evaluate(weft.value_and_grad(loss, has_aux=True), rows, **options)
    return losses, gradient


def expected_losses(rows, labels):
    """Of optax, in float64: NaN where there is no class, and no term of it in the gradient."""
    p = np.exp(rows.astype(float))
    p /= p.sum(-1, keepdims=True)
    at = labels[:, None] == np.arange(CLASSES)
    losses = np.where(labels < 0, np.nan, -np.log((p * at).sum(-1) + (labels < 0)))
    return losses, p - at


@pytest.mark.parametrize("parts", MESHES)
@pytest.mark.parametrize("element", ["int32", "int64"])
def test_labels_outside_of_the_classes(parts, element):
    found = losses_and_gradient(OUTSIDE.astype(element), parts, nn.softmax_cross_entropy_with_integer_labels)
    for got, wanted in zip(found, expected_losses(ROWS, PLACES), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("parts", MESHES)
@pytest.mark.parametrize("options", [{"ignore_index": -100}, {"where": OUTSIDE != -100},
                                     {"where": OUTSIDE != 3, "ignore_index": -100}])
def test_ignored_labels(parts, options):
    found = losses_and_gradient(OUTSIDE, parts, lambda x, labels: nn.softmax_cross_entropy_with_integer_labels(
        x, labels, **options))
    kept = options.get("where", OUTSIDE != -100) & (OUTSIDE != -100)
    losses, gradient = expected_losses(ROWS, PLACES)
    for got, wanted in zip(found, (np.where(kept, losses, 0), kept[:, None] * gradient), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_mask_of_labels_of_another_shape():
    with pytest.raises(ValueError, match="where must have the shape of the labels, .10,., got"):
        evaluate(lambda x, y: nn.softmax_cross_entropy_with_integer_labels(x, y, where=x > 0), ROWS, OUTSIDE)


# ===----------------------------------------------------------------------===
# Errors
# ===----------------------------------------------------------------------===


def test_labels_that_do_not_fit():
    for labels in (LABELS[0], LABELS.astype(np.float32)):
        with pytest.raises(ValueError, match="labels must be integers of shape .4, 8., that of the logits without axis -1"):
            evaluate(lambda x, y: nn.softmax_cross_entropy_with_integer_labels(x, y), X, labels)
