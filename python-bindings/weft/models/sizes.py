# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Sizes`: how large a transformer is."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any

import numpy as np


ATTENTION = ("fused", "unfused")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large a transformer is, and in which type it computes.

    layers      blocks of attention and a perceptron
    hidden      features of the residual stream
    heads       of queries; `kv_heads` of keys and values, as many if they are not given
    ffn         features inside a perceptron; by default 4 times `hidden`
    vocabulary  tokens that there are
    sequence    positions of a sequence
    dtype       of activations and products; parameters and the state of the optimizer are float32
    attention   "fused", which works by tiles, or "unfused", with all scores in memory, as software
                before FlashAttention has it
    theta       the base of rotary positions
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    kv_heads: int | None = None
    ffn: int | None = None
    dtype: Any = "bfloat16"
    attention: str = "fused"
    theta: float = 10000.0

    def __post_init__(self):
        object.__setattr__(self, "kv_heads", self.heads if self.kv_heads is None else self.kv_heads)
        object.__setattr__(self, "ffn", 4 * self.hidden if self.ffn is None else self.ffn)

    def problems(self) -> list[str]:
        """What is impossible."""
        counts = [f.name for f in dataclasses.fields(self) if f.name not in ("dtype", "attention", "theta")]
        wrong = [f"{name} must be at least 1, got {getattr(self, name)!r}"
                 for name in counts if not is_count(getattr(self, name))]
        if self.attention not in ATTENTION:
            wrong.append(f"attention must be one of {', '.join(ATTENTION)}, got {self.attention!r}")
        if not isinstance(self.theta, numbers.Real) or not 0 < self.theta < math.inf:
            wrong.append(f"theta must be a positive number, got {self.theta!r}")
        if wrong:
            return wrong
        if self.hidden % self.heads:
            wrong.append(f"heads must divide hidden, but {self.hidden} is no multiple of {self.heads}")
        if self.heads % self.kv_heads:
            wrong.append(f"kv_heads must divide heads, but {self.heads} is no multiple of {self.kv_heads}")
        return wrong

    @property
    def head_size(self) -> int:
        return self.hidden // self.heads


def is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1
