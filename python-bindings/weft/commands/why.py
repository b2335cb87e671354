# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says why collectives are there: from which annotations the specs at both ends come, over which ops or
by which choice, what else was weighed, with bytes and predicted times, and the edit that would remove or
cheapen them."""

from __future__ import annotations

import argparse
import json

from ..compiled import Compiled
from ..session import Plan
from ..why import matching
from .options import add_cluster, add_json, add_plan

HELP = "say why a plan has a collective, and what would remove it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", default="",
                        help="a text in the call, cause or location of the collectives, such as "
                             "\"all_gather over data\", params['w1'] or mlp.py:9; without, all are explained")
    add_cluster(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    plan = Plan.load(args.plan)
    found = {entry.name: matching(Compiled(plan, entry=entry.name), args.name, args.cluster) for entry in plan.entries}
    if not any(found.values()):
        raise ValueError(f"{args.plan} has no collective with {args.name!r} in its call, cause or location"
                         if args.name else f"{args.plan} has no collectives")
    if args.json:
        print(json.dumps({entry: [each.as_dict() for each in of_entry] for entry, of_entry in found.items()},
                         indent=2, ensure_ascii=False))
        return 0
    for entry, of_entry in found.items():
        if of_entry:
            print("\n\n".join([f"entry {entry}", *map(str, of_entry)]))
    return 0
