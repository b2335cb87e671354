# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.stage_boundary` in a JAX function: primitives that JAX computes as what they are, the
identity, and lowers as composites, which the compiler reads by name.

One marks values and, in forward mode, tangents; its transpose marks cotangents and has as a second
operand the value whose boundary they come back through. So derivatives of all orders and modes
are there, and the boundary is in each of them.
"""

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
    from jax.interpreters import ad

    forward = _identity("weft.stage_boundary", 1)
    # Linear in the first operand, which for the compiler is a value that goes forward as any other.
    tangent = _identity("weft.stage_boundary", 2, lowered=1)
    back = _identity("weft.stage_boundary_back", 2)

    def derive_forward(primals, tangents):
        y, dx = forward.bind(*primals), tangents[0]
        return y, dx if _is_zero(dx) else tangent.bind(dx, y)

    ad.primitive_jvps[forward] = derive_forward
    for one, other in ((tangent, back), (back, tangent)):
        ad.primitive_jvps[one] = functools.partial(_derive_linear, one)
        ad.primitive_transposes[one] = functools.partial(_transpose, other)
    return forward.bind


def _is_zero(tangent):
    from jax.interpreters import ad

    return isinstance(tangent, ad.Zero)


def _derive_linear(primitive, primals, tangents):
    return primitive.bind(*primals), tangents[0] if _is_zero(tangents[0]) else primitive.bind(tangents[0], primals[1])


def _transpose(other, cotangent, x, of):
    return [cotangent if _is_zero(cotangent) else other.bind(cotangent, of), None]


def _identity(name, operands, lowered=None):
    """A primitive that returns the first of its operands, which are of one shape, and that is
    lowered to a composite of as many of them as is said."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import batching, mlir

    def first(x, *_):
        return x

    composite = jax.lax.composite(first, name=name)
    primitive = Primitive(name if lowered is None else f"{name}_tangent")
    primitive.def_impl(first)
    primitive.def_abstract_eval(first)
    mlir.register_lowering(primitive, mlir.lower_fun(
        lambda *x: composite(*x[:lowered or operands]), multiple_results=False))

    def batch(values, dims):
        size = next(x.shape[dim] for x, dim in zip(values, dims, strict=True) if dim is not None)
        moved = [jax.numpy.broadcast_to(x, (size, *x.shape)) if dim is None else jax.numpy.moveaxis(x, dim, 0)
                 for x, dim in zip(values, dims, strict=True)]
        return primitive.bind(*moved), 0

    batching.primitive_batchers[primitive] = batch
    return primitive
