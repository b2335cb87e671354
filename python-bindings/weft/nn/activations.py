# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions."""

from typing import Any

from ..autodiff import stop_gradient
from ..numpy import elementwise as el
from ..numpy import shapes as sh
from ..tracing import ops
from ..tracing.graph import as_tracer
from ..tracing.tracer import Tracer


def identity(x: Any) -> Tracer:
    return as_tracer(x)


def relu(x: Any) -> Tracer:
    """max(x, 0), whose derivative at 0 and at NaN is 0."""
    x = as_tracer(x)
    return el.where(el.greater(x, 0), x, el.maximum(stop_gradient(x), 0))


def relu6(x: Any) -> Tracer:
    """x limited to 0 and 6, where the derivative is 0."""
    x = as_tracer(x)
    return el.where(el.greater_equal(x, 6), 6, relu(x))


def sigmoid(x: Any) -> Tracer:
    """1 / (1 + exp(-x))."""
    return el.logistic(x)


def silu(x: Any) -> Tracer:
    """x * sigmoid(x)."""
    return ops.unary("weft.silu", el.inexact(x))


swish = silu


def softplus(x: Any) -> Tracer:
    """log(1 + exp(x))."""
    return el.logaddexp(x, 0.0)


def log_sigmoid(x: Any) -> Tracer:
    return el.negative(softplus(el.negative(el.inexact(x))))


def soft_sign(x: Any) -> Tracer:
    """x / (1 + |x|), far from 0 as 1 - 1 / (1 + |x|): the derivative of neither cancels."""
    x = el.inexact(x)
    size = el.abs(x)
    share = el.divide(1, el.add(size, 1))
    far = el.where(el.less(x, 0), el.subtract(share, 1), el.subtract(1, share))
    return el.where(el.less(size, 1), el.multiply(x, share), far)


def squareplus(x: Any, b: Any = 4) -> Tracer:
    """(x + sqrt(x * x + b)) / 2, as max(x, 0) + b / 2 / (sqrt(x * x + b) + |x|), in which
    nothing cancels; squares are of numbers that are divided by one of about their size."""
    x = el.inexact(x)
    size = el.abs(x)
    unit = stop_gradient(el.clip(size, 1, el.largest(x) ** 0.75))
    root = el.multiply(unit, el.sqrt(el.add(el.square(el.divide(x, unit)),
                                            el.divide(el.divide(b, unit), unit))))
    half = el.add(el.divide(root, 2), el.divide(size, 2))
    rest = el.divide(el.divide(b, 4), el.where(el.equal(half, 0), 1, half))
    return el.add(el.where(el.less(x, 0), ops.zeros_like(x), x), rest)


def mish(x: Any) -> Tracer:
    x = el.inexact(x)
    return el.multiply(x, el.tanh(softplus(x)))


def _where_positive(x: Tracer, positive: Tracer, other: Any) -> Tracer:
    return el.where(el.greater(x, 0), positive, other)


def _below(x: Tracer) -> Tracer:
    """x where it is not positive, and 0 elsewhere, so that exp does not overflow."""
    return _where_positive(x, ops.zeros_like(x), x)


def elu(x: Any, alpha: Any = 1.0) -> Tracer:
    x = el.inexact(x)
    return _where_positive(x, x, el.multiply(alpha, el.expm1(_below(x))))


def celu(x: Any, alpha: Any = 1.0) -> Tracer:
    x = el.inexact(x)
    return _where_positive(x, x, el.multiply(alpha, el.expm1(el.divide(_below(x), alpha))))


def selu(x: Any) -> Tracer:
    return el.multiply(1.0507009873554804934193349852946, elu(x, 1.6732632423543772848170429916717))


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Tracer:
    x = el.inexact(x)
    return el.where(el.greater_equal(x, 0), x, el.multiply(negative_slope, x))


def hard_tanh(x: Any) -> Tracer:
    x = as_tracer(x)
    return el.where(el.greater(x, 1), 1, el.where(el.less(x, -1), -1, x))


def hard_sigmoid(x: Any) -> Tracer:
    return el.divide(relu6(el.add(x, 3.0)), 6.0)


def hard_silu(x: Any) -> Tracer:
    x = el.inexact(x)
    return el.multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


def gelu(x: Any, approximate: bool = True) -> Tracer:
    """x times the normal distribution's integral up to x: by tanh, or exact by erf."""
    return ops.unary("weft.gelu approximate" if approximate else "weft.gelu", el.inexact(x))


def glu(x: Any, axis: int = -1) -> Tracer:
    """One half times the sigmoid of the other."""
    first, second = sh.split(x, 2, axis)
    return el.multiply(first, sigmoid(second))
