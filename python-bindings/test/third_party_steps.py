# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps as others write them: recurrences, attention of many kinds, experts, graphs, agents,
generative models, and libraries of layers and optimizers. Each builder gives (step, state, batches);
a step takes a state and the arrays of a batch, and returns the next state and values."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax, nn
from jax.example_libraries import optimizers, stax


def _keys(count):
    return jax.random.split(jax.random.key(0), count)


def _linear(key, n, m):
    return {"w": jax.random.normal(key, (n, m)) / np.sqrt(n), "b": jnp.zeros(m)}


def _apply(p, x):
    return x @ p["w"] + p["b"]


def _batches(make, count=3):
    return [make(np.random.default_rng(7 + i)) for i in range(count)]


def _floats(random, *shape):
    return random.normal(size=shape).astype(np.float32)


def _ints(random, limit, *shape):
    return random.integers(0, limit, shape).astype(np.int32)


def _entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def _trained(loss, params, optimizer, make):
    def step(state, *batch):
        params, inner = state
        value, grads = jax.value_and_grad(loss)(params, *batch)
        updates, inner = optimizer.update(grads, inner, params)
        return (optax.apply_updates(params, updates), inner), value

    return step, (params, optimizer.init(params)), _batches(make)


def selective_scan():
    """A state space model whose steps depend on the input, by an associative scan."""
    d, n = 8, 4
    keys = _keys(6)
    params = {
        "in": jax.random.normal(keys[0], (d, 2 * d)) / 3, "conv": jax.random.normal(keys[1], (4, 1, d)) / 2,
        "step": jax.random.normal(keys[2], (d, d)) / 3, "b": jax.random.normal(keys[3], (d, n)) / 3,
        "c": jax.random.normal(keys[4], (d, n)) / 3, "a": jnp.log(jnp.broadcast_to(jnp.arange(1.0, n + 1), (d, n))),
        "out": jax.random.normal(keys[5], (d, d)) / 3}

    def loss(p, x):
        u, gate = jnp.split(x @ p["in"], 2, -1)
        u = nn.silu(lax.conv_general_dilated(u, p["conv"], (1,), [(3, 0)], dimension_numbers=("NWC", "WIO", "NWC"),
                                             feature_group_count=d))
        step = nn.softplus(u @ p["step"] - 2)
        decay = jnp.exp(jnp.einsum("bld,dn->bldn", step, -jnp.exp(p["a"])))
        given = jnp.einsum("bld,bln,bld->bldn", step, u @ p["b"], u)
        _, state = lax.associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (decay, given), axis=1)
        y = jnp.einsum("bldn,bln->bld", state, u @ p["c"]) + u
        return jnp.mean(((y * nn.silu(gate)) @ p["out"] - x[:, ::-1]) ** 2)

    return _trained(loss, params, optax.sgd(0.1, momentum=0.9), lambda r: (_floats(r, 4, 8, 8),))


def latent_attention():
    """Keys and values from a latent vector, with positions beside them."""
    d, heads, rank, size = 16, 4, 8, 4
    keys = _keys(6)
    params = {
        "embed": jax.random.normal(keys[0], (20, d)) * 0.3, "down_q": jax.random.normal(keys[1], (d, rank)) / 4,
        "up_q": jax.random.normal(keys[2], (rank, heads * 2 * size)) / 3,
        "down_kv": jax.random.normal(keys[3], (d, rank + size)) / 4,
        "up_kv": jax.random.normal(keys[4], (rank, heads * 2 * size)) / 3,
        "out": jax.random.normal(keys[5], (heads * size, d)) / 4, "norm": jnp.ones(rank)}

    def normed(x, scale):
        return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale

    def turned(x):
        angle = jnp.arange(x.shape[1])[:, None] * 100.0 ** (-jnp.arange(0, size, 2) / size)
        cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
        a, b = x[..., ::2], x[..., 1::2]
        return jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

    def loss(p, tokens):
        x = p["embed"][tokens[:, :-1]]
        batch, length = x.shape[:2]
        q, q_turned = jnp.split((normed(x @ p["down_q"], p["norm"]) @ p["up_q"]).reshape(batch, length, heads, -1), 2, -1)
        latent, k_turned = jnp.split(x @ p["down_kv"], [rank], -1)
        k, v = jnp.split((normed(latent, p["norm"]) @ p["up_kv"]).reshape(batch, length, heads, -1), 2, -1)
        k_turned = jnp.broadcast_to(turned(k_turned[:, :, None]), k.shape)
        q, k = jnp.concatenate([q, turned(q_turned)], -1), jnp.concatenate([k, k_turned], -1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (2 * size) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v).reshape(batch, length, -1) @ p["out"]
        return _entropy(x @ p["embed"].T, tokens[:, 1:])

    return _trained(loss, params, optax.adamw(1e-2, eps=1e-4), lambda r: (_ints(r, 20, 4, 9),))


def decoding():
    """A cache that is written at a computed position, a token after the other."""
    keys = _keys(4)
    params = {"embed": jax.random.normal(keys[0], (12, 8))} | {
        name: jax.random.normal(key, (8, 8)) / 3 for name, key in zip("qkv", keys[1:])}

    def step(state, token):
        p, cache, position = state

        def one(carry, _):
            token, (keys, values), at = carry
            x = p["embed"][token]
            keys = lax.dynamic_update_slice(keys, (x @ p["k"])[:, None], (0, at, 0))
            values = lax.dynamic_update_slice(values, (x @ p["v"])[:, None], (0, at, 0))
            scores = jnp.where(jnp.arange(16) <= at, jnp.einsum("bd,bld->bl", x @ p["q"], keys), -jnp.inf)
            logits = (x + jnp.einsum("bl,bld->bd", nn.softmax(scores), values)) @ p["embed"].T
            return (jnp.argmax(logits, -1).astype(jnp.int32), (keys, values), at + 1), logits

        (token, cache, position), logits = lax.scan(one, (token, cache, position), None, length=5)
        return (p, cache, position), (token, logits)

    cache = jnp.zeros((4, 16, 8)), jnp.zeros((4, 16, 8))
    return step, (params, cache, jnp.int32(0)), _batches(lambda r: (_ints(r, 12, 4),))


def graph_attention():
    """A softmax over the edges of each node."""
    keys = _keys(3)
    params = {"w": jax.random.normal(keys[0], (8, 2, 4)) / 3, "a": jax.random.normal(keys[1], (2, 8)) / 3,
              "out": _linear(keys[2], 8, 3)}

    def loss(p, x, source, target, labels):
        h = jnp.einsum("nd,dhk->nhk", x, p["w"])
        scores = nn.leaky_relu((jnp.concatenate([h[source], h[target]], -1) * p["a"]).sum(-1), 0.2)
        most = lax.stop_gradient(jax.ops.segment_max(scores, target, 16))
        weights = jnp.exp(scores - most[target])
        weights = weights / (jax.ops.segment_sum(weights, target, 16)[target] + 1e-9)
        h = jnp.zeros_like(h).at[target].add(weights[..., None] * h[source])
        return _entropy(_apply(p["out"], nn.elu(h.reshape(16, 8))), labels)

    def make(r):
        to = np.concatenate([np.arange(16), _ints(r, 16, 32)]).astype(np.int32)
        return _floats(r, 16, 8), _ints(r, 16, 48), to, _ints(r, 3, 16)

    return _trained(loss, params, optax.sgd(0.1, momentum=0.9), make)


def policy_gradient():
    """PPO: advantages by a reversed scan, clipped ratios."""
    keys = _keys(3)
    params = {"body": _linear(keys[0], 6, 16), "policy": _linear(keys[1], 16, 4), "value": _linear(keys[2], 16, 1)}

    def loss(p, seen, action, old, reward, done, value):
        def back(later, now):
            reward, done, following, value = now
            later = reward + 0.99 * following * (1 - done) - value + 0.94 * (1 - done) * later
            return later, later

        following = jnp.concatenate([value[1:], value[-1:]], 0)
        _, gain = lax.scan(back, jnp.zeros(reward.shape[1]), (reward, done, following, value), reverse=True)
        target = gain + value
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        h = jnp.tanh(_apply(p["body"], seen))
        log = nn.log_softmax(_apply(p["policy"], h))
        ratio = jnp.exp(jnp.take_along_axis(log, action[..., None], -1)[..., 0] - old)
        chosen = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()
        error = jnp.mean((_apply(p["value"], h)[..., 0] - target) ** 2)
        return 0.5 * error - chosen + 0.01 * jnp.sum(jnp.exp(log) * log, -1).mean()

    def make(r):
        return (_floats(r, 8, 4, 6), _ints(r, 4, 8, 4), -np.abs(_floats(r, 8, 4)), _floats(r, 8, 4),
                (r.random((8, 4)) < 0.2).astype(np.float32), _floats(r, 8, 4))

    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3, eps=1e-3))
    return _trained(loss, params, optimizer, make)


def quantized_codes():
    """A VQ-VAE: straight-through gradients, a codebook of moving averages."""
    keys = _keys(3)
    params, codes = {"in": _linear(keys[0], 12, 4), "out": _linear(keys[1], 4, 12)}, jax.random.normal(keys[2], (8, 4))

    def step(state, x):
        params, codes, counts, sums = state

        def loss(p):
            z = _apply(p["in"], x)
            index = jnp.argmin((z**2).sum(-1, keepdims=True) - 2 * z @ codes.T + (codes**2).sum(-1), -1)
            found = z + lax.stop_gradient(codes[index] - z)
            far = jnp.mean((z - codes[index]) ** 2)
            return jnp.mean((_apply(p["out"], found) - x) ** 2) + 0.25 * far, (z, index)

        (value, (z, index)), grads = jax.value_and_grad(loss, has_aux=True)(params)
        params = jax.tree.map(lambda p, g: p - 0.05 * g, params, grads)
        hot = nn.one_hot(index, 8)
        counts, sums = 0.9 * counts + 0.1 * hot.sum(0), 0.9 * sums + 0.1 * hot.T @ z
        return (params, sums / (counts + 1e-5)[:, None], counts, sums), (value, index)

    return step, (params, codes, jnp.ones(8), codes), _batches(lambda r: (_floats(r, 8, 12),))


def private_gradients():
    """The gradient of each example, clipped, with noise."""
    keys = _keys(2)
    params = {"a": _linear(keys[0], 8, 16), "b": _linear(keys[1], 16, 4)}

    def step(state, x, y):
        params, key = state
        key, noise = jax.random.split(key)

        def loss(p, x, y):
            return _entropy(_apply(p["b"], nn.relu(_apply(p["a"], x[None]))), y[None])

        values, grads = jax.vmap(jax.value_and_grad(loss), (None, 0, 0))(params, x, y)
        scale = jnp.minimum(1, 1 / jax.vmap(optax.global_norm)(grads))
        leaves, structure = jax.tree.flatten(jax.tree.map(lambda g: jnp.einsum("b,b...->...", scale, g) / len(x), grads))
        keys = jax.random.split(noise, len(leaves))
        grads = structure.unflatten([g + 0.01 * jax.random.normal(key, g.shape) for g, key in zip(leaves, keys)])
        return (jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), key), values.mean()

    return step, (params, jax.random.key(1)), _batches(lambda r: (_floats(r, 8, 8), _ints(r, 4, 8)))


def stax_layers():
    """Layers and optimizer of jax.example_libraries, whose state is a container of its own."""
    init, apply = stax.serial(
        stax.Conv(8, (3, 3), padding="SAME"), stax.Relu, stax.MaxPool((3, 3), (2, 2)), stax.FanOut(2),
        stax.parallel(stax.Identity, stax.serial(stax.Conv(8, (1, 1)), stax.Tanh)), stax.FanInSum,
        stax.AvgPool((2, 2)), stax.Flatten, stax.Dropout(0.8), stax.Dense(5), stax.LogSoftmax)
    _, params = init(jax.random.key(0), (-1, 8, 8, 3))
    begin, update, params_of = optimizers.adam(0.01, eps=1e-3)

    def step(state, x, y):
        inner, count, key = state
        key, noise = jax.random.split(key)
        value, grads = jax.value_and_grad(
            lambda p: -jnp.mean(jnp.sum(apply(p, x, rng=noise) * nn.one_hot(y, 5), 1)))(params_of(inner))
        return (update(count, optimizers.clip_grads(grads, 1.0), inner), count + 1, key), value

    return step, (begin(params), jnp.int32(0), jax.random.PRNGKey(0)), _batches(
        lambda r: (_floats(r, 4, 8, 8, 3), _ints(r, 5, 4)))


def line_search():
    """L-BFGS: a loop that ends when the step is good enough."""
    optimizer = optax.lbfgs(memory_size=3, linesearch=optax.scale_by_zoom_linesearch(max_linesearch_steps=3))

    def step(state, a, b):
        params, inner = state

        def loss(p):
            return jnp.mean((a @ p - b) ** 2)

        value, grad = jax.value_and_grad(loss)(params)
        updates, inner = optimizer.update(grad, inner, params, value=value, grad=grad, value_fn=loss)
        return (optax.apply_updates(params, updates), inner), value

    return step, (jnp.ones(6), optimizer.init(jnp.ones(6))), _batches(lambda r: (_floats(r, 8, 6), _floats(r, 8)), 2)


EVERY = (selective_scan, latent_attention, decoding, graph_attention, policy_gradient, quantized_codes,
         private_gradients, stax_layers, line_search)
