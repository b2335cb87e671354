# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT over bytes: learned positions, blocks of attention and a perceptron with the norms
before them, and one table for bytes in and bytes out.

Nothing here knows of a mesh. Values that a layout may want to place have a name, and `cuts` are
the blocks behind which another stage of a pipeline begins.
"""

import dataclasses

import numpy as np

import weft.numpy as wnp
from weft import checkpoint_name as named
from weft import nn, stage_boundary

VOCABULARY = 256


@dataclasses.dataclass(frozen=True)
class Config:
    layers: int = 4
    width: int = 256
    heads: int = 8
    context: int = 256


def config_of(settings):
    """The configuration among the settings of a run."""
    missing = [field.name for field in dataclasses.fields(Config) if field.name not in settings]
    if missing:
        raise ValueError(f"the settings of the run have no {', '.join(missing)}")
    return Config(**{field.name: settings[field.name] for field in dataclasses.fields(Config)})


def init(config, seed):
    """The first parameters, as NumPy arrays: the same under every layout."""
    random = np.random.default_rng(seed)
    width = config.width

    def normal(*shape, scale=0.02):
        return random.normal(scale=scale, size=shape).astype(np.float32)

    def block():
        # What is added to the residual stream starts smaller, the more blocks there are.
        out = 0.02 / np.sqrt(2 * config.layers)
        return {
            "norm1": np.ones(width, np.float32),
            "query": normal(width, width),
            "key": normal(width, width),
            "value": normal(width, width),
            "out": normal(width, width, scale=out),
            "norm2": np.ones(width, np.float32),
            "up": normal(width, 4 * width),
            "down": normal(4 * width, width, scale=out),
        }

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


def block(params, x, heads):
    h = named(nn.layer_norm(x, params["norm1"]), "normed")
    x = named(x + attention(params, h, heads), "residual")
    h = named(nn.layer_norm(x, params["norm2"]), "normed")
    h = named(nn.gelu(h @ params["up"]), "hidden")
    return named(x + h @ params["down"], "residual")


def features(params, tokens, config, cuts=()):
    """What the model knows of each position, [batch, time, width]."""
    x = params["bytes"][tokens] + params["positions"][: tokens.shape[1]]
    x = named(x, "residual")
    for number, each in enumerate(params["blocks"]):
        x = block(each, x, config.heads)
        x = stage_boundary(x) if number in cuts else x
    return named(nn.layer_norm(x, params["norm"]), "normed")


def logits(params, x):
    """How likely each byte comes next, of [..., width]."""
    return wnp.einsum("...d,vd->...v", x, params["bytes"])


def loss(params, tokens, targets, config, cuts=()):
    """The mean of -log p(target) over all positions, in nats a byte."""
    scores = logits(params, features(params, tokens, config, cuts))
    return nn.softmax_cross_entropy_with_integer_labels(scores, targets).mean()
