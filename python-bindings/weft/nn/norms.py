# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that scale numbers by what stands along a dimension. The norms compute in
float32 at least and return the type of x."""

import math
from typing import Any

from ..autodiff import stop_gradient
from ..numpy import elementwise as el
from ..numpy import reductions as red
from ..numpy import shapes as sh
from ..tracing import elements, ops
from ..tracing.graph import as_tracer
from ..tracing.tracer import Tracer


def _shifted(x: Any, axis: Any, where: Any) -> Tracer:
    """x minus its maximum, -infinity where it is masked out."""
    x = el.inexact(x)
    largest = stop_gradient(red.max(x, axis, True, initial=-math.inf, where=where))
    return el.subtract(el.where(where, x, -math.inf), largest)


def _along(function: str, x: Any, axis: Any) -> Tracer:
    x = el.inexact(x)
    return ops.along(f"weft.{function}", x, sh.axes_of(axis, len(x.shape), function))


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Tracer:
    """exp(x) divided by its sum along `axis`; 0 where masked out."""
    if where is None:
        return _along("softmax", x, axis)
    terms = el.exp(_shifted(x, axis, where))
    result = el.divide(terms, red.sum(terms, axis, keepdims=True, where=where))
    return el.where(where, result, 0)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Tracer:
    """The logarithm of softmax; -infinity where masked out."""
    if where is None:
        return _along("log_softmax", x, axis)
    shifted = _shifted(x, axis, where)
    total = red.sum(el.exp(shifted), axis, keepdims=True, where=where)
    return el.where(where, el.subtract(shifted, el.log(total)), -math.inf)


def standardize(x: Any, axis: Any = -1, mean: Any = None, variance: Any = None,
                epsilon: Any = 1e-5, where: Any = None) -> Tracer:
    """x with mean 0 and variance 1 along `axis`."""
    if mean is None:
        mean = red.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        squares = red.mean(el.square(x), axis, keepdims=True, where=where)
        variance = el.clip(el.subtract(squares, el.square(mean)), 0)
    return el.multiply(el.subtract(x, mean), el.rsqrt(el.add(variance, epsilon)))


def layer_norm(x: Any, scale: Any = None, bias: Any = None, axis: Any = -1,
               epsilon: float = 1e-5) -> Tracer:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    return _norm("layer_norm", x, scale, bias, axis, epsilon)


def rms_norm(x: Any, scale: Any = None, axis: Any = -1, epsilon: float = 1e-6) -> Tracer:
    """x / sqrt(mean of squares + epsilon) * scale."""
    return _norm("rms_norm", x, scale, None, axis, epsilon)


def _norm(function: str, x: Any, scale: Any, bias: Any, axis: Any, epsilon: float) -> Tracer:
    """Scale and bias with one number for each index along the axes are operands of the op;
    others are multiplied and added afterwards, before the result is rounded."""
    x = el.inexact(x)
    dims = sh.axes_of(axis, len(x.shape), function)
    affine = [None if p is None else as_tracer(p) for p in (scale, bias)]
    if all(p is None or _has_index(p, x.shape, dims) for p in affine):
        return ops.norm(f"weft.{function}", x, *affine, dims, epsilon)
    wide = ops.convert(x, elements.to_computed(x.element))
    result = ops.norm(f"weft.{function}", wide, None, None, dims, epsilon)
    if scale is not None:
        result = el.multiply(result, scale)
    if bias is not None:
        result = el.add(result, bias)
    return ops.convert(result, x.element)


def _has_index(p: Tracer, shape: tuple[int, ...], dims: tuple[int, ...]) -> bool:
    """Whether p broadcasts to the shape along its last dimensions, and these are dims."""
    first = len(shape) - len(dims)
    return p.element.kind == "f" and sorted(dims)[0] == first and p.shape == shape[first:]
