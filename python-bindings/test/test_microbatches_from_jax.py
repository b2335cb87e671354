# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`lax.scan` over micro-batches: a loop of the plan where its carries are sums, unrolled where not."""

import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402

WIDTH, HIDDEN, ROWS = 16, 32, 8
RNG = np.random.default_rng(0)
PARAMS = {"w1": RNG.normal(size=(WIDTH, HIDDEN)).astype(np.float32) * 0.3,
          "w2": RNG.normal(size=(HIDDEN, WIDTH)).astype(np.float32) * 0.3}


def batch(n):
    return tuple(RNG.normal(size=(n, ROWS, WIDTH)).astype(np.float32) for _ in range(2))


def loss(params, part):
    x, y = part
    return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2)


def accumulating(params, xs, ys):
    def body(carry, part):
        sums, total = carry
        value, grads = jax.value_and_grad(loss)(params, part)
        return (jax.tree.map(jnp.add, sums, grads), total + value), None

    zeros = jax.tree.map(jnp.zeros_like, params), jnp.zeros(())
    (grads, total), _ = lax.scan(body, zeros, (xs, ys))
    n = xs.shape[0]
    return jax.tree.map(lambda p, g: p - 0.1 * g / n, params, grads), total / n


def text(fun, *args):
    return weft.from_jax(fun, *args).as_text("graph")


def assert_as_jax(fun, args, tolerance=2e-6, **options):
    found = weft.from_jax(fun, *args, **options).compile()(*args)
    expected = jax.jit(fun)(*args)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_gradients_are_those_of_jax(n):
    assert_as_jax(accumulating, (PARAMS, *batch(n)))


@pytest.mark.parametrize("fsdp", [False, True])
def test_reductions_are_once_a_step(fsdp):
    mesh = weft.Mesh((4,), ("data",))
    rows = P(None, "data")
    specs = jax.tree.map(lambda _: P("data") if fsdp else P(), PARAMS)
    options = dict(mesh=mesh, in_shardings=(specs, rows, rows), out_shardings=(specs, P()))
    assert_as_jax(accumulating, (PARAMS, *batch(4)), **options)
    if fsdp:  # activations move too, for every micro-batch
        return
    counts = [sorted((found.kind, found.count) for found in
                     weft.from_jax(accumulating, PARAMS, *batch(n), **options).compile().collectives()
                     if found.kind in ("all_reduce", "reduce_scatter"))
              for n in (2, 16)]
    assert counts[0] == counts[1] and all(count <= 2 for _, count in counts[0])


def test_parameters_that_nobody_uses():
    unused = {"unused": np.ones((3,), np.float32), **PARAMS}
    assert text(accumulating, unused, *batch(4)).count("weft.microbatch_sum") == 3
    assert_as_jax(accumulating, (unused, *batch(4)))


def test_the_program_does_not_grow():
    two, many = (text(accumulating, PARAMS, *batch(n)) for n in (2, 64))
    assert two.count("weft.microbatch_sum") == 3
    assert two.count("\n") == many.count("\n")


def stacking(params, xs, ys):
    """Gradients, the losses of all micro-batches, and a matrix of numbers of each."""
    def body(sums, part):
        value, grads = jax.value_and_grad(loss)(params, part)
        return jax.tree.map(jnp.add, sums, grads), (value, {"means": part[0].mean(axis=0)})

    return lax.scan(body, jax.tree.map(jnp.zeros_like, params), (xs, ys))


@pytest.mark.parametrize("n", [2, 5])
def test_what_is_stacked(n):
    args = PARAMS, *batch(n)
    found = text(stacking, *args)
    assert found.count("weft.microbatch_sum") == 2 and found.count("weft.microbatch_stack") == 2
    assert_as_jax(stacking, args)
    rows = P(None, "data")
    assert_as_jax(stacking, args, mesh=weft.Mesh((4,), ("data",)), in_shardings=(P(), rows, rows))


@pytest.mark.parametrize("fun", [accumulating, stacking])
def test_explicit_axes(fun):
    """What a turn adds to and writes is constrained, as everything is."""
    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))

    def put(x, *axes):
        return jax.device_put(x, jax.NamedSharding(mesh, jax.P(*axes)))

    with jax.set_mesh(mesh):
        args = jax.tree.map(put, PARAMS), *(put(x, None, "data") for x in batch(3))
        assert text(fun, *args).count("weft.microbatch_sum") >= 2
        assert_as_jax(fun, args)


def test_stacks_that_are_large_or_read_are_no_output_of_a_loop():
    def large(xs):  # every turn would walk all of it
        return lax.scan(lambda s, x: (s + x, jnp.tanh(x)), jnp.zeros((80, 80)), xs)

    def of_sums(xs):  # the sum so far is read
        return lax.scan(lambda s, x: (s + x, s + x), jnp.zeros(WIDTH), xs)

    def derivative(xs):  # what the backward pass reads is stacked, and the sum of its loop goes backwards
        def total(w):
            return lax.scan(lambda s, x: (s + jnp.sum(jnp.tanh(x * w)), None), 0.0, xs)[0]
        return jax.value_and_grad(total)(jnp.ones(xs.shape[1:]))

    xs = RNG.normal(size=(4, WIDTH)).astype(np.float32)
    for fun, args in ((large, (RNG.normal(size=(4, 80, 80)).astype(np.float32),)), (of_sums, (xs,))):
        assert "microbatch" not in text(fun, *args), fun.__name__
        assert_as_jax(fun, args, tolerance=1e-5)
    assert_as_jax(derivative, (xs,), tolerance=1e-5)


def test_other_loops_are_unrolled():
    def layers(ws, x):  # what an iteration hands on is no sum
        return lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)[0]

    def started(xs):  # a sum that does not begin with zero
        return lax.scan(lambda s, x: (s + jnp.sin(x), None), jnp.ones(WIDTH), xs)[0]

    def read(xs):  # the sum so far is read
        return lax.scan(lambda c, x: ((c[0] + x, c[1] + jnp.tanh(c[0])), None),
                        (jnp.zeros(WIDTH), jnp.zeros(WIDTH)), xs)[0]

    def numbered(xs):  # the number of the iteration is computed with
        return lax.scan(lambda c, x: ((c[0] + 1, c[1] + x * c[0]), None),
                        (jnp.int32(0), jnp.zeros(WIDTH)), xs)[0]

    xs = RNG.normal(size=(4, WIDTH)).astype(np.float32)
    ws = RNG.normal(size=(4, WIDTH, WIDTH)).astype(np.float32)
    for fun, args in ((layers, (ws, xs)), (started, (xs,)), (read, (xs,)), (numbered, (xs,))):
        assert "microbatch" not in text(fun, *args), fun.__name__
        assert_as_jax(fun, args, tolerance=1e-5)


def test_two_loops_and_what_follows_them():
    def both(params, xs, ys):
        first, loss1 = accumulating(params, xs, ys)
        second, loss2 = accumulating(first, xs, ys)
        return second, loss1 + loss2

    args = PARAMS, *batch(4)
    assert text(both, *args).count("weft.microbatch_sum") == 6
    assert_as_jax(both, args)


# Loops of four iterations whose first two look alike, or whose carries begin alike. Those that are sums over
# micro-batches all the same have the count of these behind them.
LOOKALIKES = {
    "another last one": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jnp.where(i == 3, 0.0, 1.0) * jnp.sin(xs[i]), jnp.zeros(4)), 0),
    "another third one": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jnp.where(i == 2, 10.0, 1.0) * jnp.sin(xs[i]), jnp.zeros(4)), 0),
    "another function": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + lax.cond(i == 3, jnp.cos, jnp.sin, xs[i]), jnp.zeros(4)), 0),
    "a slice that stays": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jnp.sin(xs[jnp.minimum(i, 2)]), jnp.zeros(4)), 0),
    "a counter that is carried": (lambda xs: lax.scan(
        lambda c, x: ((c[0] + 1, c[1] + jnp.where(c[0] < 2, 1.0, 0.0) * jnp.sin(x)), None), (0, jnp.zeros(4)), xs)[0], 0),
    "a factor that is looked up": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jnp.array([1.0, 1.0, 5.0, 6.0])[i] * jnp.sin(xs[i]), jnp.zeros(4)), 1),
    "an order that is looked up": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jnp.sin(xs[jnp.array([0, 1, 3, 2])[i]]) * jnp.where(i == 2, 2.0, 1.0), jnp.zeros(4)), 0),
    "a stack that stays": (lambda xs: lax.fori_loop(
        0, 4, lambda i, c: (c[0] + xs[i], c[1].at[jnp.minimum(i, 2)].set(xs[i].sum())), (jnp.zeros(4), jnp.zeros(4))), 0),
    "a stack that is read": (lambda xs: lax.fori_loop(
        0, 4, lambda i, c: (c[0] + xs[i] * (1 + c[1][2]), c[1].at[i].set(xs[i].sum())), (jnp.zeros(4), jnp.zeros(4))), 0),
    "sums that change places": (lambda xs: lax.scan(
        lambda c, x: ((c[1] + jnp.sin(x), c[0] + jnp.cos(x)), None), (jnp.zeros(4), jnp.zeros(4)), xs)[0], 0),
    "a slice that comes again": (lambda xs: lax.while_loop(
        lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] + jnp.sin(xs[c[0] % 3])), (0, jnp.zeros(4))), 0),
    "a slice that begins again": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jnp.sin(xs[jnp.where(i == 3, 0, i)]), jnp.zeros(4)), 0),
    "a stack that begins again": (lambda xs: lax.fori_loop(
        0, 4, lambda i, c: (c[0] + xs[i], c[1].at[lax.rem(i, 3)].set(xs[i].sum())), (jnp.zeros(4), jnp.zeros(4))), 0),
    "a counter that doubles": (lambda xs: lax.scan(
        lambda c, x: ((c[0] * 2 + 1, c[1] + jnp.sin(x)), None), (0, jnp.zeros(4)), xs)[0], 1),
    "a counter that begins again": (lambda xs: lax.scan(
        lambda c, x: ((jnp.where(c[0] > 1, 0, c[0] + 1), c[1] + jnp.sin(x)), None), (0, jnp.zeros(4)), xs)[0], 1),
    "a slice in a function": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jax.jit(lambda xs, i: jnp.sin(xs[i]))(xs, i), jnp.zeros(4)), 1),
    "another last one in a function": (lambda xs: lax.fori_loop(
        0, 4, lambda i, s: s + jax.jit(lambda xs, i: jnp.where(i == 3, 2.0, 1.0) * jnp.sin(xs[i]))(xs, i), jnp.zeros(4)), 0),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_iterations_that_only_look_alike(name):
    fun, sums = LOOKALIKES[name]
    xs = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    lowered = weft.from_jax(fun, xs)
    assert lowered.as_text("graph").count("weft.microbatch_sum") == sums
    for got, expected in zip(jax.tree.leaves(lowered.compile()(xs)), jax.tree.leaves(jax.jit(fun)(xs))):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_many_iterations_are_not_read():
    """Those of more than the largest program that is read."""
    def scan(xs):
        def body(total, x):
            for _ in range(100):
                x = jnp.sin(x)
            return total + x, None

        return lax.scan(body, jnp.zeros(4), xs)[0]

    def fori(xs):
        def body(i, total):
            x = xs[i]
            for _ in range(100):
                x = jnp.sin(x)
            return total + x

        return lax.fori_loop(0, len(xs), body, jnp.zeros(4))

    xs = np.zeros((20_000, 4), np.float32)
    for fun in (scan, fori):
        assert weft.from_jax(fun, xs).as_text("graph").count("weft.microbatch_sum") == 1


@pytest.mark.parametrize("n", [1, 3])
def test_a_sum_that_is_carried_twice(n):
    def fun(xs):
        def body(carry, x):
            s = carry[0] + jnp.sin(x)
            return (s, s), None

        return lax.scan(body, (jnp.zeros(4), jnp.zeros(4)), xs)[0]

    xs = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    for got, expected in zip(weft.from_jax(fun, xs).compile()(xs), jax.jit(fun)(xs)):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
