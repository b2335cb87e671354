# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that scale numbers by what stands along a dimension. The norms compute in
float32 at least and return the type of x."""

import math
from typing import Any

from ..autodiff import stop_gradient
from ..numpy import elementwise as el
from ..numpy import reductions as red
from ..tracing import elements, ops
from ..tracing.graph import as_tracer
from ..tracing.tracer import Tracer


def _shifted(x: Any, axis: Any, where: Any) -> Tracer:
    """x minus its maximum, -infinity where it is masked out."""
    x = el.inexact(x)
    largest = stop_gradient(red.max(x, axis, True, initial=None if where is None else -math.inf,
                                    where=where))
    kept = x if where is None else el.where(where, x, -math.inf)
    return el.subtract(kept, largest)


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Tracer:
    """exp(x) divided by its sum along `axis`; 0 where masked out."""
    terms = el.exp(_shifted(x, axis, where))
    result = el.divide(terms, red.sum(terms, axis, keepdims=True, where=where))
    return result if where is None else el.where(where, result, 0)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Tracer:
    """The logarithm of softmax; -infinity where masked out."""
    shifted = _shifted(x, axis, where)
    total = red.sum(el.exp(shifted), axis, keepdims=True, where=where)
    result = el.subtract(shifted, el.log(total))
    return result if where is None else el.where(where, result, -math.inf)


def standardize(x: Any, axis: Any = -1, mean: Any = None, variance: Any = None,
                epsilon: Any = 1e-5, where: Any = None) -> Tracer:
    """x with mean 0 and variance 1 along `axis`."""
    if mean is None:
        mean = red.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        squares = red.mean(el.square(x), axis, keepdims=True, where=where)
        variance = el.clip(el.subtract(squares, el.square(mean)), 0)
    return el.multiply(el.subtract(x, mean), el.rsqrt(el.add(variance, epsilon)))


def _wide(x: Any) -> Tracer:
    x = el.inexact(x)
    return ops.convert(x, elements.FLOAT32) if x.element is elements.BFLOAT16 else x


def layer_norm(x: Any, scale: Any = None, bias: Any = None, axis: Any = -1,
               epsilon: float = 1e-5) -> Tracer:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    element, x = el.inexact(x).element, _wide(x)
    centered = el.subtract(x, red.mean(x, axis, keepdims=True))
    variance = red.mean(el.square(centered), axis, keepdims=True)
    return _scaled(el.multiply(centered, el.rsqrt(el.add(variance, epsilon))), scale, bias, element)


def rms_norm(x: Any, scale: Any = None, axis: Any = -1, epsilon: float = 1e-6) -> Tracer:
    """x / sqrt(mean of squares + epsilon) * scale."""
    element, x = el.inexact(x).element, _wide(x)
    squares = red.mean(el.square(x), axis, keepdims=True)
    return _scaled(el.multiply(x, el.rsqrt(el.add(squares, epsilon))), scale, None, element)


def _scaled(y: Tracer, scale: Any, bias: Any, element: elements.ElementType) -> Tracer:
    if scale is not None:
        y = el.multiply(y, as_tracer(scale))
    if bias is not None:
        y = el.add(y, as_tracer(bias))
    return ops.convert(y, element)
