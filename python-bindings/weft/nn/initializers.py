# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first values of parameters, by the names and with the numbers of jax.nn.initializers:
functions of a key, a shape and a dtype."""

import math
from typing import Any, Callable, Sequence

from .. import random
from ..eager import eager
from ..numpy import creation, elementwise as el
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer

Initializer = Callable[..., Tracer]


@eager
def zeros(key: Any, shape: Any, dtype: Any = float) -> Tracer:
    """Zeros, whatever the key."""
    return creation.zeros(shape, dtype)


@eager
def ones(key: Any, shape: Any, dtype: Any = float) -> Tracer:
    """Ones, whatever the key."""
    return creation.ones(shape, dtype)


def constant(value: Any, dtype: Any = float) -> Initializer:
    """A number, whatever the key."""
    return eager(lambda key, shape, dtype=dtype: creation.full(shape, value, dtype))


def uniform(scale: Any = 1e-2, dtype: Any = float) -> Initializer:
    """Uniform in [0, scale)."""
    return eager(lambda key, shape, dtype=dtype: _times(random.uniform(key, shape, dtype), scale))


def normal(stddev: Any = 1e-2, dtype: Any = float) -> Initializer:
    """Normal with mean 0."""
    return eager(lambda key, shape, dtype=dtype: _times(random.normal(key, shape, dtype), stddev))


def truncated_normal(stddev: Any = 1e-2, dtype: Any = float, lower: float = -2.0, upper: float = 2.0) -> Initializer:
    """Normal, limited to (lower, upper), before it is multiplied by `stddev`."""
    return eager(lambda key, shape, dtype=dtype: _times(random.truncated_normal(key, lower, upper, shape, dtype), stddev))


def _times(x: Tracer, scale: Any) -> Tracer:
    return el.multiply(x, _as(scale, x))


def _as(number: Any, x: Tracer) -> Tracer:
    return creation.asarray(number, x.dtype)


# What a number is multiplied by to have the variance 1.
_DISTRIBUTIONS = {
    # The deviation of the standard normal distribution limited to (-2, 2).
    "truncated_normal": (lambda key, shape, dtype: random.truncated_normal(key, -2, 2, shape, dtype),
                         lambda variance: el.divide(el.sqrt(variance), _as(0.87962566103423978, variance))),
    "normal": (random.normal, el.sqrt),
    "uniform": (lambda key, shape, dtype: random.uniform(key, shape, dtype, -1),
                lambda variance: el.sqrt(el.multiply(3, variance))),
}


def variance_scaling(scale: float, mode: str, distribution: str, in_axis: int | Sequence[int] = -2,
                     out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
                     dtype: Any = float) -> Initializer:
    """Numbers of the variance scale / n; n, by `mode`, is how many elements go into one of the
    result ("fan_in"), how many come from one of the operand ("fan_out"), or a mean of both."""
    if distribution not in _DISTRIBUTIONS or mode not in _MODES:
        raise ValueError(f"{user_line()}: variance_scaling takes a mode of {', '.join(_MODES)} and a distribution of "
                         f"{', '.join(_DISTRIBUTIONS)}, got {mode!r} and {distribution!r}")
    draw, deviation = _DISTRIBUTIONS[distribution]

    @eager
    def init(key: Any, shape: Any, dtype: Any = dtype) -> Tracer:
        fans = _fans(tuple(shape), in_axis, out_axis, batch_axis)
        variance = creation.asarray(scale / _MODES[mode](*fans), dtype)
        return el.multiply(draw(key, shape, dtype), deviation(variance))

    return init


_MODES = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: (fan_in * fan_out) ** 0.5,
}


def _fans(shape: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any) -> tuple[float, float]:
    """How many elements an element of the result is made of, and how many it goes into."""
    if len(shape) < 2 and in_axis == -2:
        raise ValueError(f"{user_line()}: an initializer by the numbers of inputs and outputs takes a shape of at "
                         f"least 2 dimensions, or in_axis, got shape {shape}")

    def size(axes: int | Sequence[int]) -> int:
        return math.prod(shape[axis] for axis in ((axes,) if isinstance(axes, int) else axes))

    fan_in, fan_out = size(in_axis), size(out_axis)
    receptive_field = math.prod(shape) / fan_in / fan_out / size(batch_axis)
    return fan_in * receptive_field, fan_out * receptive_field


def _family(scale: float, mode: str, distribution: str, text: str) -> Callable[..., Initializer]:
    def make(in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1,
             batch_axis: int | Sequence[int] = (), dtype: Any = float) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__doc__ = text
    return make


glorot_uniform = xavier_uniform = _family(1.0, "fan_avg", "uniform", "Uniform (Glorot and Bengio).")
glorot_normal = xavier_normal = _family(1.0, "fan_avg", "truncated_normal", "Normal (Glorot and Bengio).")
lecun_uniform = _family(1.0, "fan_in", "uniform", "Uniform (LeCun et al.).")
lecun_normal = _family(1.0, "fan_in", "truncated_normal", "Normal (LeCun et al.).")
he_uniform = kaiming_uniform = _family(2.0, "fan_in", "uniform", "Uniform, for relu (He et al.).")
he_normal = kaiming_normal = _family(2.0, "fan_in", "truncated_normal", "Normal, for relu (He et al.).")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"weft.nn.initializers has no {name}; docs/Python.md lists the functions that are supported")
