# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples by rejection, of a known number of trials. JAX draws until a sample is accepted, in a loop that
nothing but values ends; a program has no such loop. All trials are computed here, from the keys that JAX would
use for them, and the first one that is accepted is the sample of JAX."""

import functools
import math

# A trial is accepted with a probability of 0.95 at least, so one of 2^52 samples needs more. Within a
# trial, numbers are drawn until one is in range, as at least 0.992 of them are.
TRIALS = 12
DRAWS = 8


def rules(jax, equations) -> tuple:
    """The lowering of gamma samples, of which others (beta, dirichlet, chisquare, t) are made."""
    from jax.interpreters import mlir

    found = [each for each in equations if each.primitive.name == "random_gamma"]
    # Keys of other kinds draw other bits in a batch than one by one.
    if not found or any(str(each.invars[0].aval.dtype) != "key<fry>" for each in found):
        return ()
    return ((found[0].primitive, mlir.lower_fun(functools.partial(_gammas, jax), multiple_results=False)),)


def _gammas(jax, key, shape, *, log_space):
    """A sample for each shape parameter, those of one key from keys that it is split into."""
    count = math.prod(shape.shape[key.ndim:])
    keys = jax.vmap(lambda each: jax.random.split(each, count))(key.flatten()).flatten()
    sample = functools.partial(_gamma, jax, log_space=log_space)
    return jax.vmap(sample)(keys, shape.flatten()).reshape(shape.shape)


def _gamma(jax, key, shape, *, log_space):
    """G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000); NaN where
    no trial is accepted. Below 1 from a sample for a parameter that is larger by 1."""
    jnp, random, kind = jax.numpy, jax.random, shape.dtype
    is_large = shape >= 1
    d = jnp.where(is_large, shape, shape + 1) - jnp.asarray(1 / 3, kind)
    c = jnp.asarray(1 / 3, kind) / jnp.sqrt(d)
    key, last = random.split(key)
    trials = []
    for _ in range(TRIALS):
        key, of_normal, of_uniform = random.split(key, 3)
        trials.append((of_normal, of_uniform))
    of_normal, of_uniform = (jnp.stack(keys) for keys in zip(*trials))
    x, v = jnp.zeros(TRIALS, kind), jnp.full(TRIALS, -1, kind)
    for _ in range(DRAWS):
        pairs = jax.vmap(random.split)(of_normal)
        of_normal, now = pairs[:, 0], pairs[:, 1]
        drawn, is_open = jax.vmap(lambda each: random.normal(each, (), kind))(now), v <= 0
        x, v = jnp.where(is_open, drawn, x), jnp.where(is_open, 1 + drawn * c, v)
    square, cube = x * x, jnp.where(v <= 0, jnp.nan, v * v * v)
    u = jax.vmap(lambda each: random.uniform(each, (), kind))(of_uniform)
    is_rejected = (u >= 1 - jnp.asarray(0.0331, kind) * (square * square)) & (
        jnp.log(u) >= square * jnp.asarray(0.5, kind) + d * (1 - cube + jnp.log(cube)))
    accepted = jnp.where(is_rejected.all(), jnp.nan, cube[jnp.argmin(is_rejected)])
    if log_space:
        logs = -random.exponential(last, (), kind)
        return jnp.log(d) + jnp.log(accepted) + jnp.where(is_large | (logs == 0), 0, logs * (1 / shape))
    less = 1 - random.uniform(last, (), kind)
    return d * accepted * jnp.where(is_large, 1, jnp.power(less, 1 / shape))
