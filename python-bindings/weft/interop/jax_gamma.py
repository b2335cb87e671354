# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Incomplete gamma functions, of a known number of terms. JAX adds terms until one changes nothing more, in
loops that nothing but values ends; a program has no such loops. These add as many terms as parameters up to
1000 need, or 500 in double precision, and are NaN where that is not enough."""

import functools

TERMS = 192
FRACTIONS = 100


def rules(jax, equations) -> tuple:
    """The lowering of igamma and igammac, where they are used."""
    from jax.interpreters import mlir

    functions = {"igamma": _lower, "igammac": _upper}
    primitives = {each.primitive.name: each.primitive for each in equations if each.primitive.name in functions}
    return tuple((primitive, mlir.lower_fun(functools.partial(_in_wide_type, jax, functions[name]), multiple_results=False))
                 for name, primitive in primitives.items())


def _in_wide_type(jax, function, a, x):
    kind = a.dtype
    wide = jax.numpy.promote_types(kind, "float32")
    return function(jax, *jax.numpy.broadcast_arrays(a.astype(wide), x.astype(wide))).astype(kind)


def _lower(jax, a, x):
    jnp = jax.numpy
    is_upper = (x >= 1) & (x > a)
    is_known, scale = _scale(jax, a, x)
    is_open = ~is_known & (x != 0) & ~jnp.isposinf(x)
    y = jnp.where(is_upper, 1 - _fraction(jax, scale, a, x, is_open & is_upper), _series(jax, scale, a, x, is_open & ~is_upper))
    y = jnp.where(x == 0, 0, jnp.where(jnp.isposinf(x), 1, y))
    return jnp.where(_is_outside(jnp, a, x), jnp.nan, y)


def _upper(jax, a, x):
    jnp = jax.numpy
    is_lower = (x < 1) | (x < a)
    is_known, scale = _scale(jax, a, x)
    is_open = ~is_known & (a != 0) & ~jnp.isposinf(x)
    y = jnp.where(is_lower, 1 - _series(jax, scale, a, x, is_open & is_lower), _fraction(jax, scale, a, x, is_open & ~is_lower))
    y = jnp.where(jnp.isposinf(x) | (a == 0), 0, y)
    return jnp.where(_is_outside(jnp, a, x), jnp.nan, y)


def _is_outside(jnp, a, x):
    return (x < 0) | (a < 0) | ((a == 0) & (x == 0)) | jnp.isnan(a) | jnp.isnan(x)


def _scale(jax, a, x):
    """x^a e^-x / Gamma(a), and where that is nothing, or of no use."""
    jnp = jax.numpy
    log = a * jnp.log(x) - x - jax.lax.lgamma(a)
    is_small = log < -jnp.log(jnp.finfo(a.dtype).max)
    return is_small | _is_outside(jnp, a, x), jnp.exp(log)


def _terms(jax, count, is_open, step, *values):
    """What the values of elements are that are open, as long as they are; NaN if they stay so."""
    jnp = jax.numpy

    def body(_, state):
        is_open, values = state
        goes_on, new = step(*values)
        return is_open & goes_on, tuple(jnp.where(is_open, each, old) for each, old in zip(new, values))

    is_open, values = jax.lax.fori_loop(0, count, body, (is_open, values))
    return jnp.where(is_open, jnp.nan, values[0])


def _series(jax, scale, a, x, is_open):
    """Of the lower function: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..."""
    epsilon = jax.numpy.finfo(a.dtype).eps

    def step(total, term, at):
        at = at + 1
        term = term * (x / at)
        total = total + term
        return term / total > epsilon, (total, term, at)

    one = jax.numpy.ones_like(a)
    return _terms(jax, TERMS, is_open, step, one, one, a) * scale / a


def _fraction(jax, scale, a, x, is_open):
    """Of the upper function: the continued fraction whose numerators and denominators follow from the two
    before, scaled down before they are too large."""
    jnp = jax.numpy
    epsilon = jnp.finfo(a.dtype).eps

    def step(y, p1, q1, p2, q2, at, partial, count):
        count, at, partial = count + 1, at + 1, partial + 2
        factor = at * count
        p, q = p1 * partial - p2 * factor, q1 * partial - q2 * factor
        ratio = p / q
        change = jnp.where(q != 0, jnp.abs((y - ratio) / ratio), 1)
        y = jnp.where(q != 0, ratio, y)
        smaller = jnp.where(jnp.abs(p) > 1 / epsilon, epsilon, 1).astype(a.dtype)
        return change > epsilon, (y, p * smaller, q * smaller, p1 * smaller, q1 * smaller, at, partial, count)

    one, at = jnp.ones_like(a), 1 - a
    partial = x + at + 1
    p1, q1 = x + 1, partial * x
    return _terms(jax, FRACTIONS, is_open, step, p1 / q1, p1, q1, one, x, at, partial, jnp.zeros_like(a)) * scale
