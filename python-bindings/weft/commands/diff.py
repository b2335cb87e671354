# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows what differs between two plans: collectives that are new (+), gone (-) or of another number or
size (~), with the predicted time that they take; memory; and the time of a call."""

from __future__ import annotations

import argparse
import json

from ..lockfile import Lock
from ..plan_diff import Side, compare, print_diff
from ..session import Plan
from .options import add_cluster, add_json, add_plan

HELP = "show what differs between two plans, and what it costs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan(parser, "before", "A.plan")
    add_plan(parser, "after", "B.plan")
    add_cluster(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    plans = [Plan.load(path) for path in (args.before, args.after)]
    before, after = (Lock.of(plan, args.cluster) for plan in plans)
    found = compare(before, after, (args.before, args.after))
    if args.json:
        print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
    elif not found:
        print("no difference")
    else:
        sides = {entry.name: tuple(Side.of(plan, entry.name, args.cluster) for plan in plans) for entry in found.entries}
        print(print_diff(found, sides), end="")
    return 0
