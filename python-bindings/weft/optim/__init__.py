# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers, by the names and with the numbers of optax.

    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(3e-4))
    state = weft.jit(optimizer.init)(params)
    ...
    updates, state = optimizer.update(gradients, state, params)
    params = optim.apply_updates(params, updates)

They are written in `weft.numpy`, so that `init` and `update` are called in a function
given to weft.jit. States are dicts: the paths of their leaves end as those of the
parameters do, which is what rules and checkpoints go by.
"""

from .adamw import adamw
from .clipping import clip_by_global_norm, global_norm
from .master import master_weights
from .schedules import (
    constant_schedule, cosine_decay_schedule, linear_schedule, warmup_cosine_decay_schedule)
from .sgd import sgd
from .specs import state_specs
from .transform import Transform, apply_updates, chain

__all__ = [
    "Transform",
    "adamw",
    "apply_updates",
    "chain",
    "clip_by_global_norm",
    "constant_schedule",
    "cosine_decay_schedule",
    "global_norm",
    "linear_schedule",
    "master_weights",
    "sgd",
    "state_specs",
    "warmup_cosine_decay_schedule",
]
