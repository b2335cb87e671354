# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..columns import aligned, percent, reasons_text
from ..errors import count, size_text
from ..units import seconds_text

if TYPE_CHECKING:
    from . import Row, Sweep


def print_sweep(sweep: Sweep) -> str:
    """The ranked table, and below it what is left out."""
    rows, left_out = sweep.rows, sweep.left_out
    devices = {row.devices for row in rows}
    text = f"{len(rows)} of {count(len(rows) + len(left_out), 'combination')} on {sweep.cluster}"
    text += f", {count(*devices, 'device')}\n" if len(devices) == 1 else "\n"
    # What is the same everywhere says nothing.
    every = [each.settings for each in (*rows, *left_out)]
    varied = [name for name in (every[0] if every else ()) if any(each[name] != every[0][name] for each in every)]
    if rows:
        columns = _columns(rows, varied)
        text += aligned([["", *columns], *([str(number), *(show(row) for show in columns.values())]
                                            for number, row in enumerate(rows, 1))])
    if left_out:
        text += reasons_text(f"{_named(each.settings, varied)}: {each.reason}" for each in left_out)
    return text


def _columns(rows: tuple[Row, ...], varied: list[str]) -> dict[str, Callable[[Row], str]]:
    """What the table shows of a row, by the head of the column. Without tokens or a pipeline they
    have no column."""
    columns: dict[str, Callable[[Row], str]] = {name: lambda row, name=name: _text(row.settings[name]) for name in varied}
    columns["mesh"] = lambda row: " x ".join(f"{axis}={size}" for axis, size in row.mesh.items())
    scales = len({row.devices for row in rows}) > 1
    if scales and "devices" not in varied:
        columns["devices"] = lambda row: str(row.devices)
    columns["step time"] = lambda row: seconds_text(row.step_seconds)
    if any(row.tokens for row in rows):
        columns["tokens/s"] = lambda row: f"{row.tokens / row.step_seconds:,.0f}"
    # Without tokens the steps of different functions may do different work.
    if scales and (all(row.tokens for row in rows) or "devices" in varied):
        # The rows are sorted, so this is the best on the fewest devices.
        fewest = min(rows, key=lambda row: row.devices)
        columns["efficiency"] = lambda row: percent(_speed_of_device(row) / _speed_of_device(fewest))
    columns["MFU"] = lambda row: percent(row.mfu)
    columns["exposed"] = lambda row: percent(row.exposed_seconds / row.step_seconds)
    if any(row.bubble_seconds for row in rows):
        columns["bubble"] = lambda row: percent(row.bubble_seconds / row.step_seconds)
    columns["memory"] = lambda row: size_text(row.arena_bytes)
    columns[""] = lambda row: "fits" if row.fits else f"exceeds {size_text(row.usable_bytes)}"
    return columns


def _speed_of_device(row: Row) -> float:
    """Tokens, or else steps, a second and device."""
    return (row.tokens or 1) / row.step_seconds / row.devices


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _named(settings: dict[str, Any], names: list[str]) -> str:
    return " ".join(f"{name}={_text(settings[name])}" for name in names) or "the only one"
