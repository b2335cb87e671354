# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2, its embedding tied to the head: unrolled, and as a loop over its layers."""

import dataclasses
from functools import partial

import jax_models
from jax_models import GPT2Config

from .model import Model


@dataclasses.dataclass(frozen=True)
class Config(GPT2Config):
    batch: int = 16


MODEL = Model(
    about="causal transformer with a tied embedding, AdamW",
    sizes={"small": Config(vocab=128, context=16, width=64, heads=8, layers=2, batch=16),
           "large": Config(vocab=4096, context=128, width=512, heads=8, layers=2, batch=32)},
    init=jax_models.gpt2_init,
    loss=jax_models.gpt2_loss,
    batch=lambda key, config: jax_models.lm_batch(key, config, config.batch),
    optimizer="adamw",
)

SCANNED = dataclasses.replace(
    MODEL,
    about="the same by lax.scan over layers, each under jax.checkpoint",
    init=partial(jax_models.gpt2_init, scan=True),
    loss=partial(jax_models.gpt2_loss, scan=True),
)
