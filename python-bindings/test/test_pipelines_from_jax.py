# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of JAX training steps: the bits of the plan without a pipeline, the numbers of jax.jit."""

import functools

import numpy as np
import pytest
from staged_models import equal_bits

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
jnp = jax.numpy

import weft  # noqa: E402
from weft import P  # noqa: E402

VOCABULARY, WIDTH, HEADS, LAYERS, TIME, ROWS, MICROBATCHES, STEPS = 32, 16, 2, 4, 8, 2, 4, 5


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(params, x, memory, is_causal=True, turn=lambda heads: heads):
    def heads(x, name):
        return (x @ params[name]).reshape(*x.shape[:2], -1, WIDTH // HEADS)

    y = jax.nn.dot_product_attention(turn(heads(x, "q")), turn(heads(memory, "k")), heads(memory, "v"),
                                     is_causal=is_causal)
    return y.reshape(x.shape) @ params["out"]


def perceive(params, x):
    return jax.nn.gelu(layer_norm(x) @ params["up"]) @ params["down"]


def block(params, x):
    y = layer_norm(x)
    x = x + attend(params, y, y)
    return x + perceive(params, x)


def first_params():
    r = np.random.default_rng(0)

    def normal(*shape):
        return (r.normal(size=shape) * 0.2).astype(np.float32)

    def one():
        return {name: normal(WIDTH, WIDTH) for name in ("q", "k", "v", "out")} | {
            "up": normal(WIDTH, 2 * WIDTH), "down": normal(2 * WIDTH, WIDTH)}

    return {"embedding": normal(VOCABULARY, WIDTH), "positions": normal(TIME, WIDTH), "head": normal(WIDTH, VOCABULARY),
            "blocks": [one() for _ in range(LAYERS)]}


def batches():
    return np.random.default_rng(1).integers(0, VOCABULARY, (STEPS, 2, MICROBATCHES, ROWS, TIME)).astype(np.int32)


def loss_of(params, tokens, targets, cuts=(1,), wrap=lambda f: f, is_tied=False):
    x = params["embedding"][tokens] + params["positions"]
    for i, one in enumerate(params["blocks"]):
        x = wrap(block)(one, x)
        if i in cuts:
            x = weft.stage_boundary(x)
    logits = layer_norm(x) @ (params["embedding"].T if is_tied else params["head"])
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()


def gradients_of(params, tokens, targets, loss=loss_of, **options):
    """The means over micro-batches, in a loop of JAX."""

    def add(total, batch):
        return jax.tree.map(jnp.add, total, jax.value_and_grad(functools.partial(loss, **options))(
            params, *batch)), None

    zero = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
    total, _ = jax.lax.scan(add, zero, (tokens, targets))
    return jax.tree.map(lambda x: x / MICROBATCHES, total)


def adam_step(first=first_params, **options):
    """Adam with decay on clipped gradients, written out."""

    def step(state, tokens, targets):
        params, count = state["params"], state["count"] + 1
        value, gradients = gradients_of(params, tokens, targets, **options)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), gradients)
        rate = 0.01 * jnp.minimum(1.0, count / 3)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], gradients)
        params = jax.tree.map(lambda p, m, v: p - rate * (m / (jnp.sqrt(v) + 1e-3) + 0.1 * p), params, m, v)
        return {"params": params, "m": m, "v": v, "count": count}, value

    params = first()
    zeros = jax.tree.map(np.zeros_like, params)
    return step, {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}


def train(function, state):
    losses = []
    for tokens, targets in batches():
        state, loss = function(state, tokens, targets)
        losses.append(np.float32(loss))
    return losses, jax.tree.map(np.array, state)


def ours(step, state, pipeline=None, mesh=None, **options):
    """The step that weft compiles, with the axis of the pipeline on its mesh."""
    axes = ({"pipe": pipeline[0]} if pipeline else {}) | (mesh or {})
    if axes:
        options["mesh"] = weft.Mesh(tuple(axes.values()), tuple(axes))
    if pipeline:
        options["pipeline"] = weft.Pipeline("pipe", pipeline[1])
    compiled = weft.from_jax(step, state, *batches()[0], donate_argnums=0, **options).compile()
    return train(compiled, state)


def check(step, state, pipeline, wanted=None, **options):
    compare(ours(step, state, pipeline, **options), ours(step, state, **options), wanted or train(jax.jit(step), state))


def compare(found, without, wanted):
    equal_bits(found, without)
    for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)


@functools.cache
def by_weft(**options):
    """Without a pipeline."""
    return ours(*adam_step(**options))


@functools.cache
def by_jax(is_tied):
    """Boundaries and recomputation change none of its numbers."""
    step, state = adam_step(is_tied=is_tied)
    return train(jax.jit(step), state)


@pytest.mark.parametrize("ranks, schedule", [
    (2, "gpipe"), (2, "1f1b"), (4, "zb-h1"), (4, "eager-1f1b"), (2, "zb-h2"), (2, "interleaved-1f1b"), (2, "looped-bfs"),
    (2, "interleaved-zb"), (2, "zb-v"), (2, "v-half"), (2, "v-min"), (2, "dualpipev")])
def test_schedules(ranks, schedule):
    has_two = ranks == 2 and schedule in ("gpipe", "1f1b", "zb-h2")
    options = {"cuts": (1,) if has_two else (0, 1, 2), "is_tied": schedule in ("1f1b", "zb-v")}
    compare(ours(*adam_step(**options), (ranks, schedule)), by_weft(**options), by_jax(options["is_tied"]))


def t5_params():
    params = first_params()
    names = ("q", "k", "v", "out")
    return params | {"cross": [{name: one[name].T.copy() for name in names} for one in params["blocks"][LAYERS // 2:]]}


def t5_loss(params, tokens, targets, cuts):
    """An encoder, whose result both blocks of a decoder use, and a tied head."""
    x = params["embedding"][tokens] + params["positions"]
    for i, one in enumerate(params["blocks"]):
        is_decoder = i >= LAYERS // 2
        if i == LAYERS // 2:
            memory, x = layer_norm(x), params["embedding"][targets] + params["positions"]
        y = layer_norm(x)
        x = x + attend(one, y, y, is_causal=is_decoder)
        if is_decoder:
            x = x + attend(params["cross"][i - LAYERS // 2], layer_norm(x), memory, is_causal=False)
        x = x + perceive(one, x)
        if i in cuts:
            x = weft.stage_boundary(x)
    logits = layer_norm(x) @ params["embedding"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()


def llama_params():
    params = first_params()
    for one in params["blocks"]:
        # Heads share keys and values.
        one |= {"k": one["k"][:, ::HEADS], "v": one["v"][:, ::HEADS], "gate": one["up"][::-1].copy()}
    return params


def rms_norm(x):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def rotate(x):
    """Features by the angle of their position."""
    a, b = jnp.split(x, 2, axis=-1)
    angles = jnp.arange(x.shape[1])[:, None] * 100.0 ** -jnp.linspace(0, 1, a.shape[-1])
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def llama_loss(params, tokens, targets, cuts):
    x = params["embedding"][tokens]
    for i, one in enumerate(params["blocks"]):
        y = rms_norm(x)
        x = x + attend(one, y, y, turn=rotate)
        y = rms_norm(x)
        x = x + (jax.nn.silu(y @ one["gate"]) * (y @ one["up"])) @ one["down"]
        if i in cuts:
            x = weft.stage_boundary(x)
    logits = rms_norm(x) @ params["head"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()


@pytest.mark.parametrize("model, ranks, schedule", [
    ((t5_loss, t5_params), 4, "1f1b"), ((t5_loss, t5_params), 2, "zb-v"), ((llama_loss, llama_params), 4, "zb-h1")])
def test_models(model, ranks, schedule):
    loss, params = model
    check(*adam_step(params, loss=loss, cuts=(0, 1, 2)), (ranks, schedule))


def test_what_has_no_gradient():
    _, state = adam_step()
    tokens, targets = (x.reshape(-1, x.shape[-1]) for x in batches()[0])
    loss = functools.partial(loss_of, cuts=(0,))
    pipeline = weft.Pipeline("pipe", microbatches=4)
    compiled = weft.from_jax(loss, state["params"], tokens, targets,
                             mesh=weft.Mesh((2,), ("pipe",)), pipeline=pipeline).compile()
    assert compiled.schedule().microbatches == 4
    np.testing.assert_allclose(compiled(state["params"], tokens, targets),
                               jax.jit(loss)(state["params"], tokens, targets), rtol=1e-5)


def test_parameters_that_nobody_uses():
    """Of a tied model the head; the loop adds zeros to its gradient."""
    step, state = adam_step(is_tied=True)
    text = weft.from_jax(step, state, *batches()[0]).as_text("graph")
    # Not the head, but the loss, and a sum a stage for the embedding.
    assert text.count("weft.microbatch_sum") == len(jax.tree.leaves(state["params"])) - 1 + 1 + 1


POLICIES = {"all": None, "dots": "dots_saveable", "batched dots": "dots_with_no_batch_dims_saveable"}


@pytest.mark.parametrize("policy", POLICIES)
def test_checkpointed_blocks(policy):
    chosen = POLICIES[policy] and getattr(jax.checkpoint_policies, POLICIES[policy])
    step, state = adam_step(wrap=functools.partial(jax.checkpoint, policy=chosen))
    check(step, state, (2, "zb-h1"), by_jax(False))


@pytest.mark.parametrize("inside", ["dp", "tp", "fsdp"])
def test_parallelism_inside(inside):
    step, state = adam_step()
    data = "data" if inside != "tp" else None

    def spec(path, x):
        name = str(path[-1].key)
        if x.ndim < 2 or inside == "dp":
            return P()
        if inside == "fsdp":
            return P("data")
        return P("model", None) if name in ("out", "down") else P(None, "model") if len(path) > 3 else P()

    specs = (jax.tree_util.tree_map_with_path(spec, state), P(None, data), P(None, data))
    check(step, state, (2, "1f1b"), by_jax(False), mesh={"data" if data else "model": 2}, in_shardings=specs,
          out_shardings=(specs[0], P()))


def test_optax():
    optax = pytest.importorskip("optax", reason="optax is not installed here")
    rule = optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(
        optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 10), eps=1e-3))

    def step(state, tokens, targets):
        value, gradients = gradients_of(state["params"], tokens, targets)
        updates, moments = rule.update(gradients, state["optimizer"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "optimizer": moments}, value

    params = first_params()
    check(step, {"params": params, "optimizer": jax.tree.map(np.asarray, rule.init(params))}, (2, "1f1b"))


def test_flax():
    nn = pytest.importorskip("flax.linen", reason="flax is not installed here")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            embed = nn.Embed(VOCABULARY, WIDTH)
            x = embed(tokens)
            for i in range(LAYERS):
                x = x + nn.Dense(WIDTH)(jnp.tanh(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
                if i == 1:
                    x = weft.stage_boundary(x)
            return embed.attend(nn.LayerNorm()(x))

    model = Model()

    def step(state, tokens, targets):
        def loss(params, tokens, targets):
            logits = model.apply(params, tokens)
            return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()

        def add(total, batch):
            return jax.tree.map(jnp.add, total, jax.value_and_grad(loss)(state, *batch)), None

        total, _ = jax.lax.scan(add, (jnp.zeros(()), jax.tree.map(jnp.zeros_like, state)), (tokens, targets))
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, total[1]), total[0] / MICROBATCHES

    params = jax.tree.map(np.array, model.init(jax.random.key(0), batches()[0, 0, 0]))
    check(step, params, (2, "zb-h1"))
