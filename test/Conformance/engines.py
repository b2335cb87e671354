# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the two compilers make of programs: the axes of every value.

An outcome is a list of tuples, one of axes for each dimension of a value: arguments, then
op results, then function results.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

from printing import stablehlo_text, weft_text
from shardings import SHARDING, split_of

ROOT = pathlib.Path(__file__).resolve().parents[2]

SHARDY = "sdy-user-priority-propagate"

# Shardy lets axes spread to dimensions that they do not divide.
WEFT = "allow-uneven"
SPLIT = "\n// -----\n"

# Programs a process: more of them in one file take shard-opt quadratic time to split.
BATCH = 500


def shard_opt():
    folder = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin"))
    return folder / "shard-opt"


def weft_outcomes(programs, options=""):
    """The outcome of each program, many in one process. `options` are of --weft-propagate."""
    outcomes = []
    for at in range(0, len(programs), BATCH):
        batch = programs[at : at + BATCH]
        done = subprocess.run(
            [shard_opt(), "-", f"--weft-propagate={WEFT} {options}", "--split-input-file"],
            input=SPLIT.join(map(weft_text, batch)),
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode != 0:
            raise RuntimeError(f"shard-opt failed:\n{done.stderr[-4000:]}")
        modules = done.stdout.split(SPLIT)
        outcomes += [read_weft(text, p) for text, p in zip(modules, batch, strict=True)]
    return outcomes


def read_weft(module, program):
    lines = module.splitlines()
    signature = next(line for line in lines if "func.func" in line)
    found = re.findall(r"#weft\.sharding<[^>]*>", signature)
    arguments, results = found[: len(program.arguments)], found[len(program.arguments) :]
    ops = re.findall(r"weft\.shardings = \[#weft\.sharding(<[^>]*>)\]", module)
    assert len(results) == len(program.results) and len(ops) == len(program.ops), module
    return [split_of(text, program.mesh) for text in (*arguments, *ops, *results)]


class Shardy:
    """Shardy's pass as jaxlib has it, with some options. Needs JAX."""

    def __init__(self, options=""):
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir, passmanager

        self.ir = ir
        self.context = mlir.make_ir_context()
        with self.context:
            self.passes = passmanager.PassManager.parse(f"builtin.module({SHARDY}{{{options}}})")

    def outcome(self, program, weft_rules=()):
        with self.context, self.ir.Location.unknown():
            module = self.ir.Module.parse(stablehlo_text(program, weft_rules))
            self.passes.run(module.operation)
            main = next(op for op in module.body if op.operation.name == "func.func")
            return self._read(main, program)

    def _read(self, main, program):
        def of(attributes, key, rank):
            text = str(attributes[key]) if key in attributes else ""
            return split_of(text, program.mesh) if SHARDING.search(text) else ((),) * rank

        def of_list(name, types):
            every = main.attributes[name] if name in main.attributes else [{}] * len(types)
            return [
                of(each, "sdy.sharding", len(type_.shape))
                for each, type_ in zip(every, types, strict=True)
            ]

        arguments = of_list("arg_attrs", program.arguments)
        results = of_list("res_attrs", [program.type_of(value) for value in program.results])
        ops = [
            op
            for op in main.regions[0].blocks[0].operations
            if op.operation.name not in ("stablehlo.constant", "func.return")
        ]
        found = []
        for op, ours in zip(ops, program.ops, strict=True):
            key = "sharding" if ours.weft == "constraint" else "sdy.sharding"
            found.append(of(op.operation.attributes, key, len(ours.type.shape)))
        return [*arguments, *found, *results]
