# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Columns to the right, but for the last one and those whose numbers are in `left`.

    >>> print(aligned([["", "time", ""], ["1", "2.0 s", "fits"]]), end="")
        time
    1  2.0 s  fits
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if at in left else cell.rjust(width)
                 for at, (cell, width) in enumerate(zip(row[:-1], widths))]
        lines.append("  ".join([*cells, row[-1]]).rstrip() + "\n")
    return "".join(lines)


def percent(part: float) -> str:
    """``12.5 %``"""
    return f"{100 * part:.1f} %"
