# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a plan with its lock file; the exit status is 1 if they differ or a budget is exceeded. Times are predicted for the
cluster that the lock file names."""

from __future__ import annotations

import argparse
import json
import shlex

from ..diagnostics import ExecutionError, message_of
from ..lockfile import Lock
from ..plan_diff import Side, compare, print_diff
from ..session import Plan
from .options import add_json, add_plan, read_text

HELP = "fail if a plan differs from its lock file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument("lockfile", metavar="LOCKFILE", help="what weft lock has written")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    locked, plan = _read_both(args.lockfile, args.plan)
    found = compare(locked, Lock.of(plan, locked.cluster), (args.lockfile, args.plan))
    exceeded = locked.exceeded(plan)
    if args.json:
        print(json.dumps(found.as_dict() | {"exceeded": exceeded}, indent=2, ensure_ascii=False))
    elif not found and not exceeded:
        print(f"{args.plan} matches {args.lockfile}")
    elif found:
        sides = {entry.name: (None, Side.of(plan, entry.name, locked.cluster)) for entry in found.entries}
        again = ["weft", "lock", args.plan, "-o", args.lockfile, *([f"--cluster={locked.cluster}"] if locked.cluster else [])]
        print(f"{args.plan} differs from {args.lockfile}\n{print_diff(found, sides)}"
              f"if that is intended: {shlex.join(again)}")
    if exceeded and not args.json:
        print("\n".join([f"{args.plan} exceeds the budget of {args.lockfile}", *(f"  {each}" for each in exceeded)]))
    return 1 if found or exceeded else 0


def _read_both(lockfile: str, plan: str) -> tuple[Lock, Plan]:
    """Raises what is wrong with either, or one error with both."""
    read, problems = [], []
    for load in (lambda: Lock.read(read_text(lockfile), lockfile), lambda: Plan.load(plan)):
        try:
            read.append(load())
        except (ValueError, OSError, ExecutionError) as error:
            problems.append(error)
    if len(problems) > 1:
        raise ValueError("\nerror: ".join(map(message_of, problems)))
    if problems:
        raise problems[0]
    return read[0], read[1]

