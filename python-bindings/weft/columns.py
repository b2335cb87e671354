# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines and tables of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 80


def wrapped(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> list[str]:
    """Lines of at most `width` columns; `first` is put in front of the first one, `rest` of the others, or `first` of all.
    A word that is longer has a line of its own."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=first if rest is None else rest,
                         break_long_words=False, break_on_hyphens=False)


def reasons_text(reasons: Iterable[str]) -> str:
    """What a table leaves out, and why."""
    return "".join(f"{line}\n" for line in ["left out", *(line for each in reasons for line in wrapped(each, "  ", "    "))])


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Columns to the right, but for the last one and those whose numbers are in `left`. The first of these has lines
    of its own where a row would be longer than 80 columns.

    >>> print(aligned([["", "time", ""], ["1", "2.0 s", "fits"]]), end="")
        time
    1  2.0 s  fits
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    beyond = sum(widths) + 2 * len(widths[1:]) - WIDTH
    if left and beyond > 0:
        rows, widths[left[0]] = _narrowed(rows, left[0], max(24, widths[left[0]] - beyond))
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if at in left else cell.rjust(width)
                 for at, (cell, width) in enumerate(zip(row[:-1], widths))]
        lines.append("  ".join([*cells, row[-1]]).rstrip() + "\n")
    return "".join(lines)


def _narrowed(rows: Sequence[Sequence[str]], at: int, width: int) -> tuple[list[list[str]], int]:
    """Rows with one column of less width, more of them, and what this width comes to."""
    found = []
    for row in rows:
        cut = textwrap.wrap(row[at], width, subsequent_indent="  ", break_on_hyphens=False)  # long words too
        for number, line in enumerate(cut or [""]):
            others = row if number == 0 else [""] * len(row)
            found.append([*others[:at], line, *others[at + 1:]])
    return found, max(len(row[at]) for row in found)


def percent(part: float) -> str:
    """``12.5 %``"""
    return f"{100 * part:.1f} %"
