# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.stage_boundary`: where a model is cut into the stages of a pipeline."""

from __future__ import annotations

from typing import Any

from . import tree as trees
from .interop.jax_stages import boundary, is_jax
from .tracing import ops
from .tracing.graph import as_tracer
from .tracing.tracer import Tracer


def stage_boundary(x: Any) -> Any:
    """x, a tensor or a tree of them, as it goes from one pipeline stage to the next.

    What is computed from the result belongs to later stages than what x is computed from; the
    number of boundaries on the way of a value is the number of its stage. The way back is cut
    where the way forward is. No result changes. A boundary stands between layers, not in a
    function that `weft.checkpoint` calls.

    In a JAX function it marks what `weft.from_jax` imports, through `jax.grad`, `jax.jit` and
    `jax.checkpoint`; JAX itself computes the same as without.
    """

    def cut(leaf: Any) -> Any:
        if is_jax(leaf):
            return boundary()(leaf)
        value = as_tracer(leaf)
        return value if value.splat is not None else ops.unary("weft.stage_boundary", value)

    return trees.map(cut, x)
