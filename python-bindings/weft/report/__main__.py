# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the report of a plan file.

    python -m weft.report step.plan -o report.html --cluster=dgx-h100 --scale=data:16,64,256
"""

import argparse
import sys

from weft import ExecutionError, load, report
from weft.diagnostics import message_of


def _scale(text: str) -> tuple[str, list[int]]:
    axis, _, sizes = text.rpartition(":")
    numbers = sizes.split(",")
    if not axis or not all(number.isdecimal() and int(number) for number in numbers):
        raise argparse.ArgumentTypeError(f"must be AXIS:SIZE,SIZE,... with sizes of at least 1, got {text!r}")
    return axis, [int(number) for number in numbers]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m weft.report", description="Writes the report of a plan: one "
                                     "HTML file with its predicted step, memory, communication and shardings.")
    parser.add_argument("plan", metavar="PLAN", help="a plan, as shard-compile and Compiled.save write it")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page")
    parser.add_argument("--cluster", metavar="NAME|FILE",
                        help="the machines; by default dgx-h100, for plans for CPUs cpu-2core")
    parser.add_argument("--entry", metavar="NAME", help="of a plan with several entries")
    parser.add_argument("--samples", type=float, default=0, help="of a step, to show how many there are a second")
    parser.add_argument("--tokens", type=float, default=0, help="of a step, to show how many there are a second")
    parser.add_argument("--scale", type=_scale, action="append", metavar="AXIS:SIZE,SIZE,...",
                        help="sizes of a mesh axis to predict the step with; may be given for several axes")
    args = parser.parse_args(arguments)
    try:
        made = report(load(args.plan, entry=args.entry), args.cluster, samples=args.samples, tokens=args.tokens,
                      scale=dict(args.scale) if args.scale else None)
        made.save(args.output)
    except (ValueError, OSError, ImportError, ExecutionError) as error:
        print(f"error: {message_of(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
