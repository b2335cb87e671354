# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and training steps in JAX, written as JAX users write them.

An MLP, a GPT-2 and a Llama, AdamW with clipping by the global norm, and the
layouts under which a step is lowered. Fixtures, numeric tests and benchmarks
are made from them:

    config = GPT2Config(layers=2, width=64)
    layout = Layout(jax.make_mesh((4, 2), ("data", "model")), "DP+TP")
    step = train_step(partial(gpt2_loss, config=config, layout=layout), adamw())
    state = init_state(gpt2_init(jax.random.key(0), config), adamw())
    batch = lm_batch(jax.random.key(1), config, size=8)
    state, batch = place(layout, state, batch)
    lowered = jit_step(step, layout, state, batch).lower(state, batch)

Parameters are a tree of dicts and lists; a batch is a dict of arrays.
"""

import dataclasses
import re
from functools import partial
from typing import Any, Callable, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

# ===----------------------------------------------------------------------===
# Layouts
# ===----------------------------------------------------------------------===

STYLES = ("DP", "TP", "DP+TP", "FSDP", "FSDP+TP", "SP")

# The kinds of a parameter's last dimensions, by the end of its path: "tp" is
# split by tensor parallelism, "fsdp" by fully sharded data parallelism. What no
# pattern matches (norms, biases of whole rows, counters) is never split.
PARAMETER_KINDS = [
    (r"\['wte'\]", ("tp", "fsdp")),
    (r"\['wpe'\]", (None, "fsdp")),
    (r"\['w[qkv]'\]", ("fsdp", "tp")),
    (r"\['b[qkv]'\]", ("tp",)),
    (r"\['wo'\]", ("tp", "fsdp")),
    (r"\['(w1|gate|up)'\]", ("fsdp", "tp")),
    (r"\['b1'\]", ("tp",)),
    (r"\['(w2|down)'\]", ("tp", "fsdp")),
    (r"\['head'\]", ("fsdp", "tp")),
]


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a model lies on a mesh with the axes "data" and "model".

    DP      the batch over "data"
    TP      weights over "model" after Megatron
    FSDP    the batch, and parameters and optimizer state at rest, over "data"
    SP      DP+TP, and the sequence between the blocks over "model"
    """

    mesh: Any = None
    style: str = "DP"

    @property
    def is_explicit(self):
        return self.mesh is not None and AxisType.Explicit in self.mesh.axis_types

    @property
    def kinds(self):
        """The mesh axis of each kind of a dimension; none for a kind that the
        style leaves whole."""
        parts = set(self.style.split("+"))
        return {
            "batch": "data" if parts & {"DP", "FSDP", "SP"} else None,
            "fsdp": "data" if "FSDP" in parts else None,
            "tp": "model" if parts & {"TP", "SP"} else None,
            "sequence": "model" if "SP" in parts else None,
            None: None,
        }

    def spec(self, *dims):
        return P(*(self.kinds[dim] for dim in dims))

    def constrain(self, x, *dims):
        """States the sharding of an activation."""
        if self.mesh is None:
            return x
        if self.is_explicit:
            return jax.sharding.reshard(x, self.spec(*dims))
        return jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, self.spec(*dims)))

    def out(self, *dims):
        """The keyword that tells an op the sharding of its result. With axes of
        type Auto propagation finds it."""
        return {"out_sharding": self.spec(*dims)} if self.is_explicit else {}

    def state_specs(self, tree):
        """A tree of specs for parameters, or for anything that holds trees with
        their paths: optimizer states."""
        def of_leaf(path, leaf):
            text = jax.tree_util.keystr(path)
            for pattern, kinds in PARAMETER_KINDS:
                if re.search(pattern + "$", text):
                    stacked = (None,) * (jnp.ndim(leaf) - len(kinds))
                    return self.spec(*stacked, *kinds)
            return P()
        return jax.tree_util.tree_map_with_path(of_leaf, tree)

    def batch_specs(self, batch):
        return jax.tree.map(lambda leaf: self.spec("batch", *[None] * (jnp.ndim(leaf) - 1)), batch)

    def shardings(self, specs):
        return jax.tree.map(lambda spec: NamedSharding(self.mesh, spec), specs,
                            is_leaf=lambda leaf: isinstance(leaf, P))


NO_LAYOUT = Layout()

# ===----------------------------------------------------------------------===
# Parts of models
# ===----------------------------------------------------------------------===


def normal(key, *shape, scale=0.02, dtype=jnp.float32):
    return scale * jax.random.normal(key, shape, dtype)


def cross_entropy(logits, targets):
    """The mean over all positions of -log p(target)."""
    logp = jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1)
    return -jnp.mean(jnp.take_along_axis(logp, targets[..., None], axis=-1))


def one_hot_cross_entropy(logits, targets):
    """The same without indexing, which axes of type Explicit need."""
    logp = jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1)
    hot = jax.nn.one_hot(targets, logits.shape[-1], dtype=logp.dtype)
    return -jnp.mean(jnp.sum(logp * hot, axis=-1))


def embed(table, tokens, layout):
    if layout.is_explicit:
        table = layout.constrain(table, None, None)
        return table.at[tokens].get(**layout.out("batch", None, None))
    return table[tokens]


def lm_loss(logits, targets, layout):
    if layout.is_explicit:
        logits = layout.constrain(logits, "batch", None, None)
        return one_hot_cross_entropy(logits, targets)
    return cross_entropy(logits, targets)


def attention(q, k, v, layout):
    """Causal attention of q [batch, time, groups, heads, size] over k and v
    [batch, time, groups, size]: every head of a group reads the same keys."""
    time, size = q.shape[1], q.shape[-1]
    scores = jnp.einsum("bqghd,bkgd->bghqk", q, k) * size**-0.5
    mask = jnp.tril(jnp.ones((time, time), dtype=bool))
    scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(q.dtype)
    return jnp.einsum("bghqk,bkgd->bqghd", weights, v)


def apply_blocks(block, x, blocks, scan):
    """Runs x through blocks: a list of parameter trees, or with `scan` one tree
    with the layers stacked, each layer rematerialised in the backward pass."""
    if not scan:
        for parameters in blocks:
            x = block(parameters, x)
        return x
    def body(x, parameters):
        return block(parameters, x), None
    return jax.lax.scan(jax.checkpoint(body), x, blocks)[0]


def stack(blocks):
    """A list of equal trees as one tree of stacked leaves."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *blocks)


# ===----------------------------------------------------------------------===
# MLP
# ===----------------------------------------------------------------------===


@dataclasses.dataclass(frozen=True)
class MLPConfig:
    inputs: int = 32
    width: int = 64
    classes: int = 16


def mlp_init(key, config):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "w1": normal(k1, config.inputs, config.width),
        "b1": jnp.zeros(config.width),
        "w2": normal(k2, config.width, config.width),
        "b2": jnp.zeros(config.width),
        "head": normal(k3, config.width, config.classes),
    }


def mlp_loss(params, batch, config, layout=NO_LAYOUT):
    out = layout.out("batch", None)
    x = jnp.tanh(jnp.dot(batch["x"], params["w1"], **layout.out("batch", "tp")) + params["b1"])
    x = jax.nn.relu(jnp.dot(x, params["w2"], **out) + params["b2"])
    logits = jnp.dot(x, params["head"], **layout.out("batch", "tp"))
    return one_hot_cross_entropy(layout.constrain(logits, "batch", None), batch["y"])


def mlp_batch(key, config, size):
    kx, ky = jax.random.split(key)
    return {
        "x": jax.random.normal(kx, (size, config.inputs)),
        "y": jax.random.randint(ky, (size,), 0, config.classes),
    }


# ===----------------------------------------------------------------------===
# GPT-2
# ===----------------------------------------------------------------------===


@dataclasses.dataclass(frozen=True)
class GPT2Config:
    vocab: int = 128
    context: int = 16
    width: int = 32
    heads: int = 4
    layers: int = 2
    dtype: Any = jnp.float32


def norm_init(width):
    return {"scale": jnp.ones(width), "bias": jnp.zeros(width)}


def gpt2_block_init(key, config):
    d, keys = config.width, jax.random.split(key, 6)
    residual = 0.02 / (2 * config.layers) ** 0.5
    return {
        "ln1": norm_init(d),
        "attn": {
            "wq": normal(keys[0], d, d), "bq": jnp.zeros(d),
            "wk": normal(keys[1], d, d), "bk": jnp.zeros(d),
            "wv": normal(keys[2], d, d), "bv": jnp.zeros(d),
            "wo": normal(keys[3], d, d, scale=residual), "bo": jnp.zeros(d),
        },
        "ln2": norm_init(d),
        "mlp": {
            "w1": normal(keys[4], d, 4 * d), "b1": jnp.zeros(4 * d),
            "w2": normal(keys[5], 4 * d, d, scale=residual), "b2": jnp.zeros(d),
        },
    }


def gpt2_init(key, config, scan=False):
    k_wte, k_wpe, *k_blocks = jax.random.split(key, 2 + config.layers)
    blocks = [gpt2_block_init(k, config) for k in k_blocks]
    return {
        "wte": normal(k_wte, config.vocab, config.width),
        "wpe": normal(k_wpe, config.context, config.width),
        "blocks": stack(blocks) if scan else blocks,
        "ln_f": norm_init(config.width),
    }


def layer_norm(params, x):
    x32 = x.astype(jnp.float32)
    mean = jnp.mean(x32, axis=-1, keepdims=True)
    variance = jnp.var(x32, axis=-1, keepdims=True)
    y = (x32 - mean) * jax.lax.rsqrt(variance + 1e-5)
    return (y * params["scale"] + params["bias"]).astype(x.dtype)


def gpt2_block(params, x, config, layout):
    batch, time, width = x.shape
    attn, mlp = params["attn"], params["mlp"]
    split = layout.out("batch", None, "tp")
    whole = layout.out("batch", "sequence", None)

    def heads(w, b):
        y = jnp.dot(h, attn[w].astype(h.dtype), **split) + attn[b].astype(h.dtype)
        return y.reshape(batch, time, config.heads, width // config.heads)

    h = layer_norm(params["ln1"], x)
    q, k, v = heads("wq", "bq"), heads("wk", "bk"), heads("wv", "bv")
    y = attention(q[:, :, :, None, :], k, v, layout).reshape(batch, time, width)
    x = x + jnp.dot(y, attn["wo"].astype(y.dtype), **whole) + attn["bo"].astype(y.dtype)
    x = layout.constrain(x, "batch", "sequence", None)

    h = layer_norm(params["ln2"], x)
    h = jnp.dot(h, mlp["w1"].astype(h.dtype), **split) + mlp["b1"].astype(h.dtype)
    h = jax.nn.gelu(h)
    x = x + jnp.dot(h, mlp["w2"].astype(h.dtype), **whole) + mlp["b2"].astype(h.dtype)
    return layout.constrain(x, "batch", "sequence", None)


def gpt2_loss(params, batch, config, layout=NO_LAYOUT, scan=False):
    tokens = batch["tokens"]
    x = embed(params["wte"], tokens, layout) + params["wpe"][: tokens.shape[1]]
    x = layout.constrain(x.astype(config.dtype), "batch", "sequence", None)
    block = partial(gpt2_block, config=config, layout=layout)
    x = layer_norm(params["ln_f"], apply_blocks(block, x, params["blocks"], scan))
    logits = jnp.einsum("btd,vd->btv", x, params["wte"].astype(x.dtype),
                        **layout.out("batch", None, "tp"))
    return lm_loss(logits, batch["targets"], layout)


def lm_batch(key, config, size, time=None):
    tokens = jax.random.randint(key, (size, (time or config.context) + 1), 0, config.vocab)
    return {"tokens": tokens[:, :-1], "targets": tokens[:, 1:]}


# ===----------------------------------------------------------------------===
# Llama
# ===----------------------------------------------------------------------===


@dataclasses.dataclass(frozen=True)
class LlamaConfig:
    vocab: int = 128
    context: int = 16
    width: int = 32
    hidden: int = 96
    heads: int = 4
    groups: int = 2
    layers: int = 2
    theta: float = 10000.0
    dtype: Any = jnp.float32


def llama_block_init(key, config):
    d, keys = config.width, jax.random.split(key, 7)
    keys_width = config.groups * (d // config.heads)
    return {
        "norm1": jnp.ones(d),
        "attn": {
            "wq": normal(keys[0], d, d),
            "wk": normal(keys[1], d, keys_width),
            "wv": normal(keys[2], d, keys_width),
            "wo": normal(keys[3], d, d),
        },
        "norm2": jnp.ones(d),
        "mlp": {
            "gate": normal(keys[4], d, config.hidden),
            "up": normal(keys[5], d, config.hidden),
            "down": normal(keys[6], config.hidden, d),
        },
    }


def llama_init(key, config, scan=False):
    k_wte, k_head, *k_blocks = jax.random.split(key, 2 + config.layers)
    blocks = [llama_block_init(k, config) for k in k_blocks]
    return {
        "wte": normal(k_wte, config.vocab, config.width),
        "blocks": stack(blocks) if scan else blocks,
        "norm_f": jnp.ones(config.width),
        "head": normal(k_head, config.width, config.vocab),
    }


def rms_norm(scale, x):
    x32 = x.astype(jnp.float32)
    y = x32 * jax.lax.rsqrt(jnp.mean(jnp.square(x32), axis=-1, keepdims=True) + 1e-6)
    return (y * scale).astype(x.dtype)


def rotate(x, theta):
    """Rotary positions of x [batch, time, heads, size]: pairs of features are
    turned by an angle that grows with the time."""
    time, size = x.shape[1], x.shape[-1]
    frequency = theta ** (-jnp.arange(0, size, 2) / size)
    angle = jnp.arange(time)[:, None] * frequency
    cos, sin = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1).astype(x.dtype)


def llama_block(params, x, config, layout):
    batch, time, width = x.shape
    size, per_group = width // config.heads, config.heads // config.groups
    attn, mlp = params["attn"], params["mlp"]
    split = layout.out("batch", None, "tp")
    whole = layout.out("batch", "sequence", None)

    h = rms_norm(params["norm1"], x)
    q = jnp.dot(h, attn["wq"].astype(h.dtype), **split).reshape(batch, time, config.heads, size)
    k = jnp.dot(h, attn["wk"].astype(h.dtype), **split).reshape(batch, time, config.groups, size)
    v = jnp.dot(h, attn["wv"].astype(h.dtype), **split).reshape(batch, time, config.groups, size)
    q, k = rotate(q, config.theta), rotate(k, config.theta)
    y = attention(q.reshape(batch, time, config.groups, per_group, size), k, v, layout)
    y = y.reshape(batch, time, width)
    x = x + jnp.dot(y, attn["wo"].astype(y.dtype), **whole)
    x = layout.constrain(x, "batch", "sequence", None)

    h = rms_norm(params["norm2"], x)
    gate = jnp.dot(h, mlp["gate"].astype(h.dtype), **split)
    up = jnp.dot(h, mlp["up"].astype(h.dtype), **split)
    x = x + jnp.dot(jax.nn.silu(gate) * up, mlp["down"].astype(h.dtype), **whole)
    return layout.constrain(x, "batch", "sequence", None)


def llama_loss(params, batch, config, layout=NO_LAYOUT, scan=False):
    x = embed(params["wte"], batch["tokens"], layout).astype(config.dtype)
    x = layout.constrain(x, "batch", "sequence", None)
    block = partial(llama_block, config=config, layout=layout)
    x = rms_norm(params["norm_f"], apply_blocks(block, x, params["blocks"], scan))
    logits = jnp.dot(x, params["head"].astype(x.dtype), **layout.out("batch", None, "tp"))
    return lm_loss(logits, batch["targets"], layout)


# ===----------------------------------------------------------------------===
# Training
# ===----------------------------------------------------------------------===


class Optimizer(NamedTuple):
    """As in optax, whose optimizers fit in its place."""

    init: Callable
    update: Callable


def global_norm(tree):
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def warmup_cosine(step, peak, warmup, total):
    """Rises to `peak` over `warmup` steps and falls to a tenth of it."""
    progress = jnp.clip((step - warmup) / (total - warmup), 0.0, 1.0)
    cosine = 0.1 + 0.45 * (1.0 + jnp.cos(jnp.pi * progress))
    return peak * jnp.where(step < warmup, (step + 1) / warmup, cosine)


def adamw(rate=1e-3, b1=0.9, b2=0.95, eps=1e-8, decay=0.1, max_norm=1.0, warmup=10, total=1000):
    """AdamW on gradients clipped to a global norm."""
    def init(params):
        zeros = partial(jax.tree.map, jnp.zeros_like)
        return {"mu": zeros(params), "nu": zeros(params), "step": jnp.zeros((), jnp.int32)}

    def update(grads, state, params):
        step = state["step"]
        lr = warmup_cosine(step.astype(jnp.float32), rate, warmup, total)
        factor = jnp.minimum(1.0, max_norm / (global_norm(grads) + 1e-6))
        grads = jax.tree.map(lambda g: g * factor, grads)
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mu"], grads)
        nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * jnp.square(g), state["nu"], grads)
        count = (step + 1).astype(jnp.float32)
        scale1, scale2 = 1 / (1 - b1**count), 1 / (1 - b2**count)
        updates = jax.tree.map(
            lambda p, m, v: -lr * (m * scale1 / (jnp.sqrt(v * scale2) + eps) + decay * p),
            params, mu, nu)
        return updates, {"mu": mu, "nu": nu, "step": step + 1}

    return Optimizer(init, update)


def optax_adamw(rate=1e-3, decay=0.1, max_norm=1.0, warmup=10, total=1000):
    """The same recipe from optax."""
    import optax
    schedule = optax.warmup_cosine_decay_schedule(0.0, rate, warmup, total, 0.1 * rate)
    return optax.chain(optax.clip_by_global_norm(max_norm),
                       optax.adamw(schedule, b2=0.95, weight_decay=decay))


def init_state(params, optimizer):
    return {"params": params, "optimizer": optimizer.init(params)}


def over_microbatches(value_and_grad, count):
    """The means of losses and gradients over parts of a batch, in a loop."""
    def split(x):
        return x.reshape(-1, count, *x.shape[1:]).swapaxes(0, 1)

    def means(params, batch):
        def add(total, part):
            return jax.tree.map(jnp.add, total, value_and_grad(params, part)), None
        zero = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
        total, _ = jax.lax.scan(add, zero, jax.tree.map(split, batch))
        return jax.tree.map(lambda x: x / count, total)
    return means


def train_step(loss, optimizer, microbatches=None):
    """One step: `(state, batch) -> (state, loss)`."""
    value_and_grad = jax.value_and_grad(loss)
    if microbatches:
        value_and_grad = over_microbatches(value_and_grad, microbatches)

    def train_step(state, batch):
        value, grads = value_and_grad(state["params"], batch)
        updates, moments = optimizer.update(grads, state["optimizer"], state["params"])
        params = jax.tree.map(jnp.add, state["params"], updates)
        return {"params": params, "optimizer": moments}, value
    return train_step


def place(layout, state, batch):
    """State and batch on the devices of the layout's mesh."""
    return (jax.device_put(state, layout.shardings(layout.state_specs(state))),
            jax.device_put(batch, layout.shardings(layout.batch_specs(batch))))


def jit_step(step, layout, state, batch):
    """The step on the layout's mesh; the state is given up and replaced. State
    and batch may be shapes."""
    state_shardings = layout.shardings(layout.state_specs(state))
    batch_shardings = layout.shardings(layout.batch_specs(batch))
    return jax.jit(step, in_shardings=(state_shardings, batch_shardings),
                   out_shardings=(state_shardings, NamedSharding(layout.mesh, P())),
                   donate_argnums=0)
