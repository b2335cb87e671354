# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learning rates: functions of the number of steps made."""

from typing import Any, Callable, Sequence

from .. import numpy as wnp

Schedule = Callable[[Any], Any]


def constant_schedule(value: float) -> Schedule:
    return lambda count: value


def linear_schedule(init_value: float, end_value: float, transition_steps: int,
                    transition_begin: int = 0) -> Schedule:
    """From `init_value` to `end_value` in so many steps, after `transition_begin` others."""
    _check_steps("linear_schedule", "transition_steps", transition_steps)
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def polynomial_schedule(init_value: float, end_value: float, power: float, transition_steps: int,
                        transition_begin: int = 0) -> Schedule:
    """From `init_value` to `end_value` by a power of the steps that are left."""
    _check_steps("polynomial_schedule", "transition_steps", transition_steps)

    def schedule(count: Any) -> Any:
        made = _float(count - transition_begin if transition_begin else count)
        left = 1 - wnp.clip(made, 0.0, float(transition_steps)) / transition_steps
        return (init_value - end_value) * (left if power == 1 else left**power) + end_value

    return schedule


def exponential_decay(init_value: float, transition_steps: int, decay_rate: float, transition_begin: int = 0,
                      staircase: bool = False, end_value: float | None = None) -> Schedule:
    """Times `decay_rate` in so many steps, after `transition_begin` others; with `staircase` at once
    at their end. `end_value` bounds it."""
    _check_steps("exponential_decay", "transition_steps", transition_steps)
    _check_steps("exponential_decay", "decay_rate", decay_rate)

    def schedule(count: Any) -> Any:
        made = _float(count - transition_begin)
        periods = made / transition_steps
        value = init_value * wnp.power(decay_rate, wnp.floor(periods) if staircase else periods)
        value = wnp.where(made <= 0, init_value, value)
        if end_value is None:
            return value
        return wnp.maximum(value, end_value) if decay_rate < 1 else wnp.minimum(value, end_value)

    return schedule


def piecewise_constant_schedule(init_value: float, boundaries_and_scales: dict[int, float] | None = None) -> Schedule:
    """`init_value`, times the number of each boundary that is reached."""
    def schedule(count: Any) -> Any:
        value = init_value
        for boundary, scale in sorted((boundaries_and_scales or {}).items()):
            value = wnp.where(_float(count) < boundary, value, scale * value)
        return value

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after the other; each counts steps from its boundary."""
    if len(schedules) != len(boundaries) + 1:
        raise ValueError(f"join_schedules takes a boundary between two schedules, got {len(schedules)} schedules "
                         f"and {len(boundaries)} boundaries")

    def schedule(count: Any) -> Any:
        value = schedules[0](count)
        for boundary, following in zip(boundaries, schedules[1:]):
            value = wnp.where(count < boundary, value, following(count - boundary))
        return value

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
