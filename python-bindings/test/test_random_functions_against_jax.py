# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions of numbers of all magnitudes, in float32, and their gradients, against the same in
float64: as near as rounding each step allows, and NaN only where it is NaN in JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes. `--functions=5000` for
many, from seed `--first-function` on.
"""

import types

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402
from random_functions import COLUMNS, INPUTS, ROWS, arguments, program, run  # noqa: E402
from running import evaluate  # noqa: E402
from test_numpy import WEFT  # noqa: E402

import weft  # noqa: E402
from weft import numpy as wnp  # noqa: E402

JAX = types.SimpleNamespace(numpy=jnp, nn=jax.nn, lax=jax.lax)


class _Package:
    """A package of JAX with other functions in the place of some."""

    def __init__(self, package, **functions):
        self._package = package
        vars(self).update(functions)

    def __getattr__(self, name):
        return getattr(self._package, name)


def _exact(function):
    """The function with a derivative that keeps its digits far from 0."""
    return lambda x: function(x, accuracy=jax.lax.AccuracyMode.HIGHEST)


def _elu(x):
    return jnp.where(x > 0, x, _exact(jax.lax.expm1)(jnp.where(x > 0, 0, x)))


def _squareplus(x):
    return jnp.maximum(x, 0) + 2 / (jnp.sqrt(x * x + 4) + jnp.abs(x))


def _soft_sign(x):
    """Far from 0 the derivative of x / (1 + |x|) cancels."""
    size, sign = 1 + jnp.abs(x), jnp.where(x < 0, -1, 1)
    return jnp.where(jnp.abs(x) < 1, x / size, sign - sign / size)


def _logaddexp(x, y):
    """That of JAX is exp(x - result), twice what it should be where log(2) is below the last place."""
    is_equal = x == y
    away = jnp.abs(jnp.where(is_equal, 0, x - y))
    return jnp.maximum(x, y) + jnp.log1p(jnp.exp(-away))


_sigmoid, _tanh = _exact(jax.lax.logistic), _exact(jax.lax.tanh)
# What cancels in JAX, and would make the numbers of float64 less exact than those they judge.
EXACT = types.SimpleNamespace(
    numpy=_Package(jnp, tanh=_tanh, expm1=_exact(jax.lax.expm1), logaddexp=_logaddexp),
    lax=_Package(jax.lax, logistic=_sigmoid),
    nn=_Package(jax.nn, sigmoid=_sigmoid, silu=lambda x: x * _sigmoid(x), elu=_elu, celu=_elu,
                selu=lambda x: 1.0507009873554805 * jnp.where(x > 0, x, 1.6732632423543772 * _elu(x)),
                mish=lambda x: x * _tanh(jax.nn.softplus(x)), squareplus=_squareplus, soft_sign=_soft_sign))
TINY, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
TOGETHER = 20  # functions in a plan


def weights():
    """How much each element counts in what is differentiated."""
    return np.cos(np.arange(COLUMNS, dtype=np.float32)) + 2


def ours(seeds):
    def differentiate(steps, values):
        def total(*v):
            result = run(WEFT, steps, v)[-1]
            return wnp.sum(result * weights()), result
        gradients, result = weft.grad(total, argnums=tuple(range(INPUTS)), has_aux=True)(*values)
        return [result, *gradients]

    def all_of_them(inputs):
        return [differentiate(program(seed), values) for seed, values in zip(seeds, inputs)]

    return evaluate(all_of_them, [arguments(seed) for seed in seeds])


def theirs(x, seed, dtype, disturb=lambda value: value, copies=()):
    """Result, gradients, and the values in between."""
    steps = program(seed)
    values = [jnp.broadcast_to(jnp.asarray(v.astype(dtype)), (*copies, *v.shape)) for v in arguments(seed)]

    def total(*v):
        between = run(x, steps, v, disturb)
        return jnp.sum(between[-1] * weights().astype(dtype)), between

    gradients, between = jax.grad(total, argnums=tuple(range(INPUTS)), has_aux=True)(*values)
    as_arrays = [np.asarray(v, dtype) for v in [between[-1], *gradients]]
    return as_arrays, [np.asarray(v) for v in between]


def disturbance(seed, copies, size=2.0**-21):
    """Moves each value by some units in the last place of float32; those of the first copy stay."""
    random = np.random.default_rng(seed)

    def disturb(value):
        noise = size * random.choice([-1.0, 1.0], value.shape)
        noise[0] = 0
        return value * (1 + noise).astype(value.dtype)
    return disturb


def in_range(values):
    """Rows in which float32 holds every value with all digits."""
    size = [np.abs(np.broadcast_to(v, (ROWS, COLUMNS)).astype(float)) for v in values]
    return np.all([((s == 0) | (s > 16 * TINY)) & (s < LARGEST / 16) for s in size], axis=(0, 2))


def fits_float32(between):
    """Rows in which no value that is finite is infinite in float32."""
    sizes = np.array([np.broadcast_to(np.abs(b[0]), (ROWS, COLUMNS)) for b in between])
    return ~(np.isfinite(sizes) & (sizes > LARGEST)).any((0, 2))


def has_angles(steps, between):
    """Rows in which no step takes the sine of a number without a digit behind the point."""
    waves = [np.broadcast_to(np.abs(b - b[0]).max(0), (ROWS, COLUMNS)).max(-1)
             for step, b in zip(steps, between) if step.name in ("sin", "cos", "tan")]
    return ~np.any([~(wave < 0.1) for wave in waves], axis=0) if waves else np.full(ROWS, True)


def mistakes(seed, found):
    """(what, row, got, wanted) for each number that is wrong, or NaN without a reason."""
    copies = 16
    with np.errstate(all="ignore"), jax.enable_x64(True):
        exact, between = theirs(EXACT, seed, np.float64, disturbance(seed, copies), (copies,))
        narrow, _ = theirs(JAX, seed, np.float32, disturbance(seed, copies), (copies,))
    fits = fits_float32(between)
    held = in_range([*arguments(seed), *(b[0] for b in between)]) & has_angles(program(seed), between)
    for number, (got, wide, others) in enumerate(zip(found, exact, narrow, strict=True)):
        what = "result" if number == 0 else f"gradient {number - 1}"
        got, other, wanted = (np.broadcast_to(v, (ROWS, COLUMNS)).astype(float) for v in (got, others[0], wide[0]))
        with np.errstate(all="ignore"):
            spread = np.broadcast_to(np.abs(wide - wide[0]).max(0), wanted.shape)
            # What rounding within the steps, and their derivatives, leaves of JAX's digits.
            noise = np.nan_to_num(np.abs(others.astype(float) - wide), nan=0, posinf=np.inf)
            rounding = np.broadcast_to(noise.max(0), wanted.shape)
            allowed = 1e-5 * np.abs(wanted) + 4 * spread + 16 * TINY
            # Where steps of a derivative leave the range, JAX is wrong as well.
            is_known = (np.abs(wanted) < LARGEST / 16) & (np.abs(other - wanted) <= allowed)
            is_off = is_known & held[:, None] & ~(np.abs(got - wanted) <= allowed + 4 * rounding)
        is_off |= is_known & fits[:, None] & np.isnan(got)
        for row, column in np.argwhere(is_off):
            yield what, int(row), got[row, column], wanted[row, column]


def test_random_functions(pytestconfig):
    first, count = pytestconfig.getoption("--first-function"), pytestconfig.getoption("--functions")
    wrong = []
    for start in range(first, first + count, TOGETHER):
        seeds = range(start, min(start + TOGETHER, first + count))
        for seed, found in zip(seeds, ours(seeds), strict=True):
            for what, row, got, wanted in mistakes(seed, found):
                inputs = [v[row].tolist() for v in arguments(seed)]
                steps = "; ".join(f"v{INPUTS + i} = {step}" for i, step in enumerate(program(seed)))
                wrong.append(f"seed {seed}: {steps}: {what} in row {row} is {got}, not {wanted}, of {inputs}")
    assert not wrong, f"{len(wrong)} numbers are wrong:\n" + "\n".join(wrong[:40])
