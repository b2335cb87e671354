# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far predictions are from what was measured, and from what a constant does."""

from __future__ import annotations

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Run:
    """A measured step: where it is from, its seconds, the seconds predicted, and the FLOPs of the model on a device."""

    label: str
    measured: float
    predicted: float
    flops: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def mean_error(runs) -> float:
    return statistics.fmean(abs(run.error) for run in runs)


def bias(runs) -> float:
    return statistics.fmean(run.error for run in runs)


def best_constant(runs) -> float:
    """The mean error of the constant utilisation that has the least: each run's own is tried."""
    rates = [run.flops / run.measured for run in runs]
    return min(statistics.fmean(abs(run.flops / rate / run.measured - 1) for run in runs) for rate in rates)


# A constant that misses by less has a run of its own.
EXACT = 1e-9


def skill(runs) -> float | None:
    """1 - error / error of the best constant; None where one run's own constant has none."""
    constant = best_constant(runs)
    return 1 - mean_error(runs) / constant if constant > EXACT else None


def summary(runs) -> str:
    worst = max(runs, key=lambda run: abs(run.error))
    known = skill(runs)
    return (f"{len(runs)} runs: mean error {mean_error(runs):.1%}, signed {bias(runs):+.1%}, "
            f"worst {worst.error:+.1%} ({worst.label}), best constant {best_constant(runs):.1%}"
            + (f", skill {known:+.2f}" if known is not None else ""))
