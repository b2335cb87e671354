# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes of models that tables call by their names."""

from __future__ import annotations

import re
from typing import Any

# A mixture of experts is taken as the dense model that computes as much: one of 2 experts' width.
EXPERTS = "grok|mixtral"
ACTIVE_EXPERTS = 2
# Those with a gated perceptron.
GATED = f"llama|mistral|qwen|vicuna|gemma|internlm|baichuan|deepseek|olmo|\\byi\\b|{EXPERTS}"
# Those with a perceptron of two matrices.
UNGATED = r"gpt|megatron|mt\W?nlg|turing|\bopt\b|bloom|nemotron|\bmpt\b|pythia|falcon"


def _gpt(layers, hidden, heads):
    return {"layers": layers, "hidden": hidden, "heads": heads}


def _llama(layers, hidden, heads, ffn, kv_heads=None):
    return {"layers": layers, "hidden": hidden, "heads": heads, "ffn": ffn, "kv_heads": kv_heads or heads}


_LLAMA = {"7b": _llama(32, 4096, 32, 11008), "13b": _llama(40, 5120, 40, 13824), "30b": _llama(60, 6656, 52, 17920),
          "33b": _llama(60, 6656, 52, 17920), "65b": _llama(80, 8192, 64, 22016)}
_LLAMA2 = {"7b": _LLAMA["7b"], "13b": _LLAMA["13b"], "34b": _llama(48, 8192, 64, 22016, 8), "70b": _llama(80, 8192, 64, 28672, 8)}
_LLAMA3 = {"1b": _llama(16, 2048, 32, 8192, 8), "3b": _llama(28, 3072, 24, 8192, 8), "8b": _llama(32, 4096, 32, 14336, 8),
           "70b": _llama(80, 8192, 64, 28672, 8), "405b": _llama(126, 16384, 128, 53248, 8)}
_QWEN2 = {"7b": _llama(28, 3584, 28, 18944, 4), "14b": _llama(48, 5120, 40, 13824, 8),
          "32b": _llama(64, 5120, 40, 27648, 8), "72b": _llama(80, 8192, 64, 29568, 8)}
_NEMOTRON = {"15b": _llama(32, 6144, 48, 24576, 8), "340b": _llama(96, 18432, 96, 73728, 8)}
_GPT = {"125m": _gpt(12, 768, 12), "350m": _gpt(24, 1024, 16), "760m": _gpt(24, 1536, 16), "1.3b": _gpt(24, 2048, 16),
        "1.7b": _gpt(24, 2304, 24), "2.7b": _gpt(32, 2560, 32), "5b": _gpt(24, 4096, 32), "3.6b": _gpt(30, 3072, 32), "6.7b": _gpt(32, 4096, 32),
        "7.5b": _gpt(36, 4096, 32), "13b": _gpt(40, 5120, 40), 
        "18.4b": _gpt(40, 6144, 48), "20b": _gpt(44, 6144, 48), "22b": _gpt(48, 6144, 64),
        "39.1b": _gpt(48, 8192, 64), "76.1b": _gpt(60, 10240, 80), "145.6b": _gpt(80, 12288, 96), "175b": _gpt(96, 12288, 96),
        "310.1b": _gpt(96, 16384, 128), "530b": _gpt(105, 20480, 128), "529.6b": _gpt(105, 20480, 128),
        "1t": _gpt(128, 25600, 160), "1008b": _gpt(128, 25600, 160), "1000b": _gpt(128, 25600, 160)}
_GROK = _llama(64, 6144, 48, 32768, 8) | {"vocabulary": 131072}
# By the first name that fits: what all sizes have, and the sizes.
FAMILIES = [
    (r"llama\W?3(?![\db])", {"vocabulary": 128256, "theta": 500000.0}, _LLAMA3),
    (r"llama\W?2(?![\db])", {"vocabulary": 32000}, _LLAMA2),
    (r"llama", {"vocabulary": 32000}, _LLAMA),
    (r"grok", {}, {"": _GROK, "314b": _GROK}),
    (r"mixtral", {"vocabulary": 32000}, {"8x7b": _llama(32, 4096, 32, 14336, 8), "7b": _llama(32, 4096, 32, 14336, 8)}),
    (r"mistral", {"vocabulary": 32000}, {"7b": _llama(32, 4096, 32, 14336, 8)}),
    (r"qwen\W?2", {"vocabulary": 152064}, _QWEN2),
    (r"nemotron", {"vocabulary": 256000}, _NEMOTRON),
    (r"bloom", {"vocabulary": 250880}, {"176b": _gpt(70, 14336, 112)}),
    (r"gpt|megatron|mt\W?nlg|turing|opt|^", {}, _GPT),
]


def size_in(model: str) -> str | None:
    """The size in a model's name, such as "8b" or "8x7b"."""
    size = re.search(r"(?<![\d.])((?:\d+x)?\d+(?:\.\d+)?[bmt])(?![a-z])", _dashed(model))
    return size[1] if size else None


def _dashed(model: str) -> str:
    return model.strip().lower().replace(" ", "-").replace("_", "-")


def sizes_of(model: str) -> dict[str, Any]:
    """Of a model by its name, such as "llama3.1-8b" or "GPT-3 175B", in the words of weft.models; nothing if there is no
    such model here."""
    for family, common, sizes in FAMILIES:
        if re.search(family, _dashed(model)):
            found = sizes.get(size_in(model) or "")
            return common | found if found else {}
    return {}
