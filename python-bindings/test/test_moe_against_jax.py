# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with experts against JAX, whose layers are one-hot einsums; and those imported.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
optax = pytest.importorskip("optax", reason="compares with optax, which is not installed here")

import jax.numpy as jnp  # noqa: E402
import jax_moe  # noqa: E402
import running  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402
from moe_models import MODELS, SEQUENCE_WAYS, WAYS  # noqa: E402
from test_moe_training import options_of  # noqa: E402
from traffic import traffic  # noqa: E402

import weft  # noqa: E402
from weft import nn, optim, tree  # noqa: E402

STEPS, ROWS, TOLERANCE = 6, 16, 1e-5


def optimizer_of(of):
    """Steps are in proportion to gradients: Adam makes whole steps of what rounding leaves of small ones."""
    return of.chain(of.clip_by_global_norm(1.0), of.sgd(0.3, momentum=0.9))


def first_params(name):
    return MODELS[name].params()


def jax_step(loss, optimizer):
    def step(state, batch):
        value, gradients = jax.value_and_grad(loss)(state["params"], batch)
        updates, moments = optimizer.update(gradients, state["optimizer"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "optimizer": moments}, value

    return step


@functools.cache
def in_jax(name):
    """Losses and parameters of JAX on one device."""
    optimizer = optimizer_of(optax)
    step = jax.jit(jax_step(functools.partial(jax_moe.model_loss, config=MODELS[name].config), optimizer))
    params = first_params(name)
    state, losses = {"params": params, "optimizer": optimizer.init(params)}, []
    batches = MODELS[name].batches(STEPS, ROWS)
    for i in range(STEPS):
        state, loss = step(state, tree.map(lambda stack: stack[i], batches))
        losses.append(float(loss))
    return np.array(losses), jax.tree.map(np.asarray, state["params"])


def assert_same(losses, params, wanted):
    np.testing.assert_allclose(losses, wanted[0], rtol=TOLERANCE)
    pairs = zip(tree.flatten_with_paths(params, "")[0], jax.tree.leaves(wanted[1]), strict=True)
    far = {path: distance for (path, a), b in pairs
           if not (distance := np.abs(a - b).max() / np.abs(b).max()) < TOLERANCE}
    assert not far


@pytest.mark.parametrize("name, way", [
    *((name, way) for name in ("mixtral", "switch") for way in (None, "ep8", "dp+ep2+tp")),
    ("shared", None), ("grouped", None), ("grouped", "ep2+tp+sp")])
def test_training(name, way):
    """Lookups of ours, einsums of JAX."""
    model, optimizer = MODELS[name], optimizer_of(optim)
    params = first_params(name)
    state = {"params": params, "optimizer": weft.jit(optimizer.init)(params)}
    options = options_of(name, (WAYS | SEQUENCE_WAYS)[way], state) if way else {}
    losses, final = running.train(model.train_step(optimizer), state, model.batches(STEPS, ROWS), **options)
    assert_same(losses, final["params"], in_jax(name))


# ===----------------------------------------------------------------------===
# Imported
# ===----------------------------------------------------------------------===

PROGRAMS = {
    "tokens choose, two": ("mixtral", "tokens_choose"),
    "tokens choose, one": ("switch", "tokens_choose"),
    "gshard": ("mixtral", "gshard"),
    "switch": ("switch", "switch"),
}
MESHES = {
    "ep4": ({"expert": 4}, ("expert",)),
    "ep8": ({"expert": 8}, ("expert",)),
    "dp+ep2": ({"data": 2, "expert": 2}, ("data", "expert")),
    "ep2+tp": ({"expert": 2, "model": 2}, ("expert",)),
}


def shardings(mesh, tree_):
    """Experts over their axis, and their hidden features over the one of tensor parallelism."""
    model = "model" if "model" in mesh.axis_names else None

    def of(path, leaf):
        name = jax.tree_util.keystr(path)
        of_experts = P("expert", model) if "down" in name else P("expert", None, model)
        return NamedSharding(mesh, of_experts if "experts" in name else P())

    return jax.tree_util.tree_map_with_path(of, tree_)


@functools.cache
def programs(case, mesh):
    """The jitted step on a mesh, its first state and batches."""
    name, router = PROGRAMS[case]
    axes, groups = MESHES[mesh]
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=(jax.sharding.AxisType.Auto,) * len(axes))
    optimizer, config = optimizer_of(optax), MODELS[name].config
    loss = functools.partial(jax_moe.model_loss, config=config, router=jax_moe.ROUTERS[router],
                             place=jax_moe.placed(mesh, groups, "expert"))
    params = first_params(name)
    state = {"params": params, "optimizer": jax.tree.map(np.asarray, optimizer.init(params))}
    placed = shardings(mesh, state)
    batches = MODELS[name].batches(STEPS, ROWS)
    rows = NamedSharding(mesh, P(groups))
    jitted = jax.jit(jax_step(loss, optimizer), in_shardings=(placed, rows),
                     out_shardings=(placed, NamedSharding(mesh, P())), donate_argnums=0)
    return jitted, state, batches, config


def trained(step, state, batches):
    losses = []
    for i in range(STEPS):
        state, loss = step(state, tree.map(lambda stack: stack[i], batches))
        losses.append(float(loss))
    return np.array(losses), jax.tree.map(np.asarray, state["params"])


@pytest.mark.parametrize("case, mesh", [
    *((case, "dp+ep2") for case in PROGRAMS), ("tokens choose, two", "ep8"), ("switch", "ep4"), ("gshard", "ep2+tp")])
def test_imported(case, mesh):
    jitted, state, batches, _ = programs(case, mesh)
    wanted = trained(jitted, state, batches)
    plan = weft.from_jax(jitted, state, tree.map(lambda stack: stack[0], batches)).compile()
    assert_same(*trained(plan, state, batches), wanted)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("case", PROGRAMS)
def test_imported_tokens_move_by_all_to_alls(case, mesh):
    """Two forward and two backward in each layer, and no tokens by other collectives."""
    jitted, state, batches, config = programs(case, mesh)
    plan = weft.from_jax(jitted, state, tree.map(lambda stack: stack[0], batches)).compile(
        None, combine_collectives=False)
    axes, groups = MESHES[mesh]
    n, ranks = axes["expert"], int(np.prod([axes[axis] for axis in groups]))
    slots = jax_moe.slots_of(config.context, config)
    sent = (n - 1) / n * config.experts * (ROWS // ranks) * slots * config.width * 4
    found = traffic(plan)
    assert found.pop(("all_to_all", ("expert",))) == (4 * config.layers, 4 * config.layers * sent)
    # Gradients, and numbers; and the partial sums of hidden features.
    assert {kind for kind, _ in found} == {"all_reduce"}
    found.pop(("all_reduce", ("model",)), None)
    shared = sum(leaf.nbytes for path, leaf in tree.flatten_with_paths(state["params"], "")[0] if "experts" not in path)
    own = sum(leaf.nbytes for leaf in jax.tree.leaves(state["params"])) - shared
    assert sum(each.bytes for each in found.values()) <= 2 * (shared + own / n) + 256


# ===----------------------------------------------------------------------===
# Groups of rows
# ===----------------------------------------------------------------------===


def sorted_layer(params, x, config):
    """Tokens in the order of their experts, and ragged_dot: no token is dropped."""
    tokens = x.reshape(-1, x.shape[-1])
    probs = jax.nn.softmax(tokens @ params["router"])
    gates, index = jax.lax.top_k(probs, config.top_k)
    if config.top_k > 1:
        gates = gates / jnp.sum(gates, -1, keepdims=True)
    order = jnp.argsort(index.reshape(-1))
    sizes = jnp.bincount(index.reshape(-1), length=config.experts).astype(jnp.int32)
    rows = tokens[order // config.top_k]
    weights = params["experts"]
    hidden = jax.nn.silu(jax.lax.ragged_dot(rows, weights["gate"], sizes))
    hidden = hidden * jax.lax.ragged_dot(rows, weights["up"], sizes)
    made = jax.lax.ragged_dot(hidden, weights["down"], sizes) * gates.reshape(-1)[order][:, None]
    return jnp.zeros_like(tokens).at[order // config.top_k].add(made).reshape(x.shape)


def ragged_arguments():
    params = first_params("dropless")["blocks"][0]
    x = np.random.default_rng(3).normal(size=(4, 16, MODELS["dropless"].config.width)).astype(np.float32)
    return {"router": params["router"], "experts": params["experts"]}, x


def test_ragged_dot_is_imported_as_a_matmul_of_groups():
    config, (params, x) = MODELS["dropless"].config, ragged_arguments()
    step = jax.value_and_grad(lambda params, x: (sorted_layer(params, x, config) ** 2).mean(), (0, 1))
    lowered = weft.from_jax(step, params, x)
    assert lowered.as_text("graph").count("weft.grouped_dot") == 6
    assert lowered.as_text("graph").count("weft.grouped_outer") == 3
    got, wanted = lowered.compile()(params, x), jax.jit(step)(params, x)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    ours, _ = weft.jit(lambda p, x: nn.moe(x, p["router"], p["experts"], capacity=None))(params, x)
    np.testing.assert_allclose(ours, sorted_layer(params, x, config), rtol=1e-4, atol=1e-5)


def test_other_ragged_dots_are_imported_as_what_jax_makes_of_them():
    """Of integers, for which there is no GEMM of groups."""
    x, w, sizes = np.arange(24, dtype=np.int32).reshape(6, 4), np.ones((2, 4, 3), np.int32), np.int32([2, 3])
    lowered = weft.from_jax(jax.lax.ragged_dot, x, w, sizes)
    assert "weft.grouped_dot" not in lowered.as_text("graph")
    np.testing.assert_array_equal(lowered.compile()(x, w, sizes), jax.lax.ragged_dot(x, w, sizes))
