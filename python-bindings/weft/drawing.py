# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`visualize`: which ranks hold which part of an array, as a picture of text or in a notebook."""

from __future__ import annotations

import dataclasses
import html
import itertools
import math
from collections.abc import Sequence
from typing import Any

from .legality import shard_shape
from .mesh import AbstractMesh, Mesh
from .sharding import NamedSharding
from .spec import PartitionSpec

_WIDTH = 80
# Of a picture; what is left out is marked.
_MOST_ROWS = 16
_DOTS = "..."
# Of the cells of a page, in turn.
_COLOURS = ("#dbe9f6", "#fde6d0", "#dcf0dc", "#f6dcdc", "#e8e0f2", "#ece4dc", "#f6e4f0", "#e6e6e6")


@dataclasses.dataclass(frozen=True, repr=False)
class Drawing:
    """A picture for each place along the dimensions before the last two that are split."""

    title: str
    grids: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    """What each is of, and its rows of cells."""

    def __str__(self) -> str:
        parts = [self.title]
        for title, grid in self.grids:
            parts += ([title] if title else []) + _boxes(grid)
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = "".join(f"<div>{html.escape(title)}</div>{_table(grid)}" for title, grid in self.grids)
        return f"<div style='font-family:monospace'><div>{html.escape(self.title)}</div>{tables}</div>"


def visualize(array: Any, shape: Sequence[int] | None = None, mesh: AbstractMesh | None = None) -> Drawing:
    """Draws which ranks hold which part of an array, as ``jax.debug.visualize_array_sharding`` does.

    `array` is a `weft.Array`, anything else with a shape and a `NamedSharding`, or a sharding or a spec, of which the
    `shape` and for a spec the `mesh` are given as well. A terminal shows the picture as text, and a notebook as a table.

    >>> visualize(PartitionSpec("data"), (8, 4), Mesh((2, 2), ("data", "model")))
    8x4 as P('data',) on data=2, model=2: 4x4 a rank
    ┌─────┐
    │ 0-1 │
    ├─────┤
    │ 2-3 │
    └─────┘
    """
    sharding = array if isinstance(array, (NamedSharding, PartitionSpec)) else getattr(array, "sharding", None)
    shape = getattr(array, "shape", None) if shape is None and sharding is not array else shape
    if isinstance(sharding, PartitionSpec):
        if mesh is None:
            raise ValueError(f"visualize: give the mesh that {sharding!r} is on: mesh=")
        sharding = NamedSharding(mesh, sharding)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"visualize draws an array with a sharding, a NamedSharding or a PartitionSpec, got {array!r} of "
                        f"type {type(array).__name__}")
    if shape is None:
        raise ValueError("visualize: give the shape of the array: shape=")
    return _draw(_on_devices(sharding), tuple(shape))


def _on_devices(sharding: NamedSharding) -> NamedSharding:
    """An abstract mesh has its devices in order."""
    mesh = sharding.mesh
    return sharding if isinstance(mesh, Mesh) else sharding.update(mesh=Mesh(mesh.axis_sizes, mesh.axis_names))


def _draw(sharding: NamedSharding, shape: tuple[int, ...]) -> Drawing:
    local = shard_shape(sharding.spec, sharding.mesh, shape)
    parts = [math.ceil(size / part) if part else 1 for size, part in zip(shape, local)]
    ranks: dict[tuple[int, ...], list[int]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        if any(size and (cut.start or 0) >= size for cut, size in zip(index, shape)):
            continue  # it has padding alone
        at = tuple((cut.start or 0) // part if part else 0 for cut, part in zip(index, local))
        ranks.setdefault(at, []).append(device)
    rows, columns = ([1, 1] + parts)[-2:]
    grids = []
    for front in itertools.product(*map(range, parts[:-2])):
        cells = tuple(tuple(_ranks_text(sorted(ranks.get((*front, row, column)[-len(shape):] if shape else (), [])))
                            for column in range(columns)) for row in range(rows))
        where = [":" if count == 1 else f"{i * part}:{min(size, (i + 1) * part)}"
                 for i, count, part, size in zip(front, parts, local, shape)]
        grids.append((f"[{', '.join(where)}, :, :]" if any(count > 1 for count in parts[:-2]) else "", cells))
    axes = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape_tuple)
    title = f"{_shape_text(shape)} as {sharding.spec!r} on {axes}: {_shape_text(local)} a rank"
    return Drawing(title, tuple(grids))


def _shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def _ranks_text(ranks: list[int]) -> str:
    """``0-3``, ``0,2``, ``0,8,...,56``."""
    if len(ranks) > 1 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"{ranks[0]}-{ranks[-1]}"
    if len(ranks) > 4:
        return f"{ranks[0]},{ranks[1]},{_DOTS},{ranks[-1]}"
    return ",".join(map(str, ranks))


def _shortened(items: list[Any], most: int, dots: Any) -> list[Any]:
    return items if len(items) <= most else [*items[:most - 2], dots, items[-1]]


def _boxes(grid: Sequence[Sequence[str]]) -> list[str]:
    inner = max(len(cell) for row in grid for cell in row) + 2
    columns = max(3, (_WIDTH - 1) // (inner + 1))
    rows = [_shortened([*row], columns, _DOTS) for row in grid]
    rows = _shortened(rows, _MOST_ROWS, [_DOTS] * len(rows[0]))

    def line(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * inner for _ in rows[0]) + right

    texts = ["│" + "│".join(cell.center(inner) for cell in row) + "│" for row in rows]
    between = line("├", "┼", "┤")
    return [line("┌", "┬", "┐"), *[text for row in texts for text in (row, between)][:-1], line("└", "┴", "┘")]


def _table(grid: Sequence[Sequence[str]]) -> str:
    rows, number = [], itertools.count()
    for row in _shortened([*grid], _MOST_ROWS, (_DOTS,) * len(grid[0])):
        cells = "".join(f"<td style='border:1px solid #667;padding:6px 12px;text-align:center;"
                        f"background:{_COLOURS[next(number) % len(_COLOURS)]}'>{html.escape(cell)}</td>"
                        for cell in _shortened([*row], _MOST_ROWS, _DOTS))
        rows.append(f"<tr>{cells}</tr>")
    return f"<table style='border-collapse:collapse'>{''.join(rows)}</table>"
