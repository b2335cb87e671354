# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`show_specs`: the table of what every parameter's spec came to."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from . import tree as trees
from .errors import count, listing, size_text
from .legality import nearest, padding, shard_shape, violations
from .mesh import AbstractMesh
from .offenders import as_array
from .path_groups import group_paths
from .rules import Rules
from .sharding import NamedSharding
from .spec import PartitionSpec

# A parameter that is not sharded although it could be is worth a hint from this part of all
# bytes on.
_WORTH_A_HINT = 0.01


@dataclasses.dataclass(frozen=True)
class Row:
    """A parameter with its spec. `source` says where the spec is from: the text of a rule, or
    the place in a prefix tree."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    itemsize: int
    source: str
    spec: PartitionSpec | None

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    def is_legal(self, mesh: AbstractMesh) -> bool:
        return self.spec is None or not violations(self.spec, mesh, self.shape)

    def bytes_a_device(self, mesh: AbstractMesh) -> int:
        """Bytes of a device's part; all bytes if there is no legal part."""
        if self.spec is None or not self.is_legal(mesh):
            return self.bytes
        return math.prod(shard_shape(self.spec, mesh, self.shape)) * self.itemsize

    def remarks(self, mesh: AbstractMesh, all_bytes: int) -> str:
        """Why every device holds all of it, or what is padded; empty if neither."""
        if self.spec is None:
            return "no spec: left to propagation"
        found = violations(self.spec, mesh, self.shape)
        if found:
            legal = nearest(self.spec, mesh, self.shape, limit=1)
            hint = f"; nearest legal: {legal[0]}" if legal else ""
            return f"ILLEGAL: {found[0].text}{hint}"
        if self.bytes_a_device(mesh) < self.bytes or not self.bytes:
            return self._padding(mesh)
        axes = [axis for dim in self.spec.dim_axes() for axis in dim]
        if axes:
            return f"{', '.join(repr(str(axis)) for axis in axes)} of the mesh has size 1"
        if any(self.spec.is_open(dim) for dim in range(len(self.spec))):
            return "unconstrained: left to propagation"
        return f"P() replicates it{self._hint(mesh, all_bytes)}"

    def _padding(self, mesh: AbstractMesh) -> str:
        """What is padded, and the part of it that a device holds."""
        sizes = padding(self.spec, mesh, self.shape)
        parts = [f"dimension {dim} padded to {size}" for dim, size in sizes.items()]
        if not parts:
            return ""
        padded = math.prod(sizes.get(dim, size) for dim, size in enumerate(self.shape))
        more = 100 * (padded / math.prod(self.shape) - 1)
        return f"{listing(parts)}: {more:.2g} % more"

    def _hint(self, mesh: AbstractMesh, all_bytes: int) -> str:
        """The spec of one axis that would leave a device least, for a large array."""
        specs = [
            PartitionSpec(*[None] * dim, name)
            for name, size in mesh.shape_tuple
            for dim, extent in enumerate(self.shape)
            if size > 1 and extent and extent % size == 0
        ]
        if not specs:
            sizes = " or ".join(f"'{name}' ({size})" for name, size in mesh.shape_tuple if size > 1)
            return f"; no dimension divides by {sizes}" if self.shape and sizes else ""
        if self.bytes < _WORTH_A_HINT * all_bytes:
            return ""
        best = min(specs, key=lambda s: math.prod(shard_shape(s, mesh, self.shape)))
        ways = math.prod(self.shape) // math.prod(shard_shape(best, mesh, self.shape))
        return f"; {best} would leave 1/{ways} of it a device"


def show_specs(tree: Any, specs: Any, mesh: AbstractMesh, *, file: TextIO | None = None) -> None:
    """Prints what `specs` give each array of `tree`: array, rule, spec, bytes a device and, for
    what is not sharded, why; for what is padded, how far. `specs` are `Rules`, or a prefix tree of specs."""
    print(specs_text(tree, specs, mesh), file=file or sys.stdout)


def specs_text(tree: Any, specs: Any, mesh: AbstractMesh) -> str:
    """The table that `show_specs` prints."""
    rows = _rows(tree, specs)
    by_path = {row.path: row for row in rows}
    all_bytes = sum(row.bytes for row in rows)
    origin = "rule" if isinstance(specs, Rules) else "from"
    table = [("parameter", "shape", "dtype", origin, "spec", "bytes a device", "why not sharded")]
    for group in group_paths(by_path, lambda path: dataclasses.replace(by_path[path], path="")):
        row = by_path[group.paths[0]]
        times = f" ({len(group.paths)}x)" if len(group.paths) > 1 else ""
        table.append(
            (
                f"{group}{times}",
                str(list(row.shape)),
                row.dtype,
                row.source,
                "-" if row.spec is None else str(row.spec),
                size_text(row.bytes_a_device(mesh) * len(group.paths)),
                row.remarks(mesh, all_bytes),
            )
        )
    return "\n".join([*_aligned(table, right={5}), "", *_summary(rows, mesh)])


def _rows(tree: Any, specs: Any) -> list[Row]:
    leaves = trees.flatten_with_keys(tree)[0]
    texts = trees.distinct_slashes([path for path, _ in leaves])
    if isinstance(specs, Rules):
        sources = [(f"{rule.number} {rule.pattern}", rule.spec) for rule in specs.match(tree)]
    else:
        prefix = trees.broadcast_prefix_with_keys(
            specs, tree, lambda node: node is None, name="specs"
        )
        sources = [
            (trees.slashes(path) or "(all)", s.spec if isinstance(s, NamedSharding) else s)
            for path, s in prefix
        ]
    return [
        Row(
            text or "(array)",
            tuple(array.shape),
            array.dtype.name,
            array.dtype.itemsize,
            *source,
        )
        for text, (_, leaf), source in zip(texts, leaves, sources)
        for array in [as_array(leaf)]
    ]


def _aligned(table: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table)]
    return [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in table
    ]


def _summary(rows: Sequence[Row], mesh: AbstractMesh) -> list[str]:
    axes = " x ".join(f"'{name}' {size}" for name, size in mesh.shape_tuple)
    total = sum(row.bytes for row in rows)
    local = sum(row.bytes_a_device(mesh) for row in rows)
    whole = [row for row in rows if row.bytes and row.bytes_a_device(mesh) == row.bytes]
    part = f" ({100 * local / total:.1f} %)" if total else ""
    lines = [
        f"{count(len(rows), 'parameter')} on {count(mesh.size, 'device')} ({axes})",
        f"{size_text(total)} in all, {size_text(local)} a device{part}",
    ]
    if whole:
        held = size_text(sum(row.bytes for row in whole))
        lines.append(f"{held} of it in {count(len(whole), 'parameter')} that are not sharded")
    illegal = [row for row in rows if not row.is_legal(mesh)]
    if illegal:
        lines.append(f"{count(len(illegal), 'spec')} illegal, counted as not sharded")
    return lines
