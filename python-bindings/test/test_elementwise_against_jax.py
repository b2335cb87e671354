# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every elementwise function with its derivatives over numbers of all magnitudes, in every type:
within the errors that docs/Numerics.md lists, and NaN only where it is in JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes. As a program, it writes
the table of docs/Numerics.md.
"""

import functools
import pathlib
import re
import sys
import types

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402
from elementwise_cases import BINARY, LONG, UNARY  # noqa: E402
from running import evaluate  # noqa: E402
from test_numpy import WEFT  # noqa: E402

import weft  # noqa: E402
from weft.tracing import ops  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "Numerics.md"
THEIR_NAMES = {"cbrt": jnp.cbrt, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan,
               "asinh": jnp.arcsinh, "acosh": jnp.arccosh, "atanh": jnp.arctanh,
               "erfc": jax.lax.erfc, "atan2": jnp.arctan2}


def _op(name, *values):
    return (ops.unary if len(values) == 1 else ops.binary)(f"math.{name}", *values)


OURS = types.SimpleNamespace(**vars(WEFT), op=_op, grad=weft.grad)
THEIRS = types.SimpleNamespace(numpy=jnp, nn=jax.nn, lax=jax.lax, grad=jax.grad,
                               op=lambda name, *values: THEIR_NAMES[name](*values))
TYPES = {"f32": np.dtype("float32"), "f64": np.dtype("float64"), "bf16": jnp.dtype("bfloat16"),
         "f16": np.dtype("float16")}


def derivatives(x, function, *values):
    """The value and the first and second derivative, or those by the first and the second number."""
    def f(*v):
        return x.numpy.sum(function.call(x, *v))

    if len(values) == 2:
        return function.call(x, *values), *x.grad(f, argnums=(0, 1))(*values)
    slope = x.grad(f)
    bend = x.grad(lambda v: x.numpy.sum(slope(v)))
    return function.call(x, *values), slope(*values), bend(*values)


# ===----------------------------------------------------------------------===
# Numbers
# ===----------------------------------------------------------------------===

KINKS = [0, 1, 3, 6, 0.5, 1.5, 2.5]


@functools.cache
def numbers(kind, dense):
    """Numbers of every magnitude, of both signs, and those at which functions have their kinks."""
    limits = jnp.finfo(TYPES[kind])
    random = np.random.default_rng(0)
    low, high = int(np.log2(float(limits.smallest_subnormal))), int(limits.maxexp) - 1
    powers = np.linspace(low, high, 120 if dense else 24).round()
    around = random.uniform(-4, 7.5, 120 if dense else 12)
    sizes = [*2.0**powers * random.uniform(1, 2, len(powers)), *2.0**around, *KINKS,
             1 + float(limits.eps), 1 - float(limits.epsneg), float(limits.max), float(limits.tiny),
             float(limits.smallest_subnormal), np.inf, np.nan]
    return np.array([s * size for size in sizes for s in (1, -1)]).astype(TYPES[kind])


def arguments(kind, functions):
    if functions is UNARY:
        return (numbers(kind, True),)
    few = numbers(kind, False)
    return tuple(m.ravel() for m in np.meshgrid(few, few))


@functools.cache
def results(kind, are_unary):
    functions = UNARY if are_unary else BINARY
    values = arguments(kind, functions)

    def program(x, *values):
        return {f.name: derivatives(x, f, *values) for f in functions}

    with jax.enable_x64(True):
        theirs = jax.jit(functools.partial(program, THEIRS))(*values)
        theirs = jax.tree.map(lambda r: np.asarray(r).astype(float), theirs)
    specs = [weft.ShapeDtypeStruct(v.shape, v.dtype) for v in values]  # arrays of f64 would become f32
    ours = weft.jit(functools.partial(program, OURS)).lower(*specs).compile()(*values)
    return {name: (found, theirs[name]) for name, found in ours.items()}


# ===----------------------------------------------------------------------===
# Errors
# ===----------------------------------------------------------------------===


def errors(got, truth, scale, kind):
    """The distances of results from the truth, in units in the last place of it, or of the scale, and
    never of a denormal number."""
    limits = jnp.finfo(TYPES[kind])
    got, largest = got.astype(LONG), LONG(float(limits.max))
    size = np.clip(np.maximum(np.abs(truth), scale), LONG(float(limits.tiny)), largest)
    unit = 2.0 ** np.floor(np.log2(size)) * LONG(float(limits.eps))
    # The limits of the type count as its infinities.
    outer = largest + unit / 2
    # A derivative that is smaller than the largest number by a small factor may be infinite before
    # it is multiplied by that.
    is_near = np.isinf(got) & (got * truth > 0) & (np.abs(truth) > largest / 64)
    got, truth = (np.clip(np.where(np.isnan(v), 0, v), -outer, outer) for v in (got, truth))
    return np.where(is_near, 0, np.abs(got - truth) / unit)


def measure(function, kind):
    """The largest errors of a value and two derivatives; where there are NaNs that are not JAX's."""
    are_unary = function in UNARY
    values = [v.astype(LONG) for v in arguments(kind, UNARY if are_unary else BINARY)]
    found, theirs = results(kind, are_unary)[function.name]
    with np.errstate(all="ignore"):
        truths = [np.broadcast_to(t, values[0].shape).astype(LONG) for t in function.truth(*values)]
        limits = jnp.finfo(TYPES[kind])
        scales = function.scale(limits, *values)
        undefined = np.isnan(truths[0])
        overflows = np.abs(truths[0]) > float(limits.max)
        if not are_unary:  # The reciprocal of a denormal number is infinite.
            overflows |= np.any([(v != 0) & (np.abs(v) < float(limits.tiny)) for v in values], axis=0)
        largest, wrong = [], []
        for order, (got, truth, their) in enumerate(zip(found, truths, theirs)):
            is_nan = np.isnan(got.astype(float))
            unexplained = is_nan & ~(np.isnan(their) | undefined | (overflows & (order > 0)) | np.isinf(
                scales[order]))
            finite = np.all([np.isfinite(v) for v in values], axis=0)
            if order == 0:
                unexplained |= undefined & finite & ~is_nan
            elif are_unary:  # Conventions at NaN.
                unexplained |= np.isnan(values[0]) & ~np.isnan(their) & (got.astype(float) != their)
            known = ~(is_nan | np.isnan(truth) | undefined | (overflows & (order > 0)) | np.isinf(scales[order]))
            off = np.where(known, errors(got, truth, scales[order], kind), 0)
            largest.append(float(off.max()))
            worst = np.argmax(off)
            wrong.append((order, [[str(v[i]) for v in values] for i in np.flatnonzero(unexplained)],
                          [float(v[worst]) for v in values], float(got[worst]), float(truth[worst])))
    return largest, wrong


# ===----------------------------------------------------------------------===
# The table
# ===----------------------------------------------------------------------===

BEGIN, END = "<!-- table: elementwise -->\n", "<!-- end of table -->\n"


def rounded_up(error):
    steps = [0, 0.51, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024]
    return next((s for s in steps if error <= s), float(f"{error * 1.1:.1e}"))


def table():
    rows = ["| function | " + " | ".join(TYPES) + " |\n", "| --- |" + " --- |" * len(TYPES) + "\n"]
    for function in UNARY + BINARY:
        cells = (" / ".join(f"{rounded_up(e):g}" for e in measure(function, kind)[0]) for kind in TYPES)
        rows.append(f"| `{function.name}` | " + " | ".join(cells) + " |\n")
    return "".join(rows)


@functools.cache
def documented():
    text = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    rows = re.findall(r"^\| `(.*?)` \| (.*) \|$", text, re.M)
    return {name: [[float(e) for e in cell.split(" / ")] for cell in cells.split(" | ")]
            for name, cells in rows}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("function", UNARY + BINARY, ids=lambda f: f.name)
def test_errors_are_as_documented(function, kind):
    largest, wrong = measure(function, kind)
    bounds = documented()[function.name][list(TYPES).index(kind)]
    for (order, unexplained, worst, got, truth), error, bound in zip(wrong, largest, bounds):
        assert unexplained == [], f"NaN of order {order}"
        assert error <= bound, f"order {order} at {worst}: {got}, not {truth}"


def test_log_cosh_learns_near_zero():
    """d log(cosh(x)) / dx is tanh(x)."""
    x = np.concatenate([s * 10.0 ** np.linspace(-37, 1.9, 100) for s in (1, -1)]).astype(np.float32)
    slope = weft.grad(lambda v: WEFT.numpy.log(WEFT.numpy.cosh(v)).sum())
    np.testing.assert_allclose(evaluate(slope, x), np.tanh(x.astype(float)), rtol=1e-6)


def test_derivative_of_an_overflowing_quotient_that_does_not_count():
    """The quotient is infinite, where its cotangent is 0 the derivative is as well."""
    x, y = np.float32([3e30, 1, 5]), np.float32([-7e-9, 1e-45, 2])
    kept = weft.grad(lambda y: WEFT.numpy.where(y > 1, x / y, 0).sum())
    np.testing.assert_array_equal(evaluate(kept, y), np.float32([0, 0, -1.25]))


def test_infinite_cotangent_of_logaddexp():
    """It goes to the larger number: log(logaddexp(x, y)) has an infinite slope at 0."""
    x, y = np.float32([0, -1e29, 26]), np.float32([-1e29, 0, 3e38])
    slopes = weft.grad(lambda x, y: WEFT.numpy.log(WEFT.numpy.logaddexp(x, y)).sum(), argnums=(0, 1))
    got, = evaluate(lambda x, y: [slopes(x, y)], x, y)
    np.testing.assert_array_equal(np.isinf(got[0]), [True, False, False])
    np.testing.assert_array_equal(np.isinf(got[1]), [False, True, False])
    assert not np.isnan(got).any()


def update():
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    update() if "--update" in sys.argv else print(table(), end="")
