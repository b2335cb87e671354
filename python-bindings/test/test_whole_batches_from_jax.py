# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of JAX steps on a whole batch, which the compiler splits into micro-batches: the bits of
the step that has the loop and no pipeline, the numbers of jax.jit."""

import functools
import re
import subprocess

import numpy as np
import pytest
from running import BINARIES
from staged_models import equal_bits
from test_pipelines_from_jax import MICROBATCHES, ROWS, TIME, VOCABULARY, WIDTH, block, first_params, layer_norm

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
jnp = jax.numpy

import weft  # noqa: E402
from weft import P  # noqa: E402
from weft.lowered import Lowered, Source  # noqa: E402

BATCH, STEPS = ROWS * MICROBATCHES, 2


def tokens_and_targets():
    return np.random.default_rng(1).integers(0, VOCABULARY, (STEPS, 2, BATCH, TIME)).astype(np.int32)


def logits_of(params, tokens, cuts=(0,), wrap=lambda f: f, is_tied=False):
    x = params["embedding"][tokens] + params["positions"]
    for i, one in enumerate(params["blocks"]):
        x = wrap(block)(one, x)
        if i in cuts:
            x = weft.stage_boundary(x)
    return layer_norm(x) @ (params["embedding"].T if is_tied else params["head"])


def losses_of(params, tokens, targets, **options):
    logits = jax.nn.log_softmax(logits_of(params, tokens, **options))
    return -jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]


def mean_loss(*args, **options):
    return losses_of(*args, **options).mean()


def adam(state, value, gradients):
    params, count = state["params"], state["count"] + 1
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), gradients)
    rate = 0.01 * jnp.minimum(1.0, count / 3)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], gradients)
    params = jax.tree.map(lambda p, m, v: p - rate * (m / (jnp.sqrt(v) + 1e-3) + 0.1 * p), params, m, v)
    return {"params": params, "m": m, "v": v, "count": count}, value


def short_params(layers=2):
    params = first_params()
    return params | {"blocks": params["blocks"][:layers]}


def first_state(layers=2):
    params = short_params(layers)
    zeros = jax.tree.map(np.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}


def whole(loss):
    """A step as one writes it."""

    def step(state, *batch):
        return adam(state, *jax.value_and_grad(loss)(state["params"], *batch))

    return step


def looped(loss):
    """The same with a loop; row r is in micro-batch r % n."""

    def step(state, *batch):
        def add(total, part):
            return jax.tree.map(jnp.add, total, jax.value_and_grad(loss)(state["params"], *part)), None

        parts = [x.reshape(-1, MICROBATCHES, *x.shape[1:]).swapaxes(0, 1) for x in batch]
        total, _ = jax.lax.scan(add, (jnp.zeros(()), jax.tree.map(jnp.zeros_like, state["params"])), tuple(parts))
        return adam(state, *jax.tree.map(lambda x: x / MICROBATCHES, total))

    return step


def train(function, state, batches):
    losses = []
    for batch in batches:
        state, loss = function(state, *batch)
        losses.append(np.float32(loss))
    return losses, jax.tree.map(np.array, state)


def trained(step, state, batches, schedule=None, ranks=2, mesh=None, stages=None, **options):
    if schedule:
        options["mesh"] = weft.Mesh((ranks, *(mesh or {}).values()), ("pipe", *(mesh or {})))
        options["pipeline"] = weft.Pipeline("pipe", schedule, microbatches=MICROBATCHES, stages=stages)
    compiled = weft.from_jax(step, state, *batches[0], donate_argnums=0, **options).compile()
    return train(compiled, state, batches)


def without_pipeline(step, state, batches, **options):
    """The plan of the same micro-batches."""
    lowered = weft.from_jax(step, state, *batches[0], donate_argnums=0, **options)
    split = subprocess.run(
        [BINARIES / "shard-opt", "-", "--allow-unregistered-dialect", "--weft-import-stablehlo", "--weft-inline-calls",
         "--weft-decompose", "--symbol-dce", f"--weft-split-batch=microbatches={MICROBATCHES}"],
        input=lowered.as_text(), capture_output=True, text=True, check=False)
    assert split.returncode == 0, split.stderr
    return train(Lowered(Source(split.stdout, "split.mlir"), lowered.signature, lowered.mesh).compile(), state, batches)


def assert_close(found, wanted):
    for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)


@functools.cache
def mean_by_jax(layers=2, is_tied=False):
    """Boundaries and recomputation change none of its numbers."""
    loss = functools.partial(mean_loss, is_tied=is_tied)
    return train(jax.jit(whole(loss)), first_state(layers), tokens_and_targets())


def check(loss, schedule="1f1b", batches=None, reference=None, mesh=None, ranks=2, layers=2, wanted=None, **options):
    """Against JAX, or what it `wanted`, and bit for bit against the same loop in JAX, or `reference`."""
    batches, state = tokens_and_targets() if batches is None else batches, first_state(layers)
    found = trained(whole(loss), state, batches, schedule, ranks, mesh, **options)
    assert_close(found, wanted or train(jax.jit(whole(loss)), state, batches))
    options.pop("stages", None)
    if mesh:
        options["mesh"] = weft.Mesh(tuple(mesh.values()), tuple(mesh))
    equal_bits(found, without_pipeline(whole(loss), state, batches, **options) if reference is None else
               trained(reference, state, batches, **options))


@pytest.mark.parametrize(("schedule", "ranks", "cuts"), [
    ("1f1b", 2, (0,)), ("gpipe", 4, (0, 1, 2)), ("zb-v", 2, (0, 1, 2))])
@pytest.mark.parametrize("is_tied", [False, True])
def test_schedules(schedule, ranks, cuts, is_tied):
    loss = functools.partial(mean_loss, cuts=cuts, is_tied=is_tied)
    layers = len(cuts) + 1
    check(loss, schedule, reference=looped(loss), ranks=ranks, layers=layers, wanted=mean_by_jax(layers, is_tied))


def test_checkpointed_blocks():
    loss = functools.partial(mean_loss, wrap=jax.checkpoint)
    check(loss, reference=looped(loss), wanted=mean_by_jax())
    dots = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    check(functools.partial(mean_loss, wrap=functools.partial(jax.checkpoint, policy=dots)), "zb-h1",
          wanted=mean_by_jax())


@pytest.mark.parametrize("inside", ["dp", "tp", "fsdp"])
def test_parallelism_inside(inside):
    def spec(path, x):
        name = str(path[-1].key)
        if x.ndim < 2 or inside == "dp":
            return P()
        if inside == "fsdp":
            return P("data")
        return P("model", None) if name in ("out", "down") else P(None, "model") if len(path) > 3 else P()

    data = None if inside == "tp" else P("data")
    specs = (jax.tree_util.tree_map_with_path(spec, first_state()), data, data)
    check(mean_loss, mesh={"model" if inside == "tp" else "data": 2}, wanted=mean_by_jax(), in_shardings=specs,
          out_shardings=(specs[0], P()))


# What is computed of a batch


def masked(params, tokens, targets):
    """The mean over all tokens that count, of which micro-batches have different numbers."""
    counts = (targets > tokens % 7).astype(np.float32)
    return jnp.sum(losses_of(params, tokens, targets) * counts) / jnp.maximum(jnp.sum(counts), 1)


def of_each_row(params, tokens, targets):
    """A mean over the tokens of a row, then over rows."""
    counts = (targets > tokens % 7).astype(np.float32)
    return (jnp.sum(losses_of(params, tokens, targets) * counts, -1) / counts.sum(-1)).mean()


def flattened(params, tokens, targets):
    """Of logits without a dimension for rows."""
    logits = jax.nn.log_softmax(logits_of(params, tokens).reshape(-1, VOCABULARY))
    return -(logits * jax.nn.one_hot(targets.reshape(-1), VOCABULARY)).sum() / targets.size


def looked_up(params, tokens, targets):
    """Rows of a table that all micro-batches read, whose gradient is put together behind them."""
    return mean_loss(params | {"positions": jnp.take(params["positions"], jnp.arange(TIME)[::-1], 0)}, tokens, targets)


def with_another(params, tokens, targets):
    """A second loss that goes from stage to stage beside the values, as that of a router."""
    x = block(params["blocks"][0], params["embedding"][tokens])
    x, other = weft.stage_boundary((x, (x * x).mean()))
    logits = jax.nn.log_softmax(block(params["blocks"][1], x) @ params["head"])
    return -jnp.take_along_axis(logits, targets[..., None], axis=-1).mean() + 0.01 * other


def regularized(params, tokens, targets):
    return mean_loss(params, tokens, targets) + 1e-3 * sum(jnp.sum(w * w) for w in jax.tree.leaves(params))


def dropped(params, tokens, targets):
    """The mask is of the random numbers of the whole batch, and recomputed."""

    def dropping(embedding, tokens, seed):
        kept = jax.random.bernoulli(jax.random.fold_in(jax.random.key(3), seed), 0.8, (*tokens.shape, WIDTH))
        return jnp.tanh(jnp.where(kept, embedding[tokens] / 0.8, 0) @ params["head"])

    noise = jax.checkpoint(dropping)(params["embedding"], tokens, targets[0, 0])
    return mean_loss(params, tokens, targets) + (noise * noise).mean()


def centered(params, tokens, targets):
    """What needs no parameter may be a mean over the batch, or a row of it."""
    weights = (tokens - tokens.mean(0)) * (tokens[:1] + tokens[::-1]) / 100
    return (losses_of(params, tokens, targets) * weights).mean()


@pytest.mark.parametrize("loss", [masked, of_each_row, flattened, looked_up, with_another, regularized, dropped, centered])
def test_losses(loss):
    check(loss)


def test_weights_of_classes():
    """An argument that is no batch."""

    def loss(params, tokens, targets, weights):
        return (losses_of(params, tokens, targets) * weights[targets]).sum() / weights[targets].sum()

    weights = np.linspace(0.5, 2, VOCABULARY).astype(np.float32)
    check(loss, batches=[(*batch, weights) for batch in tokens_and_targets()])


def test_numbers_of_rows_and_of_the_batch():
    """Losses of rows come back in their order, counts are integers, a maximum is one of sums."""

    def step(params, tokens, targets):
        def loss(params):
            losses = losses_of(params, tokens, targets)
            return losses.mean(), {"losses": losses, "rows": losses.mean(-1) * 2, "worse": (losses > 3).sum()}

        (value, more), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        more["largest"] = jnp.max(jnp.stack([jnp.abs(g).max() for g in jax.tree.leaves(gradients)]))
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value, more

    args = short_params(), *tokens_and_targets()[0]
    compiled = weft.from_jax(step, *args, mesh=weft.Mesh((2,), ("pipe",)), donate_argnums=0,
                             pipeline=weft.Pipeline("pipe", microbatches=MICROBATCHES)).compile()
    for a, b in zip(*map(jax.tree.leaves, (compiled(*args), jax.jit(step)(*args))), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_sums_are_as_exact_as_those_of_the_batch():
    """Of products that are rounded to 16 bits, the sums are of 32."""

    def loss(params, tokens, targets):
        half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
        return losses_of(half, tokens, targets).astype(jnp.float32).mean()

    batch = tokens_and_targets()[0]
    text = weft.from_jax(whole(loss), first_state(), *batch, donate_argnums=0, mesh=weft.Mesh((2,), ("pipe",)),
                         pipeline=weft.Pipeline("pipe", microbatches=MICROBATCHES)).as_text("graph")
    sums = re.findall(r"weft.microbatch_sum .* : tensor<(?:\d+x)*(\w+)>", text)
    assert set(sums) == {"f32"} and len(sums) > 14


# Stages that the compiler chooses


@pytest.mark.parametrize(("options", "schedule", "ranks"), [
    ({}, "1f1b", 2), ({"is_tied": True}, "auto", 2), ({"wrap": jax.checkpoint}, "zb-h1", 2), ({}, "gpipe", 4)])
def test_stages(options, schedule, ranks):
    check(functools.partial(mean_loss, cuts=(), **options), schedule, ranks=ranks, layers=ranks, stages="auto",
          wanted=mean_by_jax(ranks, "is_tied" in options))


# What is no sum over the batch


def normalized(x):
    return (x - x.mean((0, 1))) / jnp.sqrt(x.var((0, 1)) + 1e-5)


def batch_norm(params, tokens, targets):
    return mean_loss(params, tokens, targets, wrap=lambda f: lambda one, x: normalized(f(one, x)))


def contrastive(params, tokens, targets):
    x = logits_of(params, tokens)[:, 0]
    return -jnp.diag(jax.nn.log_softmax(x @ x.T)).mean()


def hardest(params, tokens, targets):
    return losses_of(params, tokens, targets).mean(-1).max()


def across(params, tokens, targets):
    return (jax.nn.softmax(losses_of(params, tokens, targets), axis=0) * tokens).mean()


def of_learned_weights(params, tokens, targets):
    """A mean divided by a sum that depends on parameters."""
    x = logits_of(params, tokens)[..., 0]
    gates = jax.nn.sigmoid(x)
    return jnp.sum(gates * losses_of(params, tokens, targets)) / jnp.sum(gates)


def shifted(params, tokens, targets):
    x = logits_of(params, tokens)
    return (x[1:] - x[:-1]).mean()


@pytest.mark.parametrize(("loss", "line", "text"), [
    (batch_norm, "return (x - x.mean((0, 1)))",
     "weft.reduce is a sum over its rows that is needed before all of them are computed; compute it for each row, or "
     "let the model have the loop over micro-batches"),
    (contrastive, "x @ x.T", "weft.dot_general of its rows is no sum over them"),
    (hardest, ".mean(-1).max()", "weft.reduce of its rows is no sum over them"),
    (across, "jax.nn.softmax(losses_of", "weft.reduce of its rows is no sum over them"),
    (of_learned_weights, "/ jnp.sum(gates)", "is a sum over its rows that is needed before all of them"),
    (shifted, "(x[1:] - x[:-1])", "weft.slice of its rows is no sum over them"),
])
def test_what_is_no_sum(loss, line, text):
    batch = tokens_and_targets()[0]
    with pytest.raises(weft.CompileError) as raised:
        trained(whole(loss), first_state(), [batch], "1f1b")
    message = str(raised.value)
    assert "the batch cannot be split into 4 micro-batches: " in message
    assert text in message and line in message
    assert 'the batch is "tokens", "targets"' in message or 'the batch is "batch[0]", "batch[1]"' in message


def test_no_batch():
    batch = np.zeros((6, TIME), np.int32), np.zeros((6, TIME), np.int32)
    with pytest.raises(weft.CompileError, match="no argument of @step is a batch that can be split into 4") as raised:
        trained(whole(mean_loss), first_state(), [batch], "1f1b")
    assert '"batch[0]" has 6' in str(raised.value)


def test_a_loop_of_the_model_has_as_many():
    batch = tokens_and_targets()[0]
    with pytest.raises(weft.CompileError, match="the pipeline is to have 8 micro-batches, but the loop of @step is over 4"):
        weft.from_jax(looped(mean_loss), first_state(), *batch, donate_argnums=0, mesh=weft.Mesh((2,), ("pipe",)),
                      pipeline=weft.Pipeline("pipe", microbatches=8)).compile(None)
