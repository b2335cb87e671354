# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of weft.numpy, weft.nn, weft.lax and weft.random against those of JAX:
types, shapes and numbers.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import itertools
import operator
import types

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402

import cases  # noqa: E402
import weft  # noqa: E402
from running import evaluate  # noqa: E402
from test_numpy import WEFT, check, evaluate_all  # noqa: E402
from weft import tree  # noqa: E402
from weft import numpy as wnp  # noqa: E402
from weft.tracing import trace  # noqa: E402

JAX = types.SimpleNamespace(numpy=jnp, nn=jax.nn, lax=jax.lax)
ALL = cases.NUMPY + cases.JAX_ONLY


def identifier(case):
    """Names are unique within a list of cases only."""
    return f"{'numpy' if case in cases.NUMPY else 'jax'}-{case.name}"


@pytest.fixture(scope="module")
def expected():
    """The results of all cases, from one program."""
    def program(args):
        return {identifier(c): c.call(JAX, *args[identifier(c)]) for c in ALL}

    return jax.jit(program)({identifier(c): c.args for c in ALL})


@pytest.fixture(scope="module")
def results():
    return {id(cases_): evaluate_all(cases_) for cases_ in (cases.NUMPY, cases.JAX_ONLY)}


@pytest.mark.parametrize("case", ALL, ids=identifier)
def test_numbers(case, expected, results):
    got = results[id(cases.NUMPY if case in cases.NUMPY else cases.JAX_ONLY)][case.name]
    check(got, expected[identifier(case)], case.tolerance)


@pytest.mark.parametrize("case", ALL, ids=identifier)
def test_types(case, expected):
    program = trace(lambda *args: tree.map(wnp.asarray, case.call(WEFT, *args)), case.args)
    got = [(spec.shape, spec.dtype.name) for _, spec in program.outputs]
    assert got == [(leaf.shape, leaf.dtype.name) for leaf in tree.leaves(expected[identifier(case)])]


# ===----------------------------------------------------------------------===
# Gradients
# ===----------------------------------------------------------------------===

def weighted_sum(package, result):
    """A scalar that depends on every float of a result, on each in another way."""
    total = 0.0
    for leaf in tree.leaves(result):
        leaf = package.asarray(leaf)
        if leaf.dtype == np.float32:
            weights = np.cos(np.arange(leaf.size, dtype=np.float32)).reshape(leaf.shape)
            total = total + package.sum(leaf * weights)
    return total


def differentiable(case):
    """Whether it takes finite floats. Where an index is outside, ours is the derivative of the
    element that is taken, the nearest one; JAX drops it."""
    return not case.name.endswith("outside") and any(a.dtype == np.float32 and np.isfinite(a).all() for a in map(np.asarray, case.args))


SMOOTH = [case for case in ALL if differentiable(case)]


def gradient(grad, x, case, args):
    """The gradients of the weighted sum of a case by its floats."""
    floats = tuple(i for i, a in enumerate(case.args) if np.asarray(a).dtype == np.float32)
    return grad(lambda *a: weighted_sum(x.numpy, case.call(x, *a)), argnums=floats)(*args)


@pytest.fixture(scope="module")
def gradients():
    def program(grad, x):
        return lambda args: {identifier(c): gradient(grad, x, c, args[identifier(c)]) for c in SMOOTH}

    args = {identifier(c): c.args for c in SMOOTH}
    return evaluate(program(weft.grad, WEFT), args), jax.jit(program(jax.grad, JAX))(args)


@pytest.mark.parametrize("case", SMOOTH, ids=identifier)
def test_gradients(case, gradients):
    got, wanted = (result[identifier(case)] for result in gradients)
    check(got, wanted, 10 * case.tolerance)


# ===----------------------------------------------------------------------===
# Promotion
# ===----------------------------------------------------------------------===

DTYPES = ["bool", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64"]
OPERANDS = [*DTYPES, "True", "3", "2.5", "weak int32", "weak float32"]
BINARY = [operator.add, operator.mul, operator.truediv, operator.pow, operator.lt, "where", "maximum"]
UNARY = ["exp", "abs", "sum", "mean", "max", "cumsum", "var", "floor", "argmax", "square", "prod",
         "zeros_like"]


def operand(text, package):
    """A tensor of a dtype, a weakly typed one or a Python number."""
    if text in ("True", "3", "2.5"):
        return eval(text)
    if text.startswith("weak"):
        return package.zeros(3, bool) + (1 if "int" in text else 1.0)
    return package.ones(3, text)


def apply(op, package, *args):
    if op == "where":
        return package.where(True, *args)
    return getattr(package, op)(*args) if isinstance(op, str) else op(*args)


def outcome(op, package, *texts):
    """The type of a result and whether it is weak, or that there is none."""
    try:
        value = apply(op, package, *(operand(text, package) for text in texts))
    except TypeError:
        return "TypeError", False
    if not hasattr(value, "dtype"):
        return type(value), True
    name = value.dtype.name
    return name, value.weak_type and name != "bool"  # of a bool it means nothing


def ours(calls):
    table = {}
    trace(lambda: table.update({call: outcome(call[0], wnp, *call[1:]) for call in calls}) or 0, ())
    return table


def theirs(calls):
    """What JAX says where all types are allowed. Its default types are 64 bits wide then, and
    ours 32: a width that no operand has comes from a default, and so does that of an index."""
    def of_call(op, *texts):
        kind = outcome(op, jnp, *texts)
        for wide, narrow in (("int64", "int32"), ("float64", "float32")):
            if kind[0] == wide and (wide not in texts or op == "argmax"):
                return narrow, kind[1]
        return kind

    with jax.enable_x64(True):
        table = {}
        jax.eval_shape(lambda: table.update({call: of_call(*call) for call in calls}))
    return table


def test_promotion_of_pairs():
    calls = [(op, x, y) for op in BINARY for x, y in itertools.product(OPERANDS, repeat=2)]
    got, wanted = ours(calls), theirs(calls)
    assert {key: (got[key], wanted[key]) for key in got if got[key] != wanted[key]} == {}
    assert len(got) == len(BINARY) * len(OPERANDS) ** 2


def test_types_of_functions():
    calls = [(op, x) for op in UNARY for x in OPERANDS if x not in ("True", "3", "2.5")]
    got, wanted = ours(calls), theirs(calls)
    assert {key: (got[key], wanted[key]) for key in got if got[key] != wanted[key]} == {}


# ===----------------------------------------------------------------------===
# Random numbers
# ===----------------------------------------------------------------------===


def random_cases(random, numpy, key):
    """The same calls of weft.random and jax.random."""
    logits = numpy.asarray(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    k = random.split(key, 12)
    return {
        "uniform": random.uniform(k[0], (3, 5)),
        "uniform range": random.uniform(k[0], (64,), minval=-3.0, maxval=0.1),
        "uniform scalar": random.uniform(k[1]),
        "normal": random.normal(k[2], (7, 9, 2)),
        "normal bfloat16": random.normal(k[2], (64,), "bfloat16").astype(np.float32),
        "uniform bfloat16": random.uniform(k[3], (64,), "bfloat16").astype(np.float32),
        "normal float16": random.normal(k[10], (64,), "float16").astype(np.float32),
        "uniform float16": random.uniform(k[11], (64,), "float16", -3.0, 0.5).astype(np.float32),
        "truncated_normal": random.truncated_normal(k[3], -2.0, 2.0, (40,)),
        "bernoulli": random.bernoulli(k[4], 0.3, (50,)),
        "bernoulli tensor": random.bernoulli(k[4], numpy.asarray(np.linspace(0, 1, 20, dtype=np.float32))),
        "randint": random.randint(k[5], (50,), -7, 1000),
        "randint large": random.randint(k[5], (50,), -(2**30), 2**30),
        "gumbel": random.gumbel(k[6], (30,)),
        "exponential": random.exponential(k[7], (30,)),
        "categorical": random.categorical(k[8], logits),
        "categorical shape": random.categorical(k[8], logits, axis=0, shape=(5, 4)),
        "nested split": random.normal(random.split(random.fold_in(k[9], 7), (2, 3))[1, 2], (3,)),
        "fold_in": random.uniform(random.fold_in(key, 123456789), (4,)),
    }


@pytest.fixture(scope="module")
def random_results():
    with jax.threefry_partitionable(True):
        wanted = random_cases(jax.random, jnp, jax.random.key(42))
    got = evaluate(lambda key: random_cases(weft.random, wnp, key), weft.random.key(42))
    return got, wanted


@pytest.mark.parametrize("name", list(
    "uniform|uniform range|uniform scalar|normal|normal bfloat16|uniform bfloat16|normal float16|uniform float16|"
    "truncated_normal|bernoulli|"
    "bernoulli tensor|randint|randint large|gumbel|exponential|categorical|categorical shape|nested split|"
    "fold_in".split("|")))
def test_random(random_results, name):
    got, wanted = (result[name] for result in random_results)
    # XLA on a CPU does not round the product before it adds to it in float16.
    check(got, wanted, 1e-3 if "uniform float16" in name else 2e-6)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**31, 2**32 - 1])
def test_key(seed):
    data = jax.random.key_data(jax.random.key(seed))
    assert np.array_equal(weft.random.key(seed), np.asarray(data).view(np.int32))
