# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the collectives out of the text of a compiled HLO module.

Bytes are those that one rank sends with the ring algorithms, as Weft counts
them: 2(N-1)/N of the value for an all-reduce, (N-1)/N of the whole value for
all-gather, reduce-scatter and all-to-all, the value for a permute. What stands
in the body of a loop counts once for each trip.
"""

import dataclasses
import functools
import math
import re

import hlo_module

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
OP_NAME = re.compile(r'op_name="([^"]*)"')


@dataclasses.dataclass(frozen=True)
class HloCollective:
    kind: str
    group: int
    """Devices that take part."""
    size: int
    """Bytes of the result."""
    op_name: str
    trips: int = 1
    """How often one run of the module executes it."""
    slices: int = 1
    """Of an all-reduce: the result is only cut into so many slices afterwards."""
    call: int = 0
    """The number of the call, which may combine several."""
    shape: str = ""
    """Of the result: f32[64,64]."""

    @property
    def wire_bytes(self):
        return wire_bytes(self.kind, self.size, self.group)

    @property
    def credited_bytes(self):
        """Its bytes where the backend has reduce-scatters: reduced and scattered to as many
        devices as there are slices, and reduced among the others."""
        if self.kind != "all-reduce" or self.slices == 1:
            return self.wire_bytes
        slices = math.gcd(self.slices, self.group)
        part = self.size // slices
        return (wire_bytes("reduce-scatter", part, slices)
                + wire_bytes("all-reduce", part, self.group // slices))


def group_size(line):
    """Devices in a group, from any of the three ways that HLO writes groups."""
    mesh = re.search(r"replica_groups=mesh\[(.*?)\][^{]*\{(.*?)\}", line)
    if mesh:
        sizes = {name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", mesh[1])}
        refs = re.findall(r"'(\w+)'(?::\((\d+)\)(\d+))?", mesh[2])
        return math.prod(int(sub) if sub else sizes[name] for name, _, sub in refs)
    iota = re.search(r"replica_groups=\[(\d+),(\d+)\]<=", line)
    if iota:
        return int(iota[2])
    listed = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    if listed:
        return len(listed[1].split(","))
    raise ValueError(f"no replica groups in: {line}")


def wire_bytes(kind, result_bytes, group):
    """As weft::cost::wireBytes: a ring works on chunks, of which the last may be short."""
    if kind == "collective-permute":
        return result_bytes
    whole = result_bytes * group if kind == "reduce-scatter" else result_bytes
    return (group - 1) * -(-whole // group) * (2 if kind == "all-reduce" else 1)


def computation_trips(module):
    """{computation: how often a run of the module executes it}"""
    callers = {}
    for instruction in module.instructions:
        times = 1
        if instruction.opcode == "while":
            count = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', instruction.line)
            if not count:
                raise ValueError(f"a loop of unknown length: {instruction.line.strip()[:200]}")
            times = int(count[1])
        for called in instruction.called():
            callers.setdefault(called, []).append((instruction.computation, times))

    @functools.cache
    def trips(name):
        return sum(trips(caller) * times for caller, times in callers.get(name, ())) or 1

    return trips


def read_collectives(text):
    """Every collective of the module, in order; combined ones array by array."""
    found = []
    module = hlo_module.Module(text)
    trips = computation_trips(module)
    for instruction in module.instructions:
        kind, line = instruction.opcode.removesuffix("-start"), instruction.line
        if kind not in KINDS:
            continue
        group = 2 if kind == "collective-permute" else group_size(line)
        if group == 1:
            continue
        arrays = hlo_module.arrays(instruction.type)
        if instruction.opcode.endswith("-start") and kind != "all-reduce":
            arrays = arrays[len(arrays) // 2:]  # (operands, results)
        op_name = OP_NAME.search(line)
        call = found[-1].call + 1 if found else 0
        # An all-to-all over a tuple exchanges its parts.
        groups = [arrays] if kind == "all-to-all" else [[array] for array in arrays]
        for number, parts in enumerate(groups):
            slices = 1
            if kind == "all-reduce":
                slices = module.slices(instruction, number if len(groups) > 1 else None)
            size = sum(map(hlo_module.array_bytes, parts))
            shape = parts[0] if len(parts) == 1 else f"{len(parts)} x {parts[0]}"
            found.append(HloCollective(kind, group, size, op_name[1] if op_name else "",
                                       trips(instruction.computation), slices, call, shape))
    return found
