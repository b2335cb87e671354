# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables as HTML."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Sequence


class Markup(str):
    """Text of a cell that is HTML already."""


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    kind: str = ""
    """"number", "name", "code" or "cause": how its cells look."""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], *, sums: Iterable[int] = (),
          in_box: bool = True) -> str:
    """A table; the rows with the numbers `sums` are set off. What is wider than its place scrolls there; in a box,
    what is long as well."""
    bold = set(sums)
    head = "".join(f"<th{_class(column)}>{html.escape(column.name)}</th>" for column in columns)
    body = "".join(
        f"<tr{' class=sum' if number in bold else ''}>"
        + "".join(f"<td{_class(column)}>{_text(cell)}</td>" for column, cell in zip(columns, row)) + "</tr>"
        for number, row in enumerate(rows))
    text = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="{"box" if in_box else "whole"}">{text}</div>'


def _class(column: Column) -> str:
    return f' class="{column.kind}"' if column.kind else ""


def _text(cell: str) -> str:
    return cell if isinstance(cell, Markup) else html.escape(str(cell))


def folded(text: str, most: int = 6) -> Markup:
    """Text; where it has more lines, all but the first are shown on demand."""
    first, *rest = text.split("\n")
    if len(rest) < most:
        return Markup(html.escape(text))
    return Markup(f"<details><summary>{html.escape(first)}</summary>{html.escape(chr(10).join(rest))}</details>")


def swatch(colour: str, name: str) -> Markup:
    """A name behind the colour that it has in a picture."""
    return Markup(f'<span class="swatch" style="background:{colour}"></span>{html.escape(name)}')
