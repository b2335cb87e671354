# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.shard_map` in functions that `weft.from_jax` imports: JAX's numbers on as many devices, and
the collectives that are written."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

from jax import lax, shard_map  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import weft  # noqa: E402

jnp = jax.numpy
AUTO = jax.sharding.AxisType.Auto
X = jax.make_mesh((8,), ("x",), axis_types=(AUTO,))
XY = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AUTO, AUTO))
RING = [(i, (i + 1) % 8) for i in range(8)]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def on(mesh, in_specs, out_specs, **options):
    return lambda body: shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def compare(fn, mesh, specs, args, tolerance=2e-5, **options):
    """As JAX computes it. What was compiled."""
    shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))
    expected = jax.jit(fn, in_shardings=shardings)(*args)
    compiled = weft.from_jax(fn, *args, mesh=mesh, in_shardings=specs, **options).compile()
    for found, wanted in zip(jax.tree.leaves(compiled(*args)), jax.tree.leaves(expected), strict=True):
        wanted = np.asarray(wanted)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())
    return compiled


def sent(compiled):
    """What each collective sends in a call, but scalars."""
    return sorted((c.kind, c.total_bytes) for c in compiled.collectives() if c.total_bytes > 64)


# Of a value of (64, 32) whose rows are split 8 ways.
ROWS = {
    "psum": (P(), lambda a: lax.psum(a, "x")),
    "pmean": (P(), lambda a: lax.pmean(a, "x")),
    "pmax": (P(), lambda a: lax.pmax(a, "x")),
    "pmin": (P(), lambda a: lax.pmin(a, "x")),
    "all_gather": (P("x"), lambda a: lax.all_gather(a, "x")[3] * a),
    "all_gather tiled": (P("x"), lambda a: lax.all_gather(a, "x", axis=1, tiled=True).sum(1, keepdims=True) * a),
    "psum_scatter": (P("x"), lambda a: lax.psum_scatter(a, "x", scatter_dimension=0)),
    "psum_scatter tiled": (P(None, "x"), lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True)),
    "all_to_all": (P(None, "x"), lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True)),
    "all_to_all untiled": (P("x"), lambda a: lax.all_to_all(a, "x", 0, 1)),
    "ppermute": (P("x"), lambda a: lax.ppermute(a, "x", RING)),
    "ppermute of some": (P("x"), lambda a: lax.ppermute(a, "x", [(0, 1), (1, 2), (5, 3)])),
    "ppermute in reverse": (P("x"), lambda a: lax.ppermute(a, "x", [(i, 7 - i) for i in range(8)])),
    "ppermute of what is alike": (P("x"), lambda a: lax.ppermute(lax.pcast(lax.psum(a, "x"), "x", to="varying"), "x", RING[:5])),
    "axis_index": (P("x"), lambda a: a * lax.axis_index("x")),
    "random": (P("x"), lambda a: a * jax.random.normal(jax.random.fold_in(jax.random.key(0), lax.axis_index("x")), a.shape)),
    "cond": (P("x"), lambda a: lax.cond(lax.axis_index("x") % 2 == 0, lambda a: a * 2, lambda a: a + 1, a)),
    "switch": (P("x"), lambda a: lax.switch(lax.axis_index("x") // 3, [jnp.sin, jnp.cos, jnp.tanh], a)),
    "fori_loop": (P("x"), lambda a: lax.fori_loop(0, 3, lambda i, a: jnp.tanh(a) + lax.pmean(a, "x") * i, a)),
    "while_loop": (P("x"), lambda a: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 1.5), (0, a))[1]),
    "scan": (P("x"), lambda a: lax.scan(lambda c, _: (lax.ppermute(c, "x", RING) * 0.5, c.sum()), a, None, length=3)[0]),
    "jit": (P(), lambda a: jax.jit(lambda a: lax.psum(a, "x"))(jnp.sin(a))),
    "vmap": (P(), lambda a: jax.vmap(lambda row: lax.psum(row, "x"))(a)),
    "several results": ((P(), P("x")), lambda a: (lax.psum(a, "x"), a + 1)),
}


@pytest.mark.parametrize("name", ROWS)
def test_ops_of_a_region(name):
    out_specs, body = ROWS[name]
    compare(on(X, P("x"), out_specs)(body), X, (P("x"),), (numbers(64, 32),))


BOTH = P(("x", "y"))


def test_two_axes_at_once():
    def body(a):
        rows = lax.all_gather(a, ("x", "y"))
        return (lax.psum(a, ("x", "y")), a * lax.axis_index(("x", "y")), rows[3] * a,
                lax.all_gather(a, ("x", "y"), tiled=True).sum(0) * a,
                lax.psum_scatter(rows, ("x", "y")), lax.psum_scatter(rows.reshape(64, 32), ("x", "y"), tiled=True))

    compare(on(XY, BOTH, (P(),) + 5 * (BOTH,))(body), XY, (BOTH,), (numbers(64, 32),))


def test_one_axis_of_two():
    """The other one is the compiler's, and constraints on it stay."""
    def body(a, w):
        return lax.psum(lax.with_sharding_constraint(jnp.sin(a), P("y", None)) @ w, "x")

    region = on(XY, (P(None, "x"), P("x", None)), P(), axis_names={"x"})(body)
    compare(region, XY, (P("y", "x"), P("x")), (numbers(64, 32), numbers(32, 16)))


def test_regions_in_regions():
    def inner(b):
        return lax.psum(b, "y") * lax.axis_index("y")

    def outer(a):
        return shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(a)

    region = on(XY, P("x"), P("x"), axis_names={"x"})(outer)
    compare(region, XY, (P("x", "y"),), (numbers(64, 32),))


def test_a_region_in_a_scan_and_under_vmap():
    mean = on(X, P("x"), P("x"))(lambda a: a + lax.pmean(a, "x"))
    compare(lambda a: lax.scan(lambda c, _: (mean(c), None), a, None, length=3)[0], X, (P("x"),), (numbers(64, 8),))
    compare(jax.vmap(mean), X, (P(None, "x"),), (numbers(3, 64, 4),))


def test_a_result_that_is_said_to_be_the_same():
    """Without JAX's check: that of the first device."""
    region = on(X, P("x"), P(), check_vma=False)(lambda a: (a.sum() + lax.axis_index("x"))[None])
    compiled = weft.from_jax(region, numbers(64), mesh=X, in_shardings=P("x")).compile()
    np.testing.assert_allclose(np.asarray(compiled(numbers(64))), [numbers(64)[:8].sum()], rtol=1e-5)
    compare(on(X, P(None, "x"), P(), check_vma=False)(lambda a: lax.all_gather(a, "x", axis=1, tiled=True) * 2),
            X, (P(None, "x"),), (numbers(16, 32),))


# Steps with gradients


@jax.custom_vjp
def copied(a):
    return a


@jax.custom_vjp
def added(a):
    return lax.psum(a, "y")


copied.defvjp(lambda a: (a, None), lambda _, g: (lax.psum(g, "y"),))
added.defvjp(lambda a: (lax.psum(a, "y"), None), lambda _, g: (g,))


@pytest.mark.parametrize("explicit", [False, True])
def test_tensor_parallel_layers(explicit):
    """Two all-reduces, and one of gradients over the batch; with Megatron's two functions, and
    gradients taken inside of the region, or without and from outside."""
    weights = P(None, "y"), P("y", None)

    def layers(x, w1, w2):
        if explicit:
            return added(jax.nn.gelu(copied(x) @ w1) @ w2)
        return lax.psum(jax.nn.gelu(x @ w1) @ w2, "y")

    def inside(x, *ws):
        loss, (dx, dws) = jax.value_and_grad(lambda x, ws: (layers(x, *ws) ** 2).sum(), (0, 1))(x, ws)
        return lax.psum(loss, "x"), dx, jax.tree.map(lambda g: lax.psum(g, "x"), dws)

    if explicit:
        step = on(XY, (P("x"), *weights), (P(), P("x"), weights), check_vma=False)(inside)
    else:
        region = on(XY, (P("x"), *weights), P("x"))(layers)

        def step(x, *ws):
            loss, (dx, dws) = jax.value_and_grad(lambda x, ws: (region(x, *ws) ** 2).sum(), (0, 1))(x, ws)
            return loss, dx, dws

    arguments = numbers(1024, 256), numbers(256, 512), numbers(512, 256)
    compiled = compare(step, XY, (P("x"), *weights), arguments, out_shardings=(P(), P("x"), weights))
    rows, weight = 2 * 256 * 256 * 4 // 2, 2 * 256 * 256 * 4 * 3 // 4
    assert sum(size for _, size in sent(compiled)) == pytest.approx(2 * rows + 2 * weight, abs=64)
    assert {kind for kind, _ in sent(compiled)} == {"all_reduce"}


def test_gathered_parameters():
    """Each weight is gathered forward, with `jax.checkpoint` backward as well, and its gradient
    scattered."""
    def loss(x, w):
        layer = jax.checkpoint(lambda x, w: jnp.tanh(x @ lax.all_gather(w, "x", tiled=True)))
        return lax.pmean((layer(layer(x, w[0]), w[1]) ** 2).mean(), "x")

    region = on(X, (P("x"), P(None, "x")), P())(loss)
    compiled = compare(lambda x, w: jax.value_and_grad(region, 1)(x, w), X, (P("x"), P(None, "x")),
                       (numbers(64, 256), numbers(2, 256, 256)), out_shardings=(P(), P(None, "x")))
    weight = 256 * 256 * 4 * 7 // 8
    # What all_to_all exchanges is added up where it arrives.
    assert sum(size for kind, size in sent(compiled) if kind != "all_gather") == 2 * weight
    assert sum(size for kind, size in sent(compiled) if kind == "all_gather") <= 4 * weight


def test_a_pipeline_of_one_layer_a_device():
    def body(w, x):
        at, state, out = lax.axis_index("x"), *lax.pcast((jnp.zeros_like(x[0]), jnp.zeros_like(x)), "x", to="varying")
        for t in range(len(x) + 7):
            state = jnp.tanh(jnp.where(at == 0, x[min(t, len(x) - 1)], state) @ w[0])
            if t >= 7:
                out = out.at[t - 7].set(jnp.where(at == 7, state, 0))
            state = lax.ppermute(state, "x", RING)
        return lax.psum(out, "x")

    region = on(X, (P("x"), P()), P())(body)
    compare(lambda w, x: jax.value_and_grad(lambda w: (region(w, x) ** 2).sum())(w), X, (P("x"), P()),
            (0.3 * numbers(8, 16, 16), numbers(4, 8, 16)))


def test_ring_attention():
    def body(q, k, v):
        def step(carry, _):
            k, v, values, weights = carry
            s = jnp.exp(q @ k.T / 16)
            values, weights = values + s @ v, weights + s.sum(-1, keepdims=True)
            return (lax.ppermute(k, "x", RING), lax.ppermute(v, "x", RING), values, weights), None

        (_, _, values, weights), _ = lax.scan(step, (k, v, 0 * q, 0 * q[:, :1]), None, length=8)
        return values / weights

    region = on(X, P("x"), P("x"))(body)
    compare(lambda *qkv: jax.value_and_grad(lambda qkv: (region(*qkv) ** 2).sum())(qkv), X, (P("x"),) * 3,
            [numbers(64, 16, seed=i) for i in range(3)])


def test_experts_by_all_to_all():
    def body(x, router, up, down):
        p = jax.nn.softmax(x @ router)
        chosen = jax.nn.one_hot(p.argmax(-1), 8)
        place = ((jnp.cumsum(chosen, 0) - 1) * chosen).sum(-1).astype(int)
        dispatch = jax.nn.one_hot(place, len(x) // 2)[:, None, :] * chosen[:, :, None]
        sent = lax.all_to_all(jnp.einsum("tec,td->ecd", dispatch, x), "x", 0, 1, tiled=True)
        hidden = jax.nn.relu(jnp.einsum("ecd,edf->ecf", sent, up))
        back = lax.all_to_all(jnp.einsum("ecf,efd->ecd", hidden, down), "x", 1, 0, tiled=True)
        return jnp.einsum("tec,ecd,te->td", dispatch, back, p * chosen)

    specs = P("x"), P(), P("x"), P("x")
    compiled = compare(on(X, specs, P("x"))(body), X, specs, (
        numbers(512, 64), numbers(64, 8), numbers(8, 64, 1024), numbers(8, 1024, 64)), out_shardings=P("x"))
    assert sent(compiled) == 2 * [("all_to_all", 8 * 32 * 64 * 4 * 7 // 8)]


def test_a_permutation_moves_what_changes_the_device():
    region = on(X, P("x"), P("x"))(lambda a: lax.ppermute(jnp.sin(a), "x", RING))
    compiled = compare(region, X, (P("x"),), (numbers(4096, 1024),), out_shardings=P("x"))
    assert sent(compiled) == [("exchange", 4096 * 1024 * 4 // 8)]


# Those that are not imported


@pytest.mark.parametrize("what, body", {
    "psum with axis_index_groups": lambda a: lax.psum(a, "x", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
    "ragged_all_to_all": lambda a: lax.ragged_all_to_all(a, a, *[jnp.arange(8)] * 4, axis_name="x"),
}.items())
def test_what_is_not_imported(what, body):
    region = on(X, P("x"), P("x"), check_vma=False)(body)
    with pytest.raises(NotImplementedError, match=rf"test_shard_map_from_jax.py:\d+:\d+.*: {what} in a jax.shard_map is "
                       "not imported; of its collectives are all_gather, all_to_all, axis_index, pmax"):
        weft.from_jax(region, numbers(64, 32), mesh=X, in_shardings=P("x"))


def test_permutations_over_two_axes_are_not_imported():
    region = on(XY, BOTH, BOTH)(lambda a: lax.ppermute(a, ("x", "y"), [(0, 1)]))
    with pytest.raises(NotImplementedError, match="ppermute over 2 axes in a jax.shard_map is not imported"):
        weft.from_jax(region, numbers(64, 32), mesh=XY, in_shardings=BOTH)
