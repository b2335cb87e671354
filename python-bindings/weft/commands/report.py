# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the report of a plan: one HTML file with its predicted step, memory, communication and shardings."""

from __future__ import annotations

import argparse
import json

from ..compiled import load
from .options import add_cluster, add_json, add_plan

HELP = "write a page with the predicted step, memory, communication and shardings of a plan"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the page; needed without --json")
    add_cluster(parser)
    parser.add_argument("--entry", metavar="NAME", help="of a plan with several entries")
    parser.add_argument("--samples", type=float, default=0, help="of a step, to show how many there are a second")
    parser.add_argument("--tokens", type=float, default=0, help="of a step, to show how many there are a second")
    parser.add_argument("--scale", type=_scale, action="append", metavar="AXIS:SIZE,SIZE,...",
                        help="sizes of a mesh axis to predict the step with; may be given for several axes")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ..report import report

    if not args.output and not args.json:
        raise ValueError("name the page: -o FILE, or use --json")
    made = report(load(args.plan, entry=args.entry), args.cluster or None, samples=args.samples, tokens=args.tokens,
                  scale=dict(args.scale) if args.scale else None)
    if args.output:
        made.save(args.output)
    if args.json:
        print(json.dumps(made.step, indent=2, ensure_ascii=False))
    return 0


def _scale(text: str) -> tuple[str, list[int]]:
    axis, _, sizes = text.rpartition(":")
    numbers = sizes.split(",")
    if not axis or not all(number.isdecimal() and int(number) for number in numbers):
        raise argparse.ArgumentTypeError(f"must be AXIS:SIZE,SIZE,... with sizes of at least 1, got {text!r}")
    return axis, [int(number) for number in numbers]
