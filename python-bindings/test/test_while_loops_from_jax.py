# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose condition is computed, and bounded by a counter, against `jax.jit`.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402


def newton(a):
    """The square root, all elements at once: as many iterations as the slowest needs."""
    def body(state):
        i, x, _ = state
        y = 0.5 * (x + a / x)
        return i + 1, y, jnp.max(jnp.abs(y - x))

    return lax.while_loop(lambda s: (s[0] < 12) & (s[2] > 1e-3), body, (0, a, jnp.inf))


def newton_of_each(a):
    return jax.vmap(newton)(a)


def bisections(a):
    """Two batches, one in the other."""
    def root(c):
        def body(state):
            i, low, high = state
            middle = (low + high) / 2
            is_left = middle**3 + middle < c
            return i + 1, jnp.where(is_left, middle, low), jnp.where(is_left, high, middle)

        return lax.while_loop(lambda s: (s[0] < 9) & (s[2] - s[1] > 0.02 * jnp.abs(c)), body, (0, -2.0, 2.0))

    return jax.vmap(jax.vmap(root))(jnp.stack([a, a * a], 1))


def flag(a):
    """The loop ends by a flag of its own."""
    def body(state):
        i, x, _ = state
        x = x * 0.5
        return i + 1, x, (i + 1 >= 6) | (jnp.sum(x) < 1)

    return lax.while_loop(lambda s: ~s[2], body, (0, a, False))


def shrinking_step(a):
    """A constant that is no counter bounds it."""
    def body(state):
        t, x = state
        return t * 0.5, x - t

    return lax.while_loop(lambda s: (s[0] > 0.01) & (jnp.sum(s[1]) > 8), body, (1.0, a))


def history(a):
    def body(state):
        i, x, norms = state
        x = jnp.tanh(x)
        return i + 1, x, norms.at[i].set(jnp.sum(x))

    return lax.while_loop(lambda s: (s[0] < 8) & (jnp.sum(s[1]) > 3), body, (0, a, jnp.full(8, -1.0)))


def nested(a):
    def outer(state):
        i, x = state
        _, x = lax.while_loop(lambda s: (s[0] < 3) & (jnp.max(s[1]) > 0.5), lambda s: (s[0] + 1, s[1] * 0.8), (0, x))
        return i + 1, x + 0.1

    return lax.while_loop(lambda s: (s[0] < 4) & (jnp.min(s[1]) < 1.0), outer, (0, a))


def in_scan(a):
    def body(c, row):
        n, x = lax.while_loop(lambda s: (s[0] < 5) & (s[1] < 2.0), lambda s: (s[0] + 1, s[1] * 1.5), (0, jnp.abs(c + row) + 0.1))
        return 0.1 * x, n

    return lax.scan(body, 0.0, a)


def conjugate_gradients(a):
    matrix = jnp.eye(8) * 2 + jnp.outer(a, a) / 8

    def loss(b):
        return jnp.sum(jax.scipy.sparse.linalg.cg(lambda v: matrix @ v, b, maxiter=6, tol=1e-3)[0] * b)

    return jax.value_and_grad(loss)(a)


def stabilised_gradients(a):
    """A counter that says by negative numbers that the loop has broken down."""
    matrix = jnp.eye(8) * 2 + jnp.outer(a, jnp.roll(a, 1)) / 8
    solve = jax.scipy.sparse.linalg.bicgstab
    return solve(lambda v: matrix @ v, a, maxiter=3)[0], solve(lambda v: 0 * v, a, maxiter=3)[0]


def failure(a):
    def body(state):
        k, x = state
        return jnp.where(jnp.max(x) > 3, -7, jnp.where(jnp.min(x) < 0.2, -9, k + 2)), x * 1.2

    return lax.while_loop(lambda s: (s[0] >= 0) & (s[0] < 9) & (jnp.sum(s[1]) < 40), body, (0, a))


def computed_bounds(a):
    n = jnp.sum(a > 0.7)
    some = lax.fori_loop(0, jnp.minimum(n, 5), lambda i, x: x * 0.9 + i, a)
    return some, lax.fori_loop(0, n % 4, lambda i, x: x + a[i], jnp.zeros(8))


def never_begins(a):
    return lax.while_loop(lambda s: (s[0] < 4) & (jnp.sum(s[1]) < -100), lambda s: (s[0] + 1, s[1] + 1), (0, a))


@pytest.mark.parametrize("function", [
    newton, newton_of_each, bisections, flag, shrinking_step, history, nested, in_scan, conjugate_gradients,
    stabilised_gradients, failure, computed_bounds, never_begins], ids=lambda function: function.__name__)
@pytest.mark.parametrize("spec", [P(), P("x")], ids=["whole", "split"])
def test_as_jax(function, spec):
    compiled = weft.from_jax(function, np.ones(8, np.float32), mesh=weft.Mesh((2,), ("x",)), in_shardings=(spec,)).compile()
    for scale in (0.3, 1.0, 4.0):
        a = scale * np.linspace(0.5, 1.5, 8, dtype=np.float32)
        found, wanted = compiled(a), jax.jit(function)(a)
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_line_search():
    """A transform that evaluates the loss until it is small enough."""
    optax = pytest.importorskip("optax")
    transform = optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=5))

    def step(state, a, b):
        params, inner = state

        def loss(p):
            return jnp.mean((a @ p - b) ** 2)

        value, grad = jax.value_and_grad(loss)(params)
        updates, inner = transform.update(grad, inner, params, value=value, grad=grad, value_fn=loss)
        return (optax.apply_updates(params, updates), inner), value

    random = np.random.default_rng(0)
    a, b = (random.normal(size=shape).astype(np.float32) for shape in ((8, 6), (8,)))
    params = jnp.ones(6)
    state = wanted = params, transform.init(params)
    compiled = weft.from_jax(step, state, a, b, mesh=weft.Mesh((2,), ("x",)), in_shardings=(P(), P("x"), P("x"))).compile()
    for _ in range(3):
        state, found = compiled(state, a, b)
        wanted, value = jax.jit(step)(wanted, a, b)
        np.testing.assert_allclose(found, value, rtol=1e-5)
    np.testing.assert_allclose(state[0], wanted[0], rtol=1e-4)


def test_without_a_bound():
    def halve(a):
        return lax.while_loop(lambda x: jnp.sum(x) > 1, lambda x: x / 2, a)

    with pytest.raises(weft.CompileError, match="bound it by a counter that begins at a constant"):
        weft.from_jax(halve, np.ones(8, np.float32)).compile()


def test_many_ops():
    """Of loops within a loop."""
    def rounds(a):
        def body(state):
            i, x = state
            return i + 1, lax.fori_loop(0, 150, lambda _, x: lax.fori_loop(0, 100, lambda _, x: jnp.sin(jnp.cos(x)), x), x)

        return lax.while_loop(lambda s: (s[0] < 900) & (jnp.sum(s[1]) > 1), body, (0, a))[1]

    with pytest.raises(weft.CompileError, match="with a condition that depends on computed values, and more than 200000 ops in its first 2 iterations"):
        weft.from_jax(rounds, np.ones(8, np.float32)).compile()


def divide(x, y, is_more=jnp.not_equal, order=jnp.less, rest=lax.rem):
    """The body of jnp.gcd."""
    x, y = jnp.where(is_more(y, 0), y, x), jnp.where(is_more(y, 0), rest(x, y), 0)
    return jnp.where(order(x, y), y, x), jnp.where(order(x, y), x, y)


def common_divisors(x, y):
    return lax.while_loop(lambda s: jnp.any(s[1] != 0), lambda s: divide(*s), (jnp.abs(x), jnp.abs(y)))[0]


def common_divisors_of_scalars(x, y):
    """In falling order by itself, of numbers that may be negative."""
    def find(x, y):
        return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], lax.rem(s[0], s[1])), (x, y))

    return [find(x[i], y[i]) for i in range(4)], jax.vmap(find)(x, y)


def common_divisor_of_the_least(x, y):
    """Its absolute value is negative."""
    least = jnp.where(x == 48, np.iinfo(np.int32).min, x)
    return [jnp.gcd(least[i], 0 * y[i]) for i in range(2)]


@pytest.mark.parametrize("function", [common_divisors, common_divisors_of_scalars, common_divisor_of_the_least])
def test_euclid(function):
    x, y = np.int32([48, 6, 0, -1836311903, 17, 5, 0, 12]), np.int32([36, -4, 7, 1134903170, 51, 0, 0, 18])
    found, wanted = weft.from_jax(function, x, y).compile()(x, y), jax.jit(function)(x, y)
    jax.tree.map(np.testing.assert_array_equal, found, wanted)


@pytest.mark.parametrize("condition, changes", [
    (lambda s: jnp.any(s[0] != 0), {}),
    (lambda s: jnp.all(s[1] != 0), {}),
    (lambda s: jnp.any(s[1] > 0), {}),
    (lambda s: jnp.any(s[1] != 0), {"is_more": jnp.greater}),
    (lambda s: jnp.any(s[1] != 0), {"order": jnp.greater}),
    (lambda s: jnp.any(s[1] != 0), {"rest": lambda x, y: lax.rem(y, x)}),
    (lambda s: jnp.any(s[1] != 0), {"rest": lax.div}),
], ids=["x", "all", "positive", "body of positive", "rising order", "rest of y", "quotient"])
def test_not_euclid(condition, changes):
    """Loops that differ from that of jnp.gcd by a comparison, or an operand."""
    @jax.jit
    def gcd(x, y):
        return lax.while_loop(condition, lambda s: divide(*s, **changes), (x, y))[0]

    with pytest.raises(weft.CompileError, match="condition that depends on computed values alone"):
        weft.from_jax(lambda x, y: gcd(x, y), *np.ones((2, 8), np.int32)).compile()
