# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function that combines the elements of a row, with its derivatives, over rows of all magnitudes
and in every type, against float64: within the errors that docs/Numerics.md lists, and NaN only where it
is in JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes. As a program, it writes the
table of docs/Numerics.md.
"""

import functools
import re
import sys
import types

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402
from reduction_cases import COLUMNS, REDUCTIONS, TheirNn, rows  # noqa: E402
from test_elementwise_against_jax import END, PAGE, TYPES, rounded_up  # noqa: E402
from test_numpy import WEFT  # noqa: E402

import weft  # noqa: E402

OURS = types.SimpleNamespace(**vars(WEFT), grad=weft.grad)
THEIRS = types.SimpleNamespace(numpy=jnp, nn=TheirNn, grad=jax.grad)
COPIES = 6
BEGIN = "<!-- table: reductions -->\n"


def weights(dtype):
    """How much each element of a row counts in what is differentiated, and in the gradient: all differ."""
    return (np.cos(np.arange(COLUMNS) + [[0], [1]]) + 1.25).astype(dtype)


def derivatives(x, function, values, weights):
    """The value, the gradient of its weighted sum, and that of the gradient's."""
    def f(v):
        result = function.call(x, v)
        return x.numpy.sum(result * weights[0, :result.shape[-1]])

    slope = x.grad(f)
    bend = x.grad(lambda v: x.numpy.sum(slope(v) * weights[1]))
    return function.call(x, values), slope(values), bend(values)


def program(x, values, weights):
    return {f.name: derivatives(x, f, values, weights) for f in REDUCTIONS}


# Compiled once in float64, for all types. The bounds are of what XLA's optimized code computes.
by_jax = jax.jit(functools.partial(program, THEIRS), compiler_options={"xla_backend_optimization_level": 3})


@functools.cache
def results(kind):
    """Ours and JAX's in the type, and the true ones of numbers that are half a unit in the last place
    off; those of the first copy are not."""
    dtype = TYPES[kind]
    values = rows(dtype)
    arguments = values, weights(dtype)
    specs = [weft.ShapeDtypeStruct(v.shape, v.dtype) for v in arguments]  # arrays of f64 would become f32
    ours = weft.jit(functools.partial(program, OURS)).lower(*specs).compile()(*arguments)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        noise = np.random.default_rng(0).choice([-1.0, 1.0], (COPIES, *values.shape))
        noise[0] = 0
        wide = values.astype(float) * (1 + noise * float(jnp.finfo(dtype).eps) / 2)
        true = [jax.tree.map(np.asarray, by_jax(copy, weights(dtype).astype(float))) for copy in wide]
        theirs = jax.tree.map(lambda v: np.asarray(v).astype(float), by_jax(*arguments))
    return values, ours, theirs, true


def largest_of(row_values):
    """Of each row, as a column: NaNs count as nothing."""
    return np.nan_to_num(np.abs(row_values), nan=0, posinf=0).max(-1, keepdims=True)


def in_range(function, kind, values):
    """Rows, as a column, of which every order of steps keeps within the range of the type; in f64, of
    which JAX, that flushes denormals to 0, does so."""
    size = np.abs(np.where(values == 0, 1, values))
    digits = np.abs(np.log2(size))
    limit = float(jnp.finfo(TYPES[kind]).maxexp)
    most = digits.sum(-1) if "prod" in function.name else digits.max(-1)
    return (most < (limit - 4 if kind != "f64" else limit / 4))[:, None]


def measure(function, kind):
    """The largest errors of the value and two derivatives, in last places of the largest element of
    the row or in what half a last place of the numbers changes; and NaNs that are not JAX's."""
    values, ours, theirs, true = results(kind)
    limits = jnp.finfo(TYPES[kind])
    eps, tiny, largest = (float(v) for v in (limits.eps, limits.tiny, limits.max))
    found = []
    for order in range(3):
        got, their = (v[function.name][order].astype(float) for v in (ours, theirs))
        copies = np.array([t[function.name][order].astype(float) for t in true])
        exact = copies[0]
        with np.errstate(all="ignore"):
            spread = np.nan_to_num(np.abs(copies - exact), nan=0, posinf=0).max(0)
            unit = eps * np.maximum(largest_of(exact), tiny) + largest_of(spread)
            # Where steps leave the range of the type, JAX is wrong as well.
            is_held = (np.abs(their - exact) <= unit / np.sqrt(eps)).all(-1, keepdims=True)
            if kind == "f64":  # A small one is a difference, of which JAX has few digits.
                is_held &= largest_of(exact) > (1e-10 if order > 0 else 0)
            known = np.isfinite(exact) & (largest_of(exact) < largest / 64) & is_held & in_range(
                function, kind, values.astype(float))
            off = np.where(known, np.nan_to_num(np.abs(got - exact), nan=0, posinf=np.inf) / unit, 0)
        # Sums and products that overflow are infinite or NaN by their order.
        is_special = ~np.isfinite(values.astype(float)).all(-1, keepdims=True)
        fits = in_range(function, kind, values.astype(float)) | (is_special & (order == 0))
        fits &= (order == 0) | (largest_of(exact) < largest / 64)
        unexplained = np.isnan(got) & ~np.isnan(their) & ~np.isnan(exact) & fits
        if order == 0:
            has_nan = np.isnan(values.astype(float)).any(-1, keepdims=True)
            unexplained |= has_nan & np.isnan(their) & ~np.isnan(got)
        worst = np.unravel_index(np.argmax(off), off.shape)
        found.append((float(off.max()), [values[row].tolist() for row in np.flatnonzero(unexplained.any(-1))],
                      f"{values[worst[0]]}: {got[worst]}, not {exact[worst]}"))
    return found


def table():
    lines = ["| function | " + " | ".join(TYPES) + " |\n", "| --- |" + " --- |" * len(TYPES) + "\n"]
    for function in REDUCTIONS:
        cells = (" / ".join(f"{rounded_up(error):g}" for error, *_ in measure(function, kind)) for kind in TYPES)
        lines.append(f"| `{function.name}` | " + " | ".join(cells) + " |\n")
    return "".join(lines)


@functools.cache
def documented():
    text = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    return {name: [[float(e) for e in cell.split(" / ")] for cell in cells.split(" | ")]
            for name, cells in re.findall(r"^\| `(.*?)` \| (.*) \|$", text, re.M)}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.name)
def test_errors_are_as_documented(function, kind):
    bounds = documented()[function.name][list(TYPES).index(kind)]
    for order, ((error, unexplained, worst), bound) in enumerate(zip(measure(function, kind), bounds)):
        assert unexplained == [], f"NaN of order {order}"
        assert error <= bound, f"order {order} of {worst}"


def update():
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    update() if "--update" in sys.argv else print(table(), end="")
