# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learning rates: functions of the number of steps made."""

from typing import Any, Callable

from .. import numpy as wnp

Schedule = Callable[[Any], Any]


def constant_schedule(value: float) -> Schedule:
    return lambda count: value


def linear_schedule(init_value: float, end_value: float, transition_steps: int) -> Schedule:
    """From `init_value` to `end_value` in so many steps."""
    _check_steps("linear_schedule", "transition_steps", transition_steps)

    def schedule(count: Any) -> Any:
        left = 1 - wnp.clip(_float(count), 0.0, float(transition_steps)) / transition_steps
        return (init_value - end_value) * left + end_value

    return schedule


def cosine_decay_schedule(init_value: float, decay_steps: int, alpha: float = 0.0) -> Schedule:
    """Half a cosine wave, from `init_value` to `alpha` times it in so many steps."""
    _check_steps("cosine_decay_schedule", "decay_steps", decay_steps)

    def schedule(count: Any) -> Any:
        count = wnp.minimum(_float(count), float(decay_steps))
        cosine = 0.5 * (1 + wnp.cos(wnp.pi * count / decay_steps))
        return init_value * ((1 - alpha) * cosine + alpha)

    return schedule


def warmup_cosine_decay_schedule(init_value: float, peak_value: float, warmup_steps: int,
                                 decay_steps: int, end_value: float = 0.0) -> Schedule:
    """Rises from `init_value` to `peak_value` in `warmup_steps`, and falls to `end_value` by
    half a cosine wave; `decay_steps` counts both."""
    alpha = end_value / peak_value if peak_value else 0.0
    warmup = linear_schedule(init_value, peak_value, warmup_steps) if warmup_steps else None
    decay = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha)

    def schedule(count: Any) -> Any:
        falling = decay(_float(count) - warmup_steps)
        return falling if warmup is None else wnp.where(count < warmup_steps, warmup(count), falling)

    return schedule


def _float(count: Any) -> Any:
    return wnp.asarray(count, wnp.float32)


def _check_steps(what: str, name: str, steps: int) -> None:
    if not steps > 0:
        raise ValueError(f"{what} needs {name} > 0, got {steps}")
