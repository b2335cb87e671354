# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary positions: pairs of features turned by an angle that grows with the position."""

from typing import Any

import numpy as np

from ..numpy import creation, elementwise as el, shapes as sh
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def rotary_angles(positions: Any, size: int, base: float = 10000.0) -> Tracer:
    """position * base**(-2 i / size) for i below size / 2, as a last dimension."""
    frequencies = (base ** (-np.arange(0, size, 2) / size)).astype(np.float32)
    positions = ops.convert(as_tracer(positions), elements.FLOAT32)
    return el.multiply(sh.expand_dims(positions, -1), frequencies)


def rotary_embedding(x: Any, positions: Any = None, base: float = 10000.0) -> Tracer:
    """x [..., time, heads, size] turned: feature i makes a pair with i + size / 2, as in
    Llama. `positions` [..., time] are 0, 1, ... if not given."""
    x = as_tracer(x)
    if len(x.shape) < 3 or x.shape[-1] % 2:
        raise ShapeError(f"{user_line()}: rotary_embedding takes [..., time, heads, size] with an "
                         f"even size, got shape {x.shape}")
    if positions is None:
        positions = creation.arange(x.shape[-3])
    angle = sh.expand_dims(rotary_angles(positions, x.shape[-1], base), -2)
    cos, sin = el.cos(angle), el.sin(angle)
    a, b = sh.split(ops.convert(x, elements.promote(x, angle)[0]), 2, -1)
    turned = sh.concatenate([el.subtract(el.multiply(a, cos), el.multiply(b, sin)),
                             el.add(el.multiply(a, sin), el.multiply(b, cos))], -1)
    return ops.convert(turned, x.element)
