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
from .chained import adagrad, adam, lamb, lars, lion, rmsprop
from .clipping import clip, clip_by_block_rms, clip_by_global_norm, global_norm
from .factored import adafactor, scale_by_factored_rms, scale_by_param_block_rms
from .master import master_weights
from .moments import scale_by_adam, scale_by_lion, scale_by_rms, scale_by_rss, scale_by_stddev
from .scaling import (
    add_decayed_weights, ema, identity, scale, scale_by_learning_rate, scale_by_schedule,
    scale_by_trust_ratio, trace)
from .schedules import (
    constant_schedule, cosine_decay_schedule, exponential_decay, join_schedules, linear_schedule,
    piecewise_constant_schedule, polynomial_schedule, warmup_cosine_decay_schedule)
from .sgd import sgd
from .specs import state_specs
from .transform import Transform, apply_updates, chain

__all__ = [
    "Transform",
    "adafactor",
    "adagrad",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_block_rms",
    "clip_by_global_norm",
    "constant_schedule",
    "cosine_decay_schedule",
    "ema",
    "exponential_decay",
    "global_norm",
    "identity",
    "join_schedules",
    "lamb",
    "lars",
    "linear_schedule",
    "lion",
    "master_weights",
    "piecewise_constant_schedule",
    "polynomial_schedule",
    "rmsprop",
    "scale",
    "scale_by_adam",
    "scale_by_factored_rms",
    "scale_by_learning_rate",
    "scale_by_lion",
    "scale_by_param_block_rms",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_schedule",
    "scale_by_stddev",
    "scale_by_trust_ratio",
    "sgd",
    "state_specs",
    "trace",
    "warmup_cosine_decay_schedule",
]
