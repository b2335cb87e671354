# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dropout, named as in Haiku."""

from typing import Any

from .. import random
from ..numpy import elementwise as el
from ..tracing import ops
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def dropout(key: Any, rate: float, x: Any) -> Tracer:
    """x divided by 1 - rate, with each element replaced by 0 with probability `rate`, a
    Python number. Which ones depends on the key and their places in the whole tensor, and
    not on how it is split. The derivative keeps one boolean an element."""
    x = el.inexact(x)
    if not 0 <= rate < 1:
        raise ValueError(f"{user_line()}: dropout takes a rate of at least 0 and below 1, got {rate}")
    if rate == 0:
        return x
    kept = random.bernoulli(key, 1.0 - rate, x.shape)
    return el.where(kept, el.divide(x, 1.0 - rate), ops.zeros_like(x))
