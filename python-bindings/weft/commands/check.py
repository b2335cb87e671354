# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a plan with its lock file; the exit status is 1 if they differ. Times are predicted for the
cluster that the lock file names."""

from __future__ import annotations

import argparse
import json
import pathlib
import shlex

from ..diagnostics import ExecutionError
from ..lockfile import Lock
from ..plan_diff import Side, compare, print_diff
from ..session import Plan
from .options import add_json, add_plan

HELP = "fail if a plan differs from its lock file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument("lockfile", metavar="LOCKFILE", help="what weft lock has written")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    locked, plan = _read_both(args.lockfile, args.plan)
    found = compare(locked, Lock.of(plan, locked.cluster), (args.lockfile, args.plan))
    if args.json:
        print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
    elif not found:
        print(f"{args.plan} matches {args.lockfile}")
    else:
        sides = {entry.name: (None, Side.of(plan, entry.name, locked.cluster)) for entry in found.entries}
        again = ["weft", "lock", args.plan, "-o", args.lockfile, *([f"--cluster={locked.cluster}"] if locked.cluster else [])]
        print(f"{args.plan} differs from {args.lockfile}\n{print_diff(found, sides)}"
              f"if that is intended: {shlex.join(again)}")
    return 1 if found else 0


def _read_both(lockfile: str, plan: str) -> tuple[Lock, Plan]:
    """Raises what is wrong with either, or one error with both."""
    read, problems = [], []
    for load in (lambda: Lock.read(_text_of(lockfile), lockfile), lambda: Plan.load(plan)):
        try:
            read.append(load())
        except (ValueError, OSError, ExecutionError) as error:
            problems.append(error)
    if len(problems) > 1:
        raise ValueError("\nerror: ".join(map(str, problems)))
    if problems:
        raise problems[0]
    return read[0], read[1]


def _text_of(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a lock file: it is not UTF-8 text") from None
