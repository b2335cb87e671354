# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..compiled import Compiled
from ..errors import size_text
from ..path_groups import group_paths
from ..records import Collective, Memory, Message
from ..session import ValueInfo
from ..simulation import CollectiveTimes, time_of
from .classes import MEMORY
from .figures import Slice
from .html_table import Column, folded, swatch, table
from .words import micro

# Of the tensors at the peak, so many are listed.
MOST_TENSORS = 30


def times_table(slices: Sequence[Slice], step: float) -> str:
    """Where the time of a step goes; of several roles the mean, the least and the most."""
    has_roles = len(slices[0].times) > 1
    columns = [Column("time of a rank", "name"), Column("mean" if has_roles else "", "number"), Column("of step", "number")]
    if has_roles:
        columns += [Column("least", "number"), Column("most", "number")]

    def row(name, times):
        mean = sum(times) / len(times)
        return [name, micro(mean), f"{100 * mean / step:.1f} %"] + ([micro(min(times)), micro(max(times))] if has_roles else [])

    inside = [each for each in slices if not each.is_beside]
    rows = [row(swatch(each.colour, each.name), each.times) for each in inside]
    rows.append(row("sum", [sum(times) for times in zip(*(each.times for each in inside))]))
    rows += [row(swatch(each.colour, each.name), each.times) for each in slices if each.is_beside]
    return table(columns, rows, sums=[len(inside)], in_box=False)


def memory_table(memory: Memory) -> str:
    """By purpose, at the peak and at most."""
    rows = [[swatch(MEMORY[name], name), size_text(memory.at_peak[name]), size_text(memory.highest[name])]
            for name in MEMORY if memory.highest[name]]
    rows.append(["free", size_text(memory.free), ""])
    rows.append(["arena", size_text(memory.arena), ""])
    return table([Column("memory of a rank", "name"), Column("at the peak", "number"), Column("highest", "number")], rows,
                 sums=[len(rows) - 1], in_box=False)


def peak_table(memory: Memory) -> str:
    """The tensors that are alive at the peak."""
    rows = [[size_text(each.bytes), swatch(MEMORY[each.purpose], each.purpose),
             each.type + (f" x {each.slots} micro-batches" if each.slots > 1 else ""), each.name]
            for each in memory.peak[:MOST_TENSORS]]
    rest = memory.peak[MOST_TENSORS:]
    if rest:
        rows.append([size_text(sum(each.bytes for each in rest)), "", "", f"in {len(rest)} more"])
    return table([Column("bytes", "number"), Column("purpose", "name"), Column("a rank's shard", "code"),
                  Column("tensor", "code")], rows)


def collectives_table(collectives: Sequence[Collective], times: CollectiveTimes) -> str:
    """Every collective with its cause."""
    def row(each: Collective):
        taken, exposed = time_of(each, times)
        return [each.kind, ", ".join(each.axes), f"{each.count} x {size_text(each.bytes)}", size_text(each.total_bytes),
                micro(taken), micro(exposed), each.location, folded(each.cause)]

    ordered = sorted(collectives, key=lambda each: -each.total_bytes)
    columns = [Column("collective", "code"), Column("axes", "code"), Column("sent by a rank", "number"),
               Column("in all", "number"), Column("takes", "number"), Column("exposed", "number"),
               Column("line", "code"), Column("cause", "cause")]
    return table(columns, map(row, ordered))


def messages_table(messages: Sequence[Message]) -> str:
    """What stages of a pipeline send to each other."""
    rows = [[each.label, f"{each.count} x {size_text(each.bytes)}", size_text(each.total_bytes), str(each.queue)]
            for each in sorted(messages, key=lambda each: -each.total_bytes)]
    return table([Column("message"), Column("sent by a rank", "number"), Column("in all", "number"),
                  Column("queue", "number")], rows)


def shardings_table(compiled: Compiled) -> str:
    """Arguments, states and results: those that differ in a number only in one row."""
    kinds = [("state", value) for value in compiled.entry.inputs if value.is_state]
    kinds += [("argument", value) for value in compiled.entry.inputs if not value.is_state]
    kinds += [("result", value) for value in compiled.entry.outputs if not value.is_state]
    rows: list[list[str]] = []
    for kind in ("state", "argument", "result"):
        values = {value.name: value for which, value in kinds if which == kind}
        groups = group_paths(values, lambda name: (values[name].type, str(values[name].sharding.spec)))
        rows += [_sharding_row(kind, str(group), values[group.paths[0]], len(group.paths)) for group in groups]
    return table([Column("value", "code"), Column("is"), Column("type", "code"), Column("sharding", "code"),
                  Column("a rank's shard", "code"), Column("bytes of a rank", "number")], rows)


def _sharding_row(kind: str, name: str, value: ValueInfo, count: int) -> list[str]:
    size = math.prod(value.local_shape) * value.dtype.itemsize
    whole = value.type.partition("[")[0]
    return [name, kind, value.type, repr(value.sharding.spec), f"{whole}[{', '.join(map(str, value.local_shape))}]",
            f"{count} x {size_text(size)}" if count > 1 else size_text(size)]


def scaling_table(scaled: dict[str, list[dict[str, Any]]]) -> str:
    """The rows of shard-sim's --scale."""
    rows = [[axis, str(row[axis]), str(row["devices"]), micro(row["step_seconds"]), micro(row["communication_seconds"]),
             micro(row["exposed_seconds"]), f"{100 * row['efficiency']:.1f} %"]
            for axis, rows in scaled.items() for row in rows]
    names = ["axis", "size", "devices", "step time", "communication", "exposed", "efficiency"]
    return table([Column(name, "number" if number else "code") for number, name in enumerate(names)], rows)
