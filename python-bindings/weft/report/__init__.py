# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`report`: a plan and its predicted step as a page to look at.

    weft.report(compiled, cluster="dgx-h100").save("report.html")
    python -m weft.report step.plan -o report.html --cluster=dgx-h100

The page is one file with all that it shows, and needs no network. In a notebook a `Report` shows
itself. Pictures are drawn by Plotly, an optional dependency.
"""

from __future__ import annotations

import html
import math
import numbers
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..compiled import Compiled
from ..simulation import cluster_text, simulate
from ..units import seconds_text


class Report:
    """A plan and its predicted step."""

    def __init__(self, step: dict[str, Any], page: str):
        self.step = step
        """What ``shard-sim plan --json`` prints of the entry."""
        self.html = page
        """The page."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # A document of its own: neither style nor scripts meet those of the notebook.
        return ('<iframe style="width:100%;height:80vh;min-height:600px;border:1px solid #d8dde6" '
                f'srcdoc="{html.escape(self.html)}"></iframe>')

    def __repr__(self) -> str:
        return (f"Report({self.step['entry']} on {self.step['cluster']}: step "
                f"{seconds_text(self.step['step_seconds'])}, MFU {100 * self.step['mfu']:.1f} %)")


def report(
    compiled: Compiled,
    cluster: str | os.PathLike[str] | None = None,
    *,
    samples: float = 0,
    tokens: float = 0,
    scale: Mapping[str, Sequence[int]] | None = None,
) -> Report:
    """What a plan does, sends and stores, and how long its step takes on a cluster, as a page.

    `cluster` is the name of one that is shipped, as "dgx-h100", or a file; without, it is the one
    that the plan was compiled for, if that was said, else as for ``shard-sim``. With `samples` or
    `tokens` of a step the page says how many there are a second. `scale` has sizes of mesh axes,
    ``{"data": [8, 64, 512]}``, to predict the step with; without, every axis but that of a pipeline
    is doubled as often as the cluster has devices.

    Raises `ValueError` with all that is wrong, `TypeError` for arguments of other types, and
    `ImportError` if Plotly is not installed.
    """
    from .page import make_page

    if not isinstance(compiled, Compiled):
        hint = "; weft.load reads plan files" if isinstance(compiled, (str, os.PathLike)) else ""
        raise TypeError(f"report needs a compiled function, got {compiled!r} of type "
                        f"{type(compiled).__name__}{hint}")
    for argument, number in (("samples", samples), ("tokens", tokens)):
        _check_amount(argument, number)
    name = cluster_text(cluster) if cluster is not None else compiled.cluster or ""
    wanted = None if scale is None else _checked_scale(scale)
    step = simulate(compiled, name, samples=samples, tokens=tokens, records=True)
    recorded = step.pop("recorded")
    scaled = _scale(compiled, step, name, wanted)
    return Report(step, make_page(compiled, step, recorded, scaled))


def _check_amount(name: str, number: float) -> None:
    is_number = isinstance(number, numbers.Real)
    if not is_number or not 0 <= number < math.inf:
        raise (ValueError if is_number else TypeError)(f"report: {name} must be a finite number of at least 0, got {number!r}")


_MOST_DEVICES = 1 << 30


def _checked_scale(scale: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    def is_size(size: Any) -> bool:
        return isinstance(size, numbers.Integral) and not isinstance(size, bool)

    pairs = list(scale.items()) if isinstance(scale, Mapping) else [(None, None)]
    if not all(isinstance(axis, str) and isinstance(sizes, Iterable) and all(map(is_size, sizes)) for axis, sizes in pairs):
        raise TypeError('report: scale must have lists of sizes by the names of axes, as {"data": [8, 64]}, '
                        f"got {scale!r}")
    wanted = {axis: [int(size) for size in sizes] for axis, sizes in pairs}
    for axis, sizes in wanted.items():
        if not sizes or not all(1 <= size <= _MOST_DEVICES for size in sizes):
            raise ValueError(f'report: scale needs one or more sizes from 1 to {_MOST_DEVICES}, got {sizes} of "{axis}"')
    return wanted


def _scale(compiled: Compiled, step: dict, cluster: str, wanted: Mapping[str, Sequence[int]] | None) -> dict[str, list]:
    """By axis: the rows of shard-sim's --scale."""
    if wanted is not None:
        return {axis: simulate(compiled, cluster, scale=(axis, sizes))["scale"] for axis, sizes in wanted.items()}
    scaled = {}
    for axis, size in step["mesh"].items():
        sizes = [size << i for i in range(11) if (step["devices"] << i) <= step["cluster_devices"]]
        if len(sizes) < 2:
            continue
        try:
            rows = simulate(compiled, cluster, scale=(axis, sizes))["scale"]
        except ValueError:  # the axis of a pipeline, or one that the plan has split
            continue
        scaled[axis] = rows
    return scaled
