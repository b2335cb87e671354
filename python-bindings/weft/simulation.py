# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator, as the package uses it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .compiled import Compiled


def check_cluster(cluster: str) -> None:
    """Raises `ValueError` with all that is wrong with the cluster of a name or file."""
    from . import _compiler

    if problems := _compiler.cluster_problems(cluster):
        raise ValueError("\n".join(problems))


def simulate(
    compiled: Compiled,
    cluster: str = "",
    *,
    samples: float = 0,
    tokens: float = 0,
    scale: tuple[str, Sequence[int]] = ("", ()),
    records: bool = False,
) -> dict[str, Any]:
    """What ``shard-sim plan --json`` prints of the entry, and under "recorded", if asked for, what
    it does when. Raises `ValueError` with all that is wrong."""
    from . import _runtime

    axis, sizes = scale
    text, problems = _runtime.simulate(
        compiled.plan.handle, compiled.entry.name, cluster=cluster, samples=float(samples),
        tokens=float(tokens), scaled_axis=axis, scaled_sizes=list(sizes), records=records)
    if problems:
        raise ValueError("\n".join(problems))
    return json.loads(text)
