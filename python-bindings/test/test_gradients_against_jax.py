# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of functions of weft.numpy against those of JAX of the same functions.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import dataclasses
import types

import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import numpy as np  # noqa: E402
from running import evaluate  # noqa: E402

import weft  # noqa: E402
import weft.lax  # noqa: E402
import weft.nn  # noqa: E402
import weft.numpy  # noqa: E402

WEFT = types.SimpleNamespace(np=weft.numpy, nn=weft.nn, lax=weft.lax)
JAX = types.SimpleNamespace(np=jax.numpy, nn=jax.nn, lax=jax.lax)


@dataclasses.dataclass
class Case:
    """A scalar function of arrays, written once for both packages."""
    loss: callable
    shapes: tuple
    # Numbers that meet each other and 0, so that where there is no derivative
    # is met as well.
    coarse: bool = False

    def arguments(self):
        random = np.random.default_rng(0)
        draws = [random.normal(size=shape).astype(np.float32) for shape in self.shapes]
        return [np.round(draw) for draw in draws] if self.coarse else draws


def mlp(lib, x, w1, b1, w2, b2):
    y = lib.np.tanh(x @ w1 + b1) @ w2 + b2
    return lib.np.mean(y * y)


def attention(lib, x, wq, wk, wv, wo):
    q, k, v = (lib.np.einsum("bsm,mhd->bshd", x, w) for w in (wq, wk, wv))
    scores = lib.np.einsum("bqhd,bkhd->bhqk", q, k) * 3 ** -0.5
    seen = lib.np.tril(lib.np.ones((x.shape[1], x.shape[1]), bool))
    p = lib.nn.softmax(lib.np.where(seen, scores, -1e30))
    y = x + lib.np.einsum("bhqk,bkhd,hdm->bqm", p, v, wo)
    return lib.np.sum(y * y)


def layer_norm(lib, x, scale, bias):
    mean = lib.np.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = lib.np.mean(centred * centred, axis=-1, keepdims=True)
    y = centred * lib.lax.rsqrt(variance + 1e-5) * scale + bias
    return lib.np.sum(lib.np.tanh(y))


CASES = {
    "mlp": Case(mlp, ((8, 5), (5, 6), (6,), (6, 3), (3,))),
    "attention": Case(attention, ((2, 5, 6), (6, 2, 3), (6, 2, 3), (6, 2, 3), (2, 3, 6))),
    "layer_norm": Case(layer_norm, ((4, 6), (6,), (6,))),
    "logsumexp": Case(lambda lib, x: lib.np.sum(lib.nn.logsumexp(x, axis=0)), ((5, 3),)),
    "maximum": Case(lambda lib, x, y: lib.np.sum(lib.np.maximum(x, y) * y), ((6, 6), (6, 6)), True),
    "minimum": Case(lambda lib, x, y: lib.np.sum(lib.np.minimum(x, y) * x), ((6, 6), (6, 6)), True),
    "max": Case(lambda lib, x: lib.np.sum(lib.np.max(x, axis=1) ** 2), ((6, 6),), True),
    "min": Case(lambda lib, x: lib.np.sum(lib.np.min(x, axis=(0, 2)) ** 2), ((3, 4, 3),), True),
    "abs": Case(lambda lib, x: lib.np.sum(lib.np.abs(x) * (x + 2)), ((6, 6),), True),
    "relu": Case(lambda lib, x: lib.np.sum(lib.nn.relu(x) * (x + 2)), ((6, 6),), True),
    "where": Case(lambda lib, x, y: lib.np.sum(lib.np.where(x > y, x * y, y)), ((6, 6), (6, 6)),
                  True),
    "sign": Case(lambda lib, x: lib.np.sum((lib.np.sign(x) + lib.lax.sign(x)) * (x + 2) ** 2),
                 ((6, 6),), True),
    "clip": Case(lambda lib, x: lib.np.sum(lib.np.clip(x, -1, 1) * (x + 2)), ((6, 6),), True),
    "clamp": Case(lambda lib, x, low: lib.np.sum(lib.lax.clamp(low, x, low + 1.0) * (x + 2)),
                  ((6, 6), (6, 6)), True),
    "remainder": Case(lambda lib, x: lib.np.sum(
        lib.np.remainder(x, 0.7) * x + lib.lax.rem(x, lib.np.full_like(x, -0.7))), ((6, 6),)),
    "remainder of inf": Case(lambda lib, x: lib.np.sum(
        lib.lax.rem(x, lib.np.full_like(x, float("inf"))) * x), ((6, 6),)),
    "floor_divide": Case(lambda lib, x: lib.np.sum(lib.np.floor_divide(x, 0.7) * x), ((6, 6),)),
    "divide": Case(lambda lib, x, y: lib.np.sum(x / (lib.np.exp(y) + 1)), ((4, 3), (4, 3))),
    "silu": Case(lambda lib, x: lib.np.sum(lib.nn.silu(x) * x), ((6, 6),)),
    "gelu": Case(lambda lib, x: lib.np.sum(lib.nn.gelu(3 * x) * x), ((6, 6),)),
    "gelu exact": Case(lambda lib, x: lib.np.sum(lib.nn.gelu(3 * x, approximate=False) * x), ((6, 6),)),
    "softmax": Case(lambda lib, x, y: lib.np.sum(lib.nn.softmax(x, (0, 2)) * y), ((3, 4, 5),) * 2),
    "log_softmax": Case(lambda lib, x, y: lib.np.sum(lib.nn.log_softmax(x, 0) * y), ((5, 3),) * 2),
    "stop_gradient": Case(lambda lib, x: lib.np.sum(lib.lax.stop_gradient(x * x) * x), ((5,),)),
    "broadcasting": Case(lambda lib, x, y: lib.np.sum((x + y) * y), ((3, 1, 4), (2, 1))),
    "concatenate": Case(lambda lib, x, y: lib.np.sum(lib.np.concatenate([x, y, x]) ** 2),
                        ((2, 3), (1, 3))),
    "transposes": Case(lambda lib, x: lib.np.sum(lib.np.tanh(
        x.transpose(2, 0, 1).reshape(4, 6)) @ lib.np.ones((6, 2))), ((2, 3, 4),)),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_jax(name):
    case = CASES[name]
    arguments = case.arguments()
    every = tuple(range(len(arguments)))

    def ours(*args):
        return weft.value_and_grad(lambda *a: case.loss(WEFT, *a), argnums=every)(*args)

    value, gradients = evaluate(ours, *arguments)
    # As conftest.py sets XLA, its tanh has too few digits for the derivative of gelu.
    by_jax = jax.jit(jax.value_and_grad(lambda *a: case.loss(JAX, *a), argnums=every),
                     compiler_options={"xla_backend_optimization_level": 3})
    expected, derivatives = by_jax(*arguments)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for i, (gradient, derivative) in enumerate(zip(gradients, derivatives, strict=True)):
        np.testing.assert_allclose(gradient, derivative, rtol=1e-4, atol=1e-5,
                                   err_msg=f"argument {i}")


def test_second_derivatives_equal_jax():
    def slope(lib, grad):
        return lambda x: lib.np.sum(lib.np.tanh(grad(
            lambda y: lib.np.sum(lib.np.exp(y) * y * lib.np.tanh(y)))(x)))

    x = np.linspace(-1, 1, 7, dtype=np.float32)
    found = evaluate(lambda x: weft.grad(slope(WEFT, weft.grad))(x), x)
    expected = jax.grad(slope(JAX, jax.grad))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_imported_clamps_with_bounds_in_the_wrong_order():
    x, low, high = np.linspace(-3, 3, 13, dtype=np.float32), np.float32(1), np.float32(-1)
    program = weft.from_jax(jax.lax.clamp, low, x, high).compile()
    np.testing.assert_array_equal(program(low, x, high), jax.lax.clamp(low, x, high))


@pytest.mark.parametrize("function", ["gelu", "silu", "softmax", "log_softmax"])
def test_second_derivatives_of_composites_equal_jax(function):
    def slope(lib, grad):
        f = getattr(lib.nn, function)
        return lambda x: lib.np.sum(lib.np.tanh(grad(lambda y: lib.np.sum(f(y) * y))(x)))

    x = np.linspace(-1, 1, 7, dtype=np.float32)
    found = evaluate(lambda x: weft.grad(slope(WEFT, weft.grad))(x), x)
    expected = jax.grad(slope(JAX, jax.grad))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
