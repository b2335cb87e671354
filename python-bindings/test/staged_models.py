# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are cut into stages: those of tiny_models.py and an encoder-decoder, with
boundaries behind some of their blocks.

    model = MODELS["t5"]
    step = model.train_step(tiny_models.adamw(), cut_behind({0, 2}), microbatches=4)
"""

import dataclasses
import itertools

import numpy as np
import tiny_models
import weft_models

import weft
import weft.numpy as wnp
from weft import checkpoint_name as named, nn


def cut_behind(blocks):
    """For `wrap` of models, which is called for each block in turn: a boundary behind these."""
    numbers = itertools.count()

    def wrap(block):
        is_cut = next(numbers) in blocks
        return lambda params, *x: weft.stage_boundary(block(params, *x)) if is_cut else block(params, *x)

    return wrap


# ===----------------------------------------------------------------------===
# An encoder-decoder, as T5
# ===----------------------------------------------------------------------===


def t5_params(random, config):
    d, normal = config.width, tiny_models.normal

    def attention():
        return {name: normal(random, d, d) for name in ("wq", "wk", "wv", "wo")}

    def block(is_decoder):
        params = {"norm1": normal(random, d, mean=1.0), "attn": attention(),
                  "norm2": normal(random, d, mean=1.0),
                  "mlp": {"w1": normal(random, d, config.hidden), "w2": normal(random, config.hidden, d)}}
        return params | ({"norm3": normal(random, d, mean=1.0), "cross": attention()} if is_decoder else {})

    return {"wte": normal(random, config.vocab, d), "relative": normal(random, config.heads, 2 * config.context - 1),
            "encoder": [block(False) for _ in range(config.layers)],
            "decoder": [block(True) for _ in range(config.layers)],
            "norm_e": normal(random, d, mean=1.0), "norm_f": normal(random, d, mean=1.0)}


def attend(params, x, memory, config, bias=None, is_causal=False):
    rows, time, d = x.shape

    def heads(y, w):
        return named((y @ params[w]).reshape(rows, -1, config.heads, d // config.heads), "heads")

    y = nn.dot_product_attention(heads(x, "wq"), heads(memory, "wk"), heads(memory, "wv"), bias=bias,
                                 is_causal=is_causal)
    return named(y, "attended").reshape(rows, time, d) @ params["wo"]


def perceive(params, x):
    return named(nn.relu(x @ params["w1"]), "hidden") @ params["w2"]


def t5_loss(params, batch, config, wrap=lambda block: block):
    """The encoder's result and the bias of relative positions are used by all decoder blocks."""

    def encode(block, x, bias):
        h = nn.rms_norm(x, block["norm1"])
        x = x + attend(block["attn"], h, h, config, bias)
        return named(x + perceive(block["mlp"], nn.rms_norm(x, block["norm2"])), "residual")

    def decode(block, x, memory, bias):
        h = nn.rms_norm(x, block["norm1"])
        x = x + attend(block["attn"], h, h, config, bias, is_causal=True)
        x = x + attend(block["cross"], nn.rms_norm(x, block["norm3"]), memory, config)
        return named(x + perceive(block["mlp"], nn.rms_norm(x, block["norm2"])), "residual")

    time = batch["tokens"].shape[1]
    distance = wnp.arange(time)[:, None] - wnp.arange(time) + time - 1
    bias = params["relative"][:, distance][None]
    x = params["wte"][batch["tokens"]]
    for block in params["encoder"]:
        x = wrap(encode)(block, x, bias)
    memory = nn.rms_norm(x, params["norm_e"])
    x = params["wte"][batch["targets"]]
    for block in params["decoder"]:
        x = wrap(decode)(block, x, memory, bias)
    x = nn.rms_norm(x, params["norm_f"])
    return weft_models.lm_loss(wnp.einsum("btd,vd->btv", x, params["wte"]), batch["targets"])


# Parameters of few shapes: kernels of updates are most of what takes time to compile.
CONFIG = tiny_models.Config(layers=3, width=16, hidden=16, vocab=48, context=16)
MODELS = {
    "gpt": dataclasses.replace(tiny_models.MODELS["gpt2"], config=CONFIG),
    "llama": dataclasses.replace(tiny_models.MODELS["llama"], config=dataclasses.replace(CONFIG, groups=2)),
    # Its blocks are those of the encoder, then those of the decoder.
    "t5": tiny_models.Model(t5_loss, t5_params, dataclasses.replace(CONFIG, layers=2)),
}


def untied_loss(params, batch, config, wrap=lambda block: block):
    """GPT with a head of its own."""
    x = params["wte"][batch["tokens"]] + params["wpe"][: batch["tokens"].shape[1]]
    for block in params["blocks"]:
        x = wrap(lambda params, x: weft_models.gpt2_block(params, x, config))(block, x)
    return weft_models.lm_loss(weft_models.layer_norm(params["ln_f"], x) @ params["head"], batch["targets"])


def untied_params(random, config):
    return tiny_models.gpt2_params(random, config) | {
        "head": tiny_models.normal(random, config.width, config.vocab)}


MODELS["untied gpt"] = tiny_models.Model(untied_loss, untied_params, CONFIG)
# For two stages: of a block each.
MODELS |= {f"short {name}": dataclasses.replace(MODELS[name], config=dataclasses.replace(CONFIG, layers=layers))
           for name, layers in (("gpt", 2), ("t5", 1))}



def equal_bits(found, wanted):
    """Asserts that two trees have the same bits."""
    pairs = zip(*(weft.tree.flatten_with_paths(x, "")[0] for x in (found, wanted)), strict=True)
    different = [f"{path}: {np.abs(np.float64(a) - np.float64(b)).max()}" for (path, a), (_, b) in pairs
                 if np.asarray(a).tobytes() != np.asarray(b).tobytes()]
    assert not different, "\n".join(different)
