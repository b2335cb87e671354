# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A multi-layer perceptron."""

import dataclasses

import jax_models
from jax_models import MLPConfig

from .model import Model


@dataclasses.dataclass(frozen=True)
class Config(MLPConfig):
    batch: int = 16


MODEL = Model(
    about="three matmuls, AdamW",
    sizes={"small": Config(inputs=32, width=64, classes=16, batch=16),
           "large": Config(inputs=512, width=1024, classes=256, batch=512)},
    init=jax_models.mlp_init,
    loss=jax_models.mlp_loss,
    batch=lambda key, config: jax_models.mlp_batch(key, config, config.batch),
    optimizer="adamw",
)
