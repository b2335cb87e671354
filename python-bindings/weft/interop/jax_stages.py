# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.stage_boundary` in a JAX function: two composites, for the way forward and the way back,
which JAX computes as what they are, the identity, and the compiler reads by name."""

from __future__ import annotations

import functools
import sys
from typing import Any


def is_jax(leaf: Any) -> bool:
    """Whether JAX computes with the value."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(leaf, jax.Array)


@functools.cache
def boundary():
    """The identity of an array, marked."""
    import jax

    forward = _batched(jax, jax.lax.composite(lambda x: x, name="weft.stage_boundary"))
    # The second operand says which boundary the cotangent comes back through.
    back = _batched(jax, jax.lax.composite(lambda cotangent, of: cotangent, name="weft.stage_boundary_back"))

    @jax.custom_vjp
    def stage_boundary(x):
        return forward(x)

    def keep(x):
        y = forward(x)
        return y, y

    stage_boundary.defvjp(keep, lambda y, cotangent: (back(cotangent, y),))
    return stage_boundary


def _batched(jax, function):
    """A function of arrays of one shape that `jax.vmap` maps to itself: composites have no rule of
    their own."""
    mapped = jax.custom_batching.custom_vmap(function)

    @mapped.def_vmap
    def rule(size, are_batched, *operands):
        operands = [x if is_batched else jax.numpy.broadcast_to(x, (size, *x.shape))
                    for x, is_batched in zip(operands, are_batched, strict=True)]
        return mapped(*operands), True

    return mapped
