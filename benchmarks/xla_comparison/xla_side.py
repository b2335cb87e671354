# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA's side: collectives and memory of the optimised HLO of its CPU backend.

That backend has no reduce-scatter: an all-reduce whose result is only sliced counts
as the reduce-scatter that other backends make of it. All-reduces that XLA combines
count as one call.
"""

import hashlib
import json
import os
import pathlib
import time

import hlo_collectives
import jax

from .side import Side, Traffic

# Increased when the same program would be counted in another way.
ACCOUNTING = 1


def compile_side(lowered):
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    traffic = {}
    for c in hlo_collectives.read_collectives(compiled.as_text()):
        kind = c.kind
        if c.credited_bytes != c.wire_bytes:
            kind = "reduce-scatter"
        total, calls = traffic.get((kind, c.op_name), (0, 0))
        traffic[kind, c.op_name] = (total + c.credited_bytes * c.trips,
                                    calls + (c.trips if c.part == 0 else 0))
    memory = compiled.memory_analysis()
    own = (memory.argument_size_in_bytes + memory.output_size_in_bytes
           - 2 * memory.alias_size_in_bytes)
    records = [Traffic(kind, size, calls, name) for (kind, name), (size, calls) in traffic.items()]
    return Side(records, own + memory.temp_size_in_bytes, seconds)


def key_of(lowered):
    """What a result is stored under: the program, and whatever else decides it."""
    text = f"{ACCOUNTING} {jax.__version__} {lowered.as_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """Results of XLA by program, in a JSON file if there is a path."""

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
