# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What in a plan is rarely meant: memory that every rank holds whole, axes and constraints without effect,
annotations that contradict each other, collectives that a loop repeats, an order of axes that sends over slow
links, padding.

Each finding names the argument or axis, the two numbers that matter, and the edit. Layers that are
alike are one finding, ``params['blocks'][*]['wq']``.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import defaultdict
from collections.abc import Iterable

from .columns import wrapped
from .compiled import Compiled
from .errors import count, size_text
from .records import Records, cause_reader
from .session import EntryInfo, Plan, ValueInfo
from .simulation import collective_turns, simulate
from .spec import PartitionSpec

RULES = {
    "replicated-state": "a parameter or a state of the optimizer that no axis splits",
    "replicated-value": "another argument that no axis splits",
    "unused-axis": "a mesh axis that splits nothing",
    "contradiction": "an annotation that is undone by another one before its first use",
    "loop-collective": "a value that a loop does not change, moved in every iteration",
    "no-effect": "a constraint without which the plan is the same",
    "axis-order": "an order of mesh axes that sends over slow links what another one keeps on fast ones",
    "padding": "a dimension of which more than a share is padding",
}

# What rests in shards, and is moved as it is or in another type.
_AT_REST = re.compile(r'held over "[^"]*": (?:result )?"(?P<name>[^"]*)"(?: \(argument \d+\))? annotated as P\(.*?\)(?: \([^()]*\))?'
                      r"(?:, through (?:(?:ext|trunc|convert) \([^()]*\)(?:, |$))+)?$")
_INDEX = re.compile(r"(?<=\[)\d+(?=\])")


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing to look at."""

    rule: str
    entry: str
    subject: str
    """A path, or the name of an axis."""
    text: str
    edit: str

    def __str__(self) -> str:
        lines = [*wrapped(f"{self.entry}: {self.subject}: {self.text} [{self.rule}]", "", "    "),
                 *wrapped(f"edit: {self.edit}", "    ", "        ")]
        return "\n".join(lines)


def lint_program(compiled: Compiled, *, cluster: str = "", least_gain: float = 0.05, **options) -> list[Finding]:
    """What `lint` finds in the plan of a compiled function, and what takes its program: for that it is compiled
    without each of its constraints, and with the axes of the mesh in every order, of which one is worth a word
    by which a step is shorter by the share `least_gain`, as predicted for `cluster`. Raises `ValueError` for a
    plan that was loaded."""
    from .lint_program import axis_order, no_effect

    if compiled._source is None:
        raise ValueError("a plan that was loaded has no program to look at: compile the function, or lint its plan")
    return [*(each for each in lint(compiled.plan, **options) if each.entry == compiled.entry.name),
            *no_effect(compiled), *axis_order(compiled, cluster, least_gain)]


def lint(plan: Plan, *, least_bytes: int = 16 << 20, most_padding: float = 0.05) -> list[Finding]:
    """All findings in a plan, entry by entry. Arguments are looked at that take `least_bytes` on every rank,
    all that are alike together; `most_padding` is the share of a dimension that may be padding."""
    findings = []
    for entry in plan.entries:
        records = Records.of(plan, entry)
        mesh = _mesh_of(entry)
        findings += _replicated(entry, mesh, records.pipeline_axis, least_bytes)
        findings += _unused_axes(entry, mesh, records)
        findings += _contradictions(entry, plan)
        findings += _loop_collectives(entry, plan)
        findings += _padding(entry, records, most_padding)
    return findings


def _mesh_of(entry: EntryInfo) -> dict[str, int]:
    values = (*entry.inputs, *entry.outputs)
    return dict(values[0].sharding.mesh.shape) if values else {}


def _replicated(entry: EntryInfo, mesh: dict[str, int], pipeline_axis: str, least_bytes: int) -> Iterable[Finding]:
    # The axis of a pipeline splits no value: each of its ranks has those of its stages.
    stages = mesh.get(pipeline_axis, 1)
    mesh = {axis: size for axis, size in mesh.items() if axis != pipeline_axis}
    groups: dict[tuple[str, str, bool], list[ValueInfo]] = defaultdict(list)
    for value in entry.inputs:
        if value.sharding.is_fully_replicated:
            groups[_INDEX.sub("*", value.name), value.type, value.is_state].append(value)
    for (name, type, is_state), values in groups.items():
        each = math.prod(values[0].shape) * values[0].dtype.itemsize
        split = _best_split(values[0].shape, mesh)
        of_rank = -(-len(values) // stages)
        held = each * of_rank
        if held < least_bytes or split is None:
            continue
        spec, parts = split
        number = f"{of_rank} x " if of_rank > 1 else ""
        yield Finding("replicated-state" if is_state else "replicated-value", entry.name, name,
                      f"{number}{type} takes {size_text(held)} on every rank: no axis splits it",
                      f"{spec}, of which a rank holds {size_text(held // parts)}")


def _best_split(shape: tuple[int, ...], mesh: dict[str, int]) -> tuple[PartitionSpec, int] | None:
    """The axis that splits a dimension into the most even parts; of equal ones the first."""
    best = max(((size, -dim, axis) for axis, size in mesh.items() for dim, extent in enumerate(shape)
                if size > 1 and extent % size == 0), default=None, key=lambda found: found[:2])
    if best is None:
        return None
    size, dim, axis = best
    return PartitionSpec(*[axis if i == -dim else None for i in range(len(shape))]), size


def _unused_axes(entry: EntryInfo, mesh: dict[str, int], records: Records) -> Iterable[Finding]:
    used = {axis.name for value in (*entry.inputs, *entry.outputs)
            for axes in value.sharding.spec.dim_axes() for axis in axes}
    used |= {name.split(":")[0] for each in records.collectives for name in each.axes} | {records.pipeline_axis}
    for axis, size in mesh.items():
        if size > 1 and axis not in used:
            yield Finding("unused-axis", entry.name, axis,
                          f"splits no argument, no result and nothing that is sent: {size} ranks compute the same",
                          f"split an argument over \"{axis}\", or leave the axis out of the mesh")


def _contradictions(entry: EntryInfo, plan: Plan) -> Iterable[Finding]:
    names = {f'"{value.name}"' for value in entry.inputs}
    records = Records.of(plan, entry)
    seen = set()
    for each in records.collectives:
        # What is gathered to be used whole may rest in shards on purpose.
        if each.kind not in ("all_to_all", "permute"):
            continue
        for _, cause in each.parts:
            reason = records.reason_of(cause)
            name = next((name for name in names if cause.startswith(f"{name} held as")), None)
            if reason is None or name is None or not reason.edit or name in seen:
                continue
            if [end for end, _ in reason.chain].count("annotation") < 2:
                continue
            seen.add(name)
            yield Finding("contradiction", entry.name, name.strip('"'),
                          f"{reason.chain[0][1]}, but {reason.chain[-1][1]}", str(reason.edit))


def _loop_collectives(entry: EntryInfo, plan: Plan) -> Iterable[Finding]:
    compiled = Compiled(plan, entry=entry.name)
    records = Records.of(plan, entry)
    turns = collective_turns(simulate(compiled, records=True)["recorded"], cause_reader(entry))
    inputs = {value.name for value in entry.inputs}
    groups: dict[tuple[str, str, int], int] = defaultdict(int)
    for each in records.collectives:
        number = turns.get((each.kind, each.bytes, each.cause, each.location), 1)
        for size, cause in each.parts if number > 1 and not each.reduction else ():
            reason = records.reason_of(cause)
            held = next((match for _, text in reason.chain if (match := _AT_REST.match(text))), None) if reason else None
            if held and held["name"] in inputs:
                groups[_INDEX.sub("*", held["name"]), f"{each.call}, {size}", number] += 1
    for (name, what, number), parts in groups.items():
        each = f" in {count(parts, 'part')}" if parts > 1 else ""
        yield Finding("loop-collective", entry.name, name,
                      f"{what}{each}, is done {number} times in a call, in a loop that does not change what is moved",
                      'constrain it before the loop, for a Layout gather="step": all of it stays in memory then')


def _padding(entry: EntryInfo, records: Records, most: float) -> Iterable[Finding]:
    for each in records.padding:
        share = 1 - each.size / each.padded_size
        if share > most:
            less = each.size // each.shards * each.shards
            sizes = f"{less} or {each.size + -each.size % each.shards}" if less else str(each.shards)
            yield Finding("padding", entry.name, each.name,
                          f"dimension {each.dim} of size {each.size} is padded to {each.padded_size} "
                          f"({share:.1%} of it), {size_text(each.bytes)} in all",
                          f"a size of {sizes}, which {count(each.shards, 'shard')} divide")
