# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.lax.approx_max_k` and `approx_min_k` by `top_k`: what JAX computes for CPUs is exact as well."""

import functools


def rules(jax, equations) -> tuple:
    """Their lowering, if all are of as many elements as were asked for."""
    from jax.interpreters import mlir

    found = [each for each in equations if each.primitive.name == "approx_top_k"]
    if not found or not all(each.params["aggregate_to_topk"] for each in found):
        return ()
    return ((found[0].primitive, mlir.lower_fun(functools.partial(_nearest, jax), multiple_results=True)),)


def _nearest(jax, x, *, k, reduction_dimension, is_max_k, **_):
    jnp = jax.numpy
    rows = jnp.moveaxis(x, reduction_dimension, -1)
    values, indices = jax.lax.top_k(rows if is_max_k else -rows, k)
    values = values if is_max_k else -values
    return [jnp.moveaxis(each, -1, reduction_dimension) for each in (values, indices)]
