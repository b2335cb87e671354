# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT over bytes: learned positions, blocks of attention and a perceptron with the norms
before them, and one table for bytes in and bytes out. Instead of a perceptron a block may have
several, of which a position takes a few: a mixture of experts.

Nothing here knows of a mesh. Values that a layout may want to place have a name, and `cuts` are
the blocks behind which another stage of a pipeline begins.
"""

import dataclasses

import numpy as np

import weft.numpy as wnp
from weft import checkpoint_name as named
from weft import nn, stage_boundary

VOCABULARY = 256
# Of the loss that keeps experts evenly used.
BALANCE = 0.01


@dataclasses.dataclass(frozen=True)
class Config:
    layers: int = 4
    width: int = 256
    heads: int = 8
    context: int = 256
    experts: int = 0
    top: int = 2
    capacity: float | None = 1.25
    parts: int = 1


def config_of(settings):
    """The configuration among the settings of a run."""
    names = [field.name for field in dataclasses.fields(Config)]
    # Those of experts came later: runs without them may not say so.
    missing = [name for name in names[:names.index("experts")] if name not in settings]
    if missing:
        raise ValueError(f"the settings of the run have no {', '.join(missing)}")
    return Config(**{name: settings[name] for name in names if name in settings})


def init(config, seed):
    """The first parameters, as NumPy arrays: the same under every layout."""
    random = np.random.default_rng(seed)
    width = config.width

    def normal(*shape, scale=0.02):
        return random.normal(scale=scale, size=shape).astype(np.float32)

    def block():
        # What is added to the residual stream starts smaller, the more blocks there are.
        out = 0.02 / np.sqrt(2 * config.layers)
        params = {
            "norm1": np.ones(width, np.float32),
            "query": normal(width, width),
            "key": normal(width, width),
            "value": normal(width, width),
            "out": normal(width, width, scale=out),
            "norm2": np.ones(width, np.float32),
        }
        front = (config.experts,) if config.experts else ()
        perceptron = {
            "up": normal(*front, width, 4 * width),
            "down": normal(*front, 4 * width, width, scale=out),
        }
        if config.experts:
            return params | {"router": normal(width, config.experts), "experts": perceptron}
        return params | perceptron

    return {
        "bytes": normal(VOCABULARY, width),
        "positions": normal(config.context, width),
        "blocks": [block() for _ in range(config.layers)],
        "norm": np.ones(width, np.float32),
    }


def attention(params, x, heads):
    """What every position reads from itself and those before it."""
    batch, time, width = x.shape
    query, key, value = (
        named((x @ params[name]).reshape(batch, time, heads, width // heads), "heads")
        for name in ("query", "key", "value")
    )
    y = named(nn.dot_product_attention(query, key, value, is_causal=True), "heads")
    return y.reshape(batch, time, width) @ params["out"]


def perceptron(params, h, config):
    """And how uneven experts are used, 1 if not at all."""
    if config.experts:
        y, metrics = nn.moe(
            h,
            params["router"],
            params["experts"],
            top_k=config.top,
            capacity=config.capacity,
            activation=nn.gelu,
            group_size=h.shape[1] // config.parts,
        )
        return y, metrics.balance_loss
    h = named(nn.gelu(h @ params["up"]), "hidden")
    return h @ params["down"], 0.0


def block(params, x, config):
    h = named(nn.layer_norm(x, params["norm1"]), "normed")
    x = named(x + attention(params, h, config.heads), "residual")
    h = named(nn.layer_norm(x, params["norm2"]), "normed")
    y, uneven = perceptron(params, h, config)
    return named(x + y, "residual"), uneven


def features(params, tokens, config, cuts=()):
    """What the model knows of each position, [batch, time, width], and how uneven the
    experts of a block are used."""
    x = params["bytes"][tokens] + params["positions"][: tokens.shape[1]]
    x, uneven = named(x, "residual"), 0.0
    for number, each in enumerate(params["blocks"]):
        x, more = block(each, x, config)
        uneven = uneven + more / config.layers
        x, uneven = stage_boundary((x, uneven)) if number in cuts else (x, uneven)
    return named(nn.layer_norm(x, params["norm"]), "normed"), uneven


def logits(params, x):
    """How likely each byte comes next, of [..., width]."""
    return wnp.einsum("...d,vd->...v", x, params["bytes"])


def loss(params, tokens, targets, config, cuts=(), balance=BALANCE):
    """The mean of -log p(target) over all positions, in nats a byte; of a model with experts
    `balance` times how uneven they are used is added."""
    x, uneven = features(params, tokens, config, cuts)
    losses = nn.softmax_cross_entropy_with_integer_labels(logits(params, x), targets)
    return losses.mean() + balance * uneven if config.experts else losses.mean()
