# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the mesh and the specs of the arguments of a plan or a program, as rules to be pasted into a program."""

from __future__ import annotations

import argparse
import json

from ..written_rules import arguments_text, mesh_text
from .options import add_json, read_entries

HELP = "print the mesh and the specs of arguments, as rules to be pasted into a program"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN|PROGRAM.mlir",
                        help="a plan, or a program as Lowered.as_text() writes it, which is compiled")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    entries = read_entries(args.plan)
    mesh = entries[0].plan.mesh
    found = {each.entry.name: {info.name: info.sharding.spec for info in each.entry.inputs} for each in entries}
    if args.json:
        print(json.dumps({"mesh": dict(mesh.shape_tuple), "entries": {
            name: {argument: repr(spec) for argument, spec in specs.items()} for name, specs in found.items()}},
            indent=2, ensure_ascii=False))
        return 0
    print(f"mesh = {mesh_text(mesh)}")
    for name, specs in found.items():
        print(f"in_shardings = {arguments_text(specs)}" + (f"  # {name}" if len(found) > 1 else ""))
    return 0
