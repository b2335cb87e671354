# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorisations of small matrices as programs of other ops. JAX calls LAPACK for them on CPUs;
a graph has no op of that kind, so a step for each column is written out, as LAPACK's unblocked routines do it."""

import functools

# A step for each column: larger ones would take minutes to compile.
MOST_COLUMNS = 128


def rules(jax, equations) -> tuple:
    """The lowering of the factorisations that are written out."""
    from jax.interpreters import mlir

    found = {}
    for equation in equations:
        function = _FUNCTIONS.get(equation.primitive.name)
        if function:
            known = _is_known(equation) and found.get(equation.primitive, (True,))[0]
            found[equation.primitive] = known, function
    return tuple((primitive, mlir.lower_fun(functools.partial(function, jax.numpy), multiple_results=primitive.multiple_results))
                 for primitive, (known, function) in found.items() if known)


def _is_known(equation) -> bool:
    matrix = equation.invars[0].aval
    return matrix.dtype.kind == "f" and min(matrix.shape[-2:]) <= MOST_COLUMNS and not equation.params.get("pivoting")


def _outer(x, y):
    return x[..., :, None] * y[..., None, :]


def _cholesky(jnp, a, **_):
    """All numbers are NaN where a matrix is not positive definite."""
    columns, size = [], a.shape[-1]
    for j in range(size):
        columns.append(jnp.where(jnp.arange(size) >= j, a[..., j] / jnp.sqrt(a[..., j, j])[..., None], 0))
        a = a - _outer(columns[-1], columns[-1])
    result = jnp.stack(columns, -1)
    is_definite = (jnp.diagonal(result, axis1=-2, axis2=-1) > 0).all(-1)
    return jnp.where(is_definite[..., None, None], result, jnp.nan)


def _triangular_solve(jnp, a, b, *, left_side, lower, transpose_a, unit_diagonal, **_):
    # With b on the right the transposed system.
    if transpose_a == left_side:
        a, lower = a.mT, not lower
    b = b if left_side else b.mT
    size, rows = a.shape[-1], {}
    order = range(size) if lower else reversed(range(size))
    for j in order:
        rows[j] = b[..., j, :] if unit_diagonal else b[..., j, :] / a[..., j, j][..., None]
        is_left = jnp.arange(size) > j if lower else jnp.arange(size) < j
        b = b - _outer(jnp.where(is_left, a[..., j], 0), rows[j])
    result = jnp.stack([rows[j] for j in range(size)], -2)
    return result if left_side else result.mT


def _lu(jnp, a, **_):
    """With the largest element of each column as its pivot."""
    m, n = a.shape[-2:]
    rows, columns, pivots = jnp.arange(m), jnp.arange(n), []
    order = jnp.broadcast_to(rows, a.shape[:-1])
    for j in range(min(m, n)):
        at = j + jnp.argmax(jnp.abs(a[..., j:, j]), -1, keepdims=True)
        pivots.append(at[..., 0])
        swapped = jnp.where(rows == j, at, jnp.where(rows == at, j, rows))
        order = jnp.take_along_axis(order, swapped, -1)
        a = jnp.take_along_axis(a, swapped[..., None], -2)
        pivot = a[..., j, j][..., None]
        factors = jnp.where(rows > j, a[..., j] / jnp.where(pivot == 0, 1, pivot), 0)
        a = jnp.where((rows[:, None] > j) & (columns == j), factors[..., None], a - _outer(factors, jnp.where(columns > j, a[..., j, :], 0)))
    return a, jnp.stack(pivots, -1).astype("int32"), order.astype("int32")


def _qr(jnp, a, *, full_matrices, **_):
    """By reflections, with the signs of LAPACK."""
    m, n = a.shape[-2:]
    rows = jnp.arange(m)
    q = jnp.broadcast_to(jnp.eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))
    for j in range(min(m - 1, n)):
        column = jnp.where(rows >= j, a[..., j], 0)
        first = column[..., j:j + 1]
        below = jnp.sum(jnp.where(rows > j, column * column, 0), -1, keepdims=True)
        beta = jnp.where(first < 0, 1, -1) * jnp.sqrt(first * first + below)
        is_done = below == 0
        beta = jnp.where(is_done, 1, beta)
        scale = jnp.where(is_done, 0, (beta - first) / beta)
        vector = jnp.where(rows == j, 1, column / jnp.where(is_done, 1, first - beta))
        a = a - _outer(scale * vector, jnp.einsum("...i,...ij->...j", vector, a))
        q = q - _outer(jnp.einsum("...ij,...j->...i", q, vector), scale * vector)
    size = m if full_matrices else min(m, n)
    return q[..., :size], jnp.triu(a)[..., :size, :]


_FUNCTIONS = {"cholesky": _cholesky, "triangular_solve": _triangular_solve, "lu": _lu, "qr": _qr}
