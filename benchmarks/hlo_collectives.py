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

DTYPE_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2,
               "f32": 4, "s32": 4, "u32": 4, "f64": 8, "s64": 8, "u64": 8}
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%(?P<name>\S+) = (?P<type>\(.*?\)|\S+) "
    rf"(?P<kind>{'|'.join(KINDS)})(?:-start)?\(", re.M)
OP_NAME = re.compile(r'op_name="([^"]*)"')


@dataclasses.dataclass(frozen=True)
class HloCollective:
    kind: str
    group: int
    wire_bytes: float
    op_name: str
    """How often one run of the module executes it."""
    trips: int = 1
    """The value is only sliced afterwards: a reduce-scatter, where the backend has none."""
    only_sliced: bool = False


def array_bytes(type_text):
    """Bytes of every array in a shape or tuple of shapes."""
    return [DTYPE_BYTES[dtype] * math.prod(int(d) for d in dims.split(",") if d)
            for dtype, dims in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", type_text)]


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
    if kind == "collective-permute":
        return result_bytes
    share = (group - 1) / group
    if kind == "all-reduce":
        return 2 * share * result_bytes
    if kind == "reduce-scatter":
        return share * result_bytes * group
    return share * result_bytes


def is_only_sliced(text, name):
    """Whether every use of %name is a dynamic-slice or a fusion that slices it."""
    uses = [line for line in text.splitlines()
            if re.search(rf"[(, ]%{re.escape(name)}[,)]", line)]
    if not uses:
        return False
    for use in uses:
        called = re.search(r"calls=%(\S+?)[,\s]", use + " ")
        if " dynamic-slice(" in use:
            continue
        if not called:
            return False
        operands = re.search(r"fusion\((.*?)\)", use)
        if not operands:
            return False
        position = [o.strip().lstrip("%") for o in operands[1].split(",")].index(name)
        body = re.search(rf"^%{re.escape(called[1])} .*?^}}", text, re.M | re.S)
        parameter = body and re.search(rf"%(\S+) = \S+ parameter\({position}\)", body[0])
        if not parameter:
            return False
        inner = [line for line in body[0].splitlines()
                 if re.search(rf"[(, ]%{re.escape(parameter[1])}[,)]", line)]
        if not inner or any(" dynamic-slice(" not in line for line in inner):
            return False
    return True


def computation_trips(text):
    """[(start, end, trips)] of the computations: how often a run of the module executes each."""
    spans = {match[1]: match.span()
             for match in re.finditer(r"^(?:ENTRY )?%(\S+) \(.*?^}", text, re.M | re.S)}
    callers = {}
    for name, span in spans.items():
        for line in text[slice(*span)].splitlines():
            times = 1
            if " while(" in line:
                count = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', line)
                if not count:
                    raise ValueError(f"a loop of unknown length: {line.strip()[:200]}")
                times = int(count[1])
            for called in re.findall(r"\b(?:body|condition|calls|to_apply)=%([^\s,]+)", line):
                callers.setdefault(called, []).append((name, times))

    @functools.cache
    def trips(name):
        return sum(trips(caller) * times for caller, times in callers.get(name, ())) or 1

    return [(*span, trips(name)) for name, span in spans.items()]


def read_collectives(text):
    """Every collective of the module, in order; combined ones array by array."""
    found = []
    computations = computation_trips(text)
    for match in INSTRUCTION.finditer(text):
        trips = next((n for start, end, n in computations if start <= match.start() < end), 1)
        line = text[match.start():text.find("\n", match.start())]
        kind = match["kind"]
        group = 2 if kind == "collective-permute" else group_size(line)
        if group == 1:
            continue
        sizes = array_bytes(match["type"])
        if f"{kind}-start(" in line and kind != "all-reduce":
            sizes = sizes[len(sizes) // 2:]  # (operands, results)
        op_name = OP_NAME.search(line)
        sliced = kind == "all-reduce" and is_only_sliced(text, match["name"])
        # An all-to-all over a tuple exchanges its parts.
        parts = [sum(sizes)] if kind == "all-to-all" else sizes
        found += [HloCollective(kind, group, wire_bytes(kind, size, group),
                                op_name[1] if op_name else "", trips, sliced)
                  for size in parts]
    return found
