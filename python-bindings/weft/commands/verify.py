# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ranks of a program as threads of this process, and the ops of its graph on one device, on the same
numbers, and compares every value: the op, the ranks and the axis where the first wrong one is, and its error
beside the bound for sums in any order."""

from __future__ import annotations

import argparse
import json
import pathlib

from ..lowered import Source
from ..session import Plan
from ..verify import draw, plans, verify_plans
from .options import add_json

HELP = "run a program and compare every value with one device"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PROGRAM.mlir|PLAN",
                        help="a program as Lowered.as_text() writes it, or a plan that shard-compile --reference wrote")
    parser.add_argument("reference", metavar="REFERENCE", nargs="?",
                        help="what shard-compile --reference wrote with the plan")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the numbers that are drawn; by default 0")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.plan.endswith(".mlir") == bool(args.reference):
        raise ValueError("name a program (.mlir), or a plan and its reference")
    if args.reference:
        plan, reference = Plan.load(args.plan), Plan.load(args.reference)
    else:
        path = pathlib.Path(args.plan)
        plan, reference = plans(Source(path.read_text(encoding="utf-8"), path.name), {})
    found = {entry.name: verify_plans(plan, reference, draw(entry, args.seed), entry=entry.name)
             for entry in plan.entries}
    if args.json:
        print(json.dumps({name: each.as_dict() for name, each in found.items()}, indent=2, ensure_ascii=False))
    else:
        for each in found.values():
            print(each)
    return 0 if all(found.values()) else 1
