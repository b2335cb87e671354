# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`sweep`: the predicted step of a model for every combination of settings, the best first.

    def make(tensor, pipeline):
        return weft.models.gpt(layers=24, ..., tensor=tensor, pipeline=pipeline, data=64 // (tensor * pipeline))

    weft.sweep(make, {"tensor": [1, 2, 4, 8], "pipeline": [1, 2, 4]}, cluster="dgx-h100", jobs=2)

The command line does it for the models of `weft.models` and for files, see ``python -m weft.sweep --help``.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..compiled import Compiled
from ..diagnostics import CompileError, brief
from ..lowered import CompilerWarning, Lowered
from ..models import TrainingStep
from ..simulation import checked_cluster, simulate
from .processes import run_each
from .table import print_sweep


@dataclasses.dataclass(frozen=True)
class Row:
    """A combination with its prediction. Times are those of a rank, with a pipeline the mean of its
    roles."""

    settings: dict[str, Any]
    mesh: dict[str, int]
    devices: int
    step_seconds: float
    mfu: float
    exposed_seconds: float
    """It waits for communication."""
    bubble_seconds: float
    """It waits for other stages."""
    arena_bytes: int
    """Of the rank that has the most, as the next two."""
    usable_bytes: int
    fits: bool
    tokens: int
    """Of a step; 0 if they are not known."""

    def order(self) -> tuple[bool, float]:
        return not self.fits, self.step_seconds / (self.tokens or 1)


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A combination without a prediction, and why."""

    settings: dict[str, Any]
    reason: str


@dataclasses.dataclass(frozen=True, repr=False)
class Sweep:
    """All combinations: first those that fit into the memory, of them the one with the most tokens a
    second, or where tokens are not known with the shortest step."""

    cluster: str
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...]

    def __str__(self) -> str:
        return print_sweep(self)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


def sweep(
    make: Callable[..., Compiled | Lowered | TrainingStep],
    settings: Mapping[str, Sequence[Any]],
    *,
    cluster: str | os.PathLike[str],
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Calls `make` with every combination of `settings`, compiles what it returns and predicts its
    step on the cluster; nothing is executed.

    `make` takes the settings by name and returns a compiled or lowered function, or a step of
    `weft.models`. What it, or the compiler, raises for a combination is in `Sweep.left_out`: none is
    missing. Combinations are compiled in processes of their own, `jobs` at a time; `progress` is
    called with how many are done, and how many there are. ValueError says what is wrong with the
    cluster, once for all of them."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be a number of at least 1, got {jobs!r}")
    name = checked_cluster(cluster)
    combinations = [dict(zip(settings, values)) for values in itertools.product(*settings.values())]
    outcomes = run_each([partial(_outcome, make, each, name) for each in combinations], jobs, progress)
    rows, left_out = [], []
    for each, outcome in zip(combinations, outcomes):
        if isinstance(outcome, Row):
            rows.append(outcome)
        else:
            left_out.append(LeftOut(each, outcome))
    return Sweep(name, tuple(sorted(rows, key=Row.order)), tuple(left_out))


def _outcome(make: Callable, settings: dict[str, Any], cluster: str) -> Row | str:
    """A row, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompilerWarning)  # such as of what a plan replicates
            return _predict(make, settings, cluster)
    except (CompileError, ValueError) as error:
        return brief(error)
    except Exception as error:  # a combination may break anything in a function of the user
        return f"{type(error).__name__}: {error}".partition("\n")[0]


def _predict(make: Callable, settings: dict[str, Any], cluster: str) -> Row:
    made, tokens = make(**settings), 0
    if isinstance(made, TrainingStep):
        tokens = made.parallelism.global_batch * made.sizes.sequence
        made = made.lower()
    if isinstance(made, Lowered):
        made = made.compile(None, cluster=cluster)
    if not isinstance(made, Compiled):
        raise TypeError(f"make must return a compiled or lowered function, got {type(made).__name__}")
    step = simulate(made, cluster)
    memory = step["memory"]
    return Row(
        settings, step["mesh"], step["devices"], step["step_seconds"], step["mfu"], step["exposed_seconds"],
        step["bubble_seconds"], memory["arena_bytes"], int(memory["usable_bytes"]), memory["fits"], tokens,
    )
