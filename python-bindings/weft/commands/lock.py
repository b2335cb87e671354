# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the lock file of a plan: every collective with its axes, bytes, count and cause, memory, and the
predicted time, sorted and without line numbers, to be committed."""

from __future__ import annotations

import argparse
import json
import pathlib

from ..lockfile import Lock
from ..session import Plan
from .options import add_cluster, add_json, add_plan, read_text

HELP = "write what a plan communicates, stores and takes, to be committed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the lock file; without, it is printed")
    add_cluster(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    made = Lock.of(Plan.load(args.plan), args.cluster)
    if args.output and not args.json and pathlib.Path(args.output).exists():
        text = read_text(args.output)
        if ".budget]" in text:  # what is written by hand is not lost for an error in it
            made = made.with_budgets_of(Lock.read(text, args.output))
    text = json.dumps(made.as_dict(), indent=2, ensure_ascii=False) + "\n" if args.json else str(made)
    if args.output:
        pathlib.Path(args.output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0
