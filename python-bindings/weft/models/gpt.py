# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2: learned positions, norms before attention and perceptrons with biases, and one table for
tokens in and out (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019).

Values that a layout may want to place have a name: "residual", what goes from block to block,
"heads", queries, keys and values, "attended", what heads make of them, "hidden", inside a
perceptron, and "logits".
"""

from functools import partial

import weft.numpy as wnp
from weft import checkpoint_name as named, nn

from .attention import causal_attention
from .loss import lm_loss
from .shapes import NAMED, array

# The dimensions of every parameter, by its path, and of what has a name.
PARAMETERS = [
    ("wte", ("vocabulary", "width")),
    ("wpe", (None, "width")),
    (".*/attn/wq", ("width", "heads")),
    (".*/attn/bq", ("heads",)),
    (".*/attn/w[kv]", ("width", "kv_heads")),
    (".*/attn/b[kv]", ("kv_heads",)),
    (".*/attn/wo", ("heads", "width")),
    (".*/mlp/w1", ("width", "hidden")),
    (".*/mlp/b1", ("hidden",)),
    (".*/mlp/w2", ("hidden", "width")),
    ("(.*/)?(ln.*/(scale|bias)|attn/bo|mlp/b2)", ("width",)),
]
ACTIVATIONS = NAMED | {"kv_heads": ("batch", "time", "kv_heads")}


def parameters(sizes):
    """The shapes of the parameters."""
    d, f, keys = sizes.hidden, sizes.ffn, sizes.kv_heads * sizes.head_size

    def norm():
        return {"scale": array(d), "bias": array(d)}

    def block():
        widths = {"q": d, "k": keys, "v": keys, "o": d}
        attn = ({f"w{name}": array(d, width) for name, width in widths.items()}
                | {f"b{name}": array(width) for name, width in widths.items()})
        mlp = {"w1": array(d, f), "b1": array(f), "w2": array(f, d), "b2": array(d)}
        return {"ln1": norm(), "attn": attn, "ln2": norm(), "mlp": mlp}

    return {"wte": array(sizes.vocabulary, d), "wpe": array(sizes.sequence, d),
            "blocks": [block() for _ in range(sizes.layers)], "ln_f": norm()}


def problems(sizes):
    return []


def layer_norm(params, x):
    return nn.layer_norm(x, params["scale"], params["bias"])


def block(params, x, config, attend=causal_attention):
    """x, [batch, time, width], after attention and a perceptron."""
    batch, time, width = x.shape
    attn, mlp = params["attn"], params["mlp"]

    def heads(name):
        y = h @ attn[f"w{name}"].astype(h.dtype) + attn[f"b{name}"].astype(h.dtype)
        return named(y.reshape(batch, time, -1, width // config.heads), "heads" if name == "q" else "kv_heads")

    h = layer_norm(params["ln1"], x)
    q, k, v = heads("q"), heads("k"), heads("v")
    q, v = named(q, "alternate"), named(v, "alternate")
    y = named(attend(q, k, v, config), "attended").reshape(batch, time, width)
    x = named(x + y @ attn["wo"].astype(y.dtype) + attn["bo"].astype(y.dtype), "residual")

    h = layer_norm(params["ln2"], x)
    h = named(h @ mlp["w1"].astype(h.dtype) + mlp["b1"].astype(h.dtype), "alternate")
    h = named(nn.gelu(h), "hidden")
    return named(x + h @ mlp["w2"].astype(h.dtype) + mlp["b2"].astype(h.dtype), "residual")


def loss(params, batch, config, wrap=lambda block: block, attend=causal_attention):
    """The mean of -log p(target). `wrap` is applied to every block in turn, which calls `attend`."""
    tokens = batch["tokens"]
    x = params["wte"][tokens] + params["wpe"][: tokens.shape[1]]
    x = named(x.astype(config.dtype), "residual")
    for each in params["blocks"]:
        x = wrap(partial(block, config=config, attend=attend))(each, x)
    x = layer_norm(params["ln_f"], x)
    logits = wnp.einsum("btd,vd->btv", x, params["wte"].astype(x.dtype))
    return lm_loss(logits, batch["targets"])
