# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import count, size_text
from ..units import seconds_text

if TYPE_CHECKING:
    from . import Row, Sweep


def print_sweep(sweep: Sweep) -> str:
    """The ranked table, and below it what is left out."""
    rows, left_out = sweep.rows, sweep.left_out
    text = f"{len(rows)} of {count(len(rows) + len(left_out), 'combination')} on {sweep.cluster}\n"
    # What is the same everywhere says nothing.
    every = [each.settings for each in (*rows, *left_out)]
    varied = [name for name in (every[0] if every else ()) if any(each[name] != every[0][name] for each in every)]
    if rows:
        text += _aligned([_head(sweep, varied), *(_cells(number, row, sweep, varied) for number, row in enumerate(rows, 1))])
    if left_out:
        text += "left out\n"
        text += "".join(f"  {_named(each.settings, varied)}: {each.reason}\n" for each in left_out)
    return text


def _has_tokens(sweep: Sweep) -> bool:
    return any(row.tokens for row in sweep.rows)


def _head(sweep: Sweep, varied: list[str]) -> list[str]:
    tokens = ["tokens/s"] if _has_tokens(sweep) else []
    return ["", *varied, "mesh", "devices", "step time", *tokens, "MFU", "exposed", "bubble", "memory", ""]


def _cells(number: int, row: Row, sweep: Sweep, varied: list[str]) -> list[str]:
    mesh = " x ".join(f"{axis}={size}" for axis, size in row.mesh.items())
    tokens = [f"{row.tokens / row.step_seconds:,.0f}"] if _has_tokens(sweep) else []
    return [str(number), *(_text(row.settings[name]) for name in varied), mesh, str(row.devices),
            seconds_text(row.step_seconds), *tokens, _percent(row.mfu), _percent(row.exposed_seconds / row.step_seconds),
            _percent(row.bubble_seconds / row.step_seconds), size_text(row.arena_bytes),
            "fits" if row.fits else f"exceeds {size_text(row.usable_bytes)}"]


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _named(settings: dict[str, Any], names: list[str]) -> str:
    return " ".join(f"{name}={_text(settings[name])}" for name in names) or "the only one"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "".join("  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths)) + f"  {row[-1]}".rstrip() + "\n"
                   for row in rows)
