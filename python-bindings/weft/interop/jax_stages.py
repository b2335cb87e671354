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

    forward = jax.lax.composite(lambda x: x, name="weft.stage_boundary")
    # The second operand says which boundary the cotangent comes back through.
    back = jax.lax.composite(lambda cotangent, of: cotangent, name="weft.stage_boundary_back")

    @jax.custom_vjp
    def stage_boundary(x):
        return forward(x)

    def keep(x):
        y = forward(x)
        return y, y

    stage_boundary.defvjp(keep, lambda y, cotangent: (back(cotangent, y),))
    return stage_boundary
