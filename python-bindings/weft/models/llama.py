# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama: rotary positions, RMS norms, grouped queries and gated perceptrons without biases (Touvron
et al., arXiv:2307.09288). Its values have the names of those of the GPT.
"""

from functools import partial

from weft import checkpoint_name as named, nn

from .attention import causal_attention
from .loss import lm_loss
from .shapes import NAMED, array

# The dimensions of every parameter, by its path, and of what has a name.
PARAMETERS = [
    ("wte", ("vocabulary", "width")),
    ("head", ("width", "vocabulary")),
    (".*/attn/wq", ("width", "heads")),
    (".*/attn/w[kv]", ("width", "kv_heads")),
    (".*/attn/wo", ("heads", "width")),
    (".*/mlp/(gate|up)", ("width", "hidden")),
    (".*/mlp/down", ("hidden", "width")),
    ("(.*/)?norm.*", ("width",)),
]
ACTIVATIONS = NAMED | {"kv_heads": ("batch", "time", "kv_heads")}


def parameters(sizes):
    """The shapes of the parameters."""
    d, f, keys = sizes.hidden, sizes.ffn, sizes.kv_heads * sizes.head_size

    def block():
        return {"norm1": array(d), "norm2": array(d),
                "attn": {"wq": array(d, d), "wk": array(d, keys), "wv": array(d, keys), "wo": array(d, d)},
                "mlp": {"gate": array(d, f), "up": array(d, f), "down": array(f, d)}}

    return {"wte": array(sizes.vocabulary, d), "blocks": [block() for _ in range(sizes.layers)],
            "norm_f": array(d), "head": array(d, sizes.vocabulary)}


def problems(sizes):
    return []


def block(params, x, config, attend=causal_attention):
    """x, [batch, time, width], after attention and a perceptron."""
    batch, time, width = x.shape
    size = width // config.heads
    attn, mlp = params["attn"], params["mlp"]

    h = nn.rms_norm(x, params["norm1"])
    q, k, v = (named((h @ attn[w].astype(h.dtype)).reshape(batch, time, -1, size), name)
               for w, name in (("wq", "heads"), ("wk", "kv_heads"), ("wv", "kv_heads")))
    q, v = named(q, "alternate"), named(v, "alternate")
    q, k = (nn.rotary_embedding(y, base=config.theta) for y in (q, k))
    y = named(attend(q, k, v, config), "attended").reshape(batch, time, width)
    x = named(x + y @ attn["wo"].astype(y.dtype), "residual")

    h = nn.rms_norm(x, params["norm2"])
    gate, up = named(h @ mlp["gate"].astype(h.dtype), "alternate"), h @ mlp["up"].astype(h.dtype)
    return named(x + named(nn.silu(gate) * up, "hidden") @ mlp["down"].astype(h.dtype), "residual")


def loss(params, batch, config, wrap=lambda block: block, attend=causal_attention):
    """The mean of -log p(target). `wrap` is applied to every block in turn, which calls `attend`."""
    x = named(params["wte"][batch["tokens"]].astype(config.dtype), "residual")
    for each in params["blocks"]:
        x = wrap(partial(block, config=config, attend=attend))(each, x)
    x = nn.rms_norm(x, params["norm_f"])
    return lm_loss(x @ params["head"].astype(x.dtype), batch["targets"])
