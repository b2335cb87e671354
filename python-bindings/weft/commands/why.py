# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says why collectives are there: from which annotations the specs at both ends come, over which ops or
by which choice, what else was weighed, with bytes and predicted times, and the edit that would remove or
cheapen them."""

from __future__ import annotations

import argparse
import json

from ..why import matching
from .options import add_cluster, add_json, read_entries

HELP = "say why a plan has a collective, and what would remove it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN|PROGRAM.mlir",
                        help="a plan, or a program as Lowered.as_text() writes it, which is compiled")
    parser.add_argument("name", metavar="NAME", nargs="?", default="",
                        help="a text in the call, cause or location of the collectives, such as "
                             "\"all_gather over data\", params['w1'] or mlp.py:9; without, all are explained")
    about = parser.add_mutually_exclusive_group()
    about.add_argument("--value", metavar="VALUE",
                       help="say instead why values of a program have their shardings: the name of an argument, or a "
                            "text in ops and locations, such as tanh or mlp.py:9")
    about.add_argument("--memory", action="store_true",
                       help="say instead what is alive when the most memory is in use, and what freeing each would save")
    add_cluster(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.name and (args.value or args.memory):
        raise ValueError(f"NAME is for collectives: leave out {args.name!r}, or --value and --memory")
    entries = read_entries(args.plan)
    if args.value:
        return _print({each.entry.name: each.why_value(args.value) for each in entries}, args.json)
    if args.memory:
        return _print({each.entry.name: [each.why_memory()] for each in entries}, args.json)
    found = {each.entry.name: matching(each, args.name, args.cluster) for each in entries}
    if not any(found.values()):
        raise ValueError(f"{args.plan} has no collective with {args.name!r} in its call, cause or location"
                         if args.name else f"{args.plan} has no collectives")
    return _print(found, args.json)


def _print(found: dict[str, list], as_json: bool) -> int:
    """What is said of each entry."""
    if as_json:
        print(json.dumps({entry: [each.as_dict() for each in of_entry] for entry, of_entry in found.items()},
                         indent=2, ensure_ascii=False))
        return 0
    for entry, of_entry in found.items():
        if of_entry:
            print("\n\n".join([f"entry {entry}", *map(str, of_entry)]))
    return 0
