# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama with grouped queries, and with heads that mesh axes do not divide."""

import dataclasses

import jax_models
from jax_models import LlamaConfig

from .model import Model


@dataclasses.dataclass(frozen=True)
class Config(LlamaConfig):
    batch: int = 16


MODEL = Model(
    about="causal transformer, rotary positions, gated MLP, AdamW",
    sizes={"small": Config(vocab=128, context=16, width=64, hidden=128, heads=8, groups=4,
                           layers=2, batch=16),
           "large": Config(vocab=4096, context=128, width=512, hidden=1536, heads=8, groups=4,
                           layers=2, batch=32)},
    init=jax_models.llama_init,
    loss=jax_models.llama_loss,
    batch=lambda key, config: jax_models.lm_batch(key, config, config.batch),
    optimizer="adamw",
)

ODD_HEADS = dataclasses.replace(
    MODEL,
    about="the same with 9 heads in 3 groups, which no mesh axis divides",
    sizes={"small": Config(vocab=128, context=16, width=144, hidden=192, heads=9, groups=3,
                           layers=2, batch=16),
           "large": Config(vocab=4096, context=128, width=576, hidden=1536, heads=9, groups=3,
                           layers=2, batch=32)},
)
