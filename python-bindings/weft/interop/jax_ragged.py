# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.lax.ragged_dot` as an op. For CPUs JAX writes a matmul over all groups, in which the rows
of others are zeros; the compiler has matmuls of groups of rows."""

import numpy as np


def rules(equations) -> tuple:
    """The lowering of these matmuls, if the compiler has all that there are."""
    found = [each for each in equations if each.primitive.name == "ragged_dot_general"]
    if not found or not all(map(_is_known, found)):
        return ()
    return ((found[0].primitive, _lower),)


def _is_known(equation) -> bool:
    """Groups of the rows of a matrix of floats, each with a matrix, or the sums over them."""
    numbers = equation.params["ragged_dot_dimension_numbers"]
    (lhs, rhs), batch = numbers.dot_dimension_numbers
    if equation.params.get("group_offset") is not None or any(map(len, batch)):
        return False
    if len(equation.invars) != 3 or tuple(numbers.lhs_ragged_dimensions) != (0,):
        return False
    types = [each.aval.dtype for each in (*equation.invars[:2], *equation.outvars)]
    if not all(each == types[0] and each.name in ("float32", "float64", "bfloat16", "float16") for each in types):
        return False
    known = (((1,), (1,), (0,)), ((1,), (2,), (0,)), ((0,), (0,), ()))
    return (tuple(lhs), tuple(rhs), tuple(numbers.rhs_group_dimensions)) in known


def _lower(ctx, lhs, rhs, sizes, *, ragged_dot_dimension_numbers, **_):
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import chlo

    numbers, (result,) = ragged_dot_dimension_numbers, ctx.avals_out
    (lhs_contracting, rhs_contracting), _ = numbers.dot_dimension_numbers
    dims = chlo.RaggedDotDimensionNumbers.get(
        lhs_batching_dimensions=[], rhs_batching_dimensions=[],
        lhs_contracting_dimensions=list(lhs_contracting), rhs_contracting_dimensions=list(rhs_contracting),
        lhs_ragged_dimensions=list(numbers.lhs_ragged_dimensions),
        rhs_group_dimensions=list(numbers.rhs_group_dimensions))
    made = ir.RankedTensorType.get(result.shape, mlir.dtype_to_ir_type(np.dtype(result.dtype)))
    return [chlo.ragged_dot(made, lhs, rhs, sizes, dims)]
