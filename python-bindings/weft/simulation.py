# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator, as the package uses it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from .compiled import Compiled
from .records import Collective

# Of all collectives that read alike (kind, bytes, cause and line): the seconds that they take in a
# step, and those of them that are exposed.
CollectiveTimes = dict[tuple[str, int, str, str], tuple[float, float]]


def cluster_text(cluster: str | os.PathLike[str]) -> str:
    """The name or the path of a cluster. Raises `TypeError` for what is neither."""
    if not isinstance(cluster, (str, os.PathLike)):
        raise TypeError(f'cluster must be the name of one, as "dgx-h100", or a file, got {cluster!r} of type '
                        f"{type(cluster).__name__}")
    return os.fspath(cluster)


def checked_cluster(cluster: str | os.PathLike[str]) -> str:
    """The name or the path of a cluster. Raises `ValueError` with all that is wrong with it."""
    from . import _compiler

    text = cluster_text(cluster)
    if problems := _compiler.cluster_problems(text):
        raise ValueError("\n".join(problems))
    return text


def simulate(
    compiled: Compiled,
    cluster: str = "",
    *,
    samples: float = 0,
    tokens: float = 0,
    scale: tuple[str, Sequence[int]] = ("", ()),
    records: bool = False,
    turns: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    """What ``shard-sim plan --json`` prints of the entry, and under "recorded", if asked for, what
    it does when. Of the loops that run ``turns[0]`` times and are in no other, as if they ran ``turns[1]`` times. Raises
    `ValueError` with all that is wrong."""
    from . import _runtime

    axis, sizes = scale
    text, problems = _runtime.simulate(
        compiled.plan.handle, compiled.entry.name, cluster=cluster_text(cluster), samples=float(samples),
        tokens=float(tokens), scaled_axis=axis, scaled_sizes=list(sizes), records=records, turns=turns)
    if problems:
        raise ValueError("\n".join(problems))
    return json.loads(text)


def collective_times(recorded: dict[str, Any], read_cause: Callable[[str], str]) -> CollectiveTimes:
    """Of all collectives that read alike: the time that they take in a step, and how much of it is exposed."""
    runs = [0] * len(recorded["segments"])
    for role in recorded["roles"]:
        for segment, *_ in role["runs"]:
            runs[segment] += 1
    sums = [[0, 0] for _ in recorded["instructions"]]
    for segment, times in zip(recorded["segments"], runs):
        for stream, instruction, begin, end, exposed in segment["events"]:
            if stream or exposed:
                sums[instruction][exposed] += times * (end - begin)
    found: CollectiveTimes = {}
    for each, (taken, exposed) in zip(recorded["instructions"], sums):
        if each["kind"] == "collective":
            key = (each["name"], each["bytes"], read_cause(each["cause"]), each["location"])
            before = found.get(key, (0.0, 0.0))
            found[key] = before[0] + taken / 1e9, before[1] + exposed / 1e9
    return found


def collective_turns(recorded: dict[str, Any], read_cause: Callable[[str], str]) -> dict[tuple[str, int, str, str], int]:
    """Of all collectives that read alike: how often the same instruction does one of them in a run of a segment,
    more than once in a loop."""
    found: dict[tuple[str, int, str, str], int] = {}
    for segment in recorded["segments"]:
        times: dict[int, int] = {}
        for _, instruction, _, _, exposed in segment["events"]:
            times[instruction] = times.get(instruction, 0) + (not exposed)
        for instruction, number in times.items():
            each = recorded["instructions"][instruction]
            if each["kind"] == "collective":
                key = (each["name"], each["bytes"], read_cause(each["cause"]), each["location"])
                found[key] = max(found.get(key, 0), number)
    return found


def time_of(each: Collective, times: CollectiveTimes) -> tuple[float, float]:
    """Those of a collective."""
    return times.get((each.kind, each.bytes, each.cause, each.location), (0.0, 0.0))
