# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX training steps as one finds them: what is unusual in each of them is what pipelines have to get right."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import weft

VOCABULARY, WIDTH, TIME, BATCH, STEPS, LAYERS = 24, 16, 6, 8, 5, 4


def normal(seed, *shape, scale=0.3):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def texts():
    r = np.random.default_rng(7)
    return [tuple(r.integers(0, VOCABULARY, (2, BATCH, TIME)).astype(np.int32)) for _ in range(STEPS)]


def points():
    r = np.random.default_rng(8)
    return [tuple(r.normal(size=(2, BATCH, WIDTH)).astype(np.float32)) for _ in range(STEPS)]


def cut(x, layer, cuts):
    return weft.stage_boundary(x) if layer in cuts else x


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def mlp(params, x):
    return x + jax.nn.gelu(norm(x) @ params["up"]) @ params["down"]


def mlps(layers=LAYERS):
    return [{"up": normal(10 + i, WIDTH, 2 * WIDTH), "down": normal(20 + i, 2 * WIDTH, WIDTH)} for i in range(layers)]


def attention(params, x):
    q, k, v = jnp.split(norm(x) @ params["qkv"], 3, axis=-1)
    scores = jnp.where(jnp.tril(jnp.ones((TIME, TIME), bool)), q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH), -1e9)
    return x + jax.nn.softmax(scores) @ v @ params["out"]


def transformer():
    blocks = [one | {"qkv": normal(30 + i, WIDTH, 3 * WIDTH), "out": normal(40 + i, WIDTH, WIDTH)}
              for i, one in enumerate(mlps())]
    return {"embedding": normal(0, VOCABULARY, WIDTH), "positions": normal(1, TIME, WIDTH), "blocks": blocks}


def cross_entropy(logits, targets):
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def with_optax(loss, params, optimizer, has_aux=False):
    """The loop body of the optax documentation."""

    def step(state, *batch):
        params, moments = state
        value, gradients = jax.value_and_grad(loss, has_aux=has_aux)(params, *batch)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments), value

    return step, (params, jax.tree.map(np.asarray, optimizer.init(params)))


def tied_embeddings(cuts):
    def loss(params, tokens, targets):
        x = params["embedding"][tokens] + params["positions"]
        for i, block in enumerate(params["blocks"]):
            x = cut(mlp(block, attention(block, x)), i, cuts)
        return cross_entropy(norm(x) @ params["embedding"].T, targets)

    return *with_optax(loss, transformer(), optax.adamw(1e-2)), texts()


def skip_connections(cuts):
    """A U of layers: what the first half computes the second half uses, in the opposite order."""

    def loss(params, x, y):
        kept = []
        for i, (one, mix) in enumerate(zip(params["layers"], params["mix"], strict=True)):
            if i < LAYERS // 2:
                x = mlp(one, x)
                kept.append(x)
            else:
                x = mlp(one, x + kept.pop() @ mix)
            x = cut(x, i, cuts)
        return jnp.mean((x - y) ** 2)

    params = {"layers": mlps(), "mix": [normal(50 + i, WIDTH, WIDTH) for i in range(LAYERS)]}
    return *with_optax(loss, params, optax.sgd(0.02, momentum=0.9)), points()


def dropout(cuts):
    """A key in the state, a mask for every layer."""

    def loss(params, key, x, y):
        for i, one in enumerate(params):
            x = mlp(one, x)
            keep = jax.random.bernoulli(jax.random.fold_in(key, i), 0.9, x.shape)
            x = cut(jnp.where(keep, x / 0.9, 0), i, cuts)
        return jnp.mean((x - y) ** 2)

    def step(state, x, y):
        key, now = jax.random.split(state["key"])
        value, gradients = jax.value_and_grad(loss)(state["params"], now, x, y)
        return {"params": jax.tree.map(lambda p, g: p - 0.1 * g, state["params"], gradients), "key": key}, value

    return step, {"params": mlps(), "key": np.asarray(jax.random.PRNGKey(0))}, points()


def clipped_adam(cuts):
    def loss(params, tokens, targets):
        x = params["embedding"][tokens] + params["positions"]
        for i, block in enumerate(params["blocks"]):
            x = cut(mlp(block, attention(block, x)), i, cuts)
        return cross_entropy(norm(x) @ params["head"], targets)

    rate = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 10)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate))
    return *with_optax(loss, transformer() | {"head": normal(2, WIDTH, VOCABULARY)}, optimizer), texts()


def checkpointed(cuts):
    block = jax.checkpoint(lambda one, x: mlp(one, attention(one, x)),
                           policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)

    def loss(params, tokens, targets):
        x = params["embedding"][tokens] + params["positions"]
        for i, one in enumerate(params["blocks"]):
            x = cut(block(one, x), i, cuts)
        return cross_entropy(x @ params["head"], targets)

    return *with_optax(loss, transformer() | {"head": normal(2, WIDTH, VOCABULARY)}, optax.lion(1e-2)), texts()


def scanned(cuts):
    """Layers that lie in an array for each stage, in a scan."""

    def loss(params, x, y):
        for i, layers in enumerate(params):
            x, _ = jax.lax.scan(lambda x, one: (mlp(one, x), None), x, layers)
            if i < len(params) - 1:
                x = weft.stage_boundary(x)
        return jnp.mean((x - y) ** 2)

    layers, ends = mlps(), [-1, *sorted(cuts), LAYERS - 1]
    groups = [layers[begin + 1:end + 1] for begin, end in zip(ends, ends[1:], strict=False)]
    params = [jax.tree.map(lambda *each: np.stack(each), *group) for group in groups]
    return *with_optax(loss, params, optax.adam(1e-2)), points()


def frozen(cuts):
    """Adapters of low rank beside matrices that nobody trains."""

    def loss(trained, frozen, tokens, targets):
        x = frozen["embedding"][tokens] + frozen["positions"]
        for i, (block, one) in enumerate(zip(frozen["blocks"], trained, strict=True)):
            x = mlp(block, attention(block, x))
            x = cut(x + x @ one["a"] @ one["b"], i, cuts)
        return cross_entropy(x @ frozen["embedding"].T, targets)

    optimizer = optax.adam(1e-2)

    def step(state, tokens, targets):
        value, gradients = jax.value_and_grad(loss)(state["adapters"], state["model"], tokens, targets)
        updates, moments = optimizer.update(gradients, state["moments"])
        return state | {"adapters": optax.apply_updates(state["adapters"], updates), "moments": moments}, value

    adapters = [{"a": normal(60 + i, WIDTH, 2), "b": np.zeros((2, WIDTH), np.float32)} for i in range(LAYERS)]
    return step, {"adapters": adapters, "model": transformer(),
                  "moments": jax.tree.map(np.asarray, optimizer.init(adapters))}, texts()


def auxiliary_loss(cuts):
    """Experts whose use is balanced by a term of the loss in every layer, and metrics beside the loss."""

    def loss(params, x, y):
        balance, entropy = 0.0, 0.0
        for i, one in enumerate(params["layers"]):
            gates = jax.nn.softmax(x @ params["gates"][i])
            balance += jnp.mean(jnp.sum(gates ** 2, -1))
            entropy += -jnp.mean(jnp.sum(gates * jnp.log(gates), -1))
            x = mlp(one, x) * gates[:, :1] + x * gates[:, 1:2]
            x = cut(x, i, cuts)
        error = jnp.mean((x - y) ** 2)
        return error + 0.01 * balance, {"error": error, "entropy": entropy / LAYERS}

    params = {"layers": mlps(), "gates": [normal(70 + i, WIDTH, 4) for i in range(LAYERS)]}
    return *with_optax(loss, params, optax.adam(1e-2), has_aux=True), points()


def running_states(cuts):
    """Layers that are normalized by running means, which the step updates."""

    def loss(params, states, x, y):
        found = []
        for i, (one, state) in enumerate(zip(params, states, strict=True)):
            found.append({"mean": 0.9 * state["mean"] + 0.1 * x.mean(0),
                          "square": 0.9 * state["square"] + 0.1 * (x ** 2).mean(0)})
            scale = jax.lax.rsqrt(state["square"] - state["mean"] ** 2 + 1.0)
            x = cut(mlp(one, (x - state["mean"]) * scale), i, cuts)
        return jnp.mean((x - y) ** 2), jax.lax.stop_gradient(found)

    def step(state, x, y):
        (value, found), gradients = jax.value_and_grad(loss, has_aux=True)(state["params"], state["states"], x, y)
        return {"params": jax.tree.map(lambda p, g: p - 0.1 * g, state["params"], gradients), "states": found}, value

    zeros = [{"mean": np.zeros(WIDTH, np.float32), "square": np.ones(WIDTH, np.float32)} for _ in range(LAYERS)]
    return step, {"params": mlps(), "states": zeros}, points()
