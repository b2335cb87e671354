# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA's side: collectives and memory of the optimised HLO of its CPU backend.

That backend has no reduce-scatter: an all-reduce whose result is only sliced counts
as the reduce-scatter that other backends make of it. Those that XLA combines count as
one call of each kind.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import time

import hlo_collectives
import jax

from .side import Side, Traffic

# Increased when the same program would be read in another way.
READING = 3


def compile_record(lowered):
    """What XLA makes of a program, as JSON holds it."""
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    own = (memory.argument_size_in_bytes + memory.output_size_in_bytes
           - 2 * memory.alias_size_in_bytes)
    # Those that a call combines have one name, of all of their ops.
    collectives = [dataclasses.replace(c, op_name=c.op_name[:120])
                   for c in hlo_collectives.read_collectives(compiled.as_text())]
    return {"collectives": [dataclasses.asdict(c) for c in collectives],
            "memory": own + memory.temp_size_in_bytes, "seconds": seconds}


def side_of(record):
    traffic, calls = {}, set()
    for fields in record["collectives"]:
        c = hlo_collectives.HloCollective(**fields)
        kind = "reduce-scatter" if c.credited_bytes != c.wire_bytes else c.kind
        cause = f"{c.shape} {c.op_name}"
        size, count = traffic.get((kind, cause), (0, 0))
        counted = (c.call, kind) in calls
        calls.add((c.call, kind))
        traffic[kind, cause] = (size + c.credited_bytes * c.trips,
                                count + (0 if counted else c.trips))
    records = [Traffic(kind, size, count, cause)
               for (kind, cause), (size, count) in traffic.items()]
    return Side(records, record["memory"], record["seconds"])


def key_of(lowered):
    """What a result is stored under: the program, and whatever else decides it."""
    text = f"{READING} {jax.__version__} {lowered.as_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """Records of XLA by program, in a JSON file if there is a path."""

    def __init__(self, path=None):
        self.path = path and pathlib.Path(path)
        self.records = {}
        if self.path and self.path.exists():
            self.records = json.loads(self.path.read_text())

    def add(self, key, record):
        if key in self.records:
            return
        self.records[key] = record
        if self.path:
            part = self.path.with_name(self.path.name + ".part")
            part.write_text(json.dumps(self.records))
            os.replace(part, self.path)
