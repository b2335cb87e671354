# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans a program otherwise, with other meshes, specs, schedules or options, and ranks what a step is predicted to take,
with the one next change that gains most."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..spec_text import parse_spec
from ..what_if import what_if
from .options import add_cluster, add_json, named_values, read_entries

HELP = "predict a program with another mesh, other specs or another schedule"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM", help="a program in text (.mlir), as Lowered.as_text() writes it")
    parser.add_argument("--mesh", metavar="AXIS=SIZE,...", action="append", help="another mesh; several are tried in turn")
    parser.add_argument("--spec", metavar="NAME=SPEC", action="append", default=[], type=_spec,
                        help="the spec of an argument or result, such as \"params['w2']=P('model', None)\"; an index may "
                             "be [*]")
    parser.add_argument("--rule", metavar="PATTERN=SPEC", action="append", default=[], type=_spec,
                        help="the spec of all whose path, or the end of it, matches, such as \"blocks/.*/wq=P(None, 'model')\"")
    parser.add_argument("--pipeline", metavar="OPTIONS", action="append",
                        help="a pipeline, as shard-compile takes it; several are tried in turn")
    parser.add_argument("--option", metavar="NAME=VALUE,...", action="append", default=[], type=named_values,
                        help="options of Lowered.compile, such as memory_limit=20GiB,40GiB")
    parser.add_argument("--entry", metavar="NAME", help="of a program with several functions")
    parser.add_argument("--no-next", action="store_true", help="do not look for the next change")
    add_cluster(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if not args.program.endswith(".mlir"):
        raise ValueError(f"{args.program} is no program in text: write Lowered.as_text() to a file that ends in .mlir")
    found = what_if(_entry(args), mesh=args.mesh, specs=dict(args.spec), rules=args.rule, pipeline=args.pipeline,
                    cluster=args.cluster, next_change=not args.no_next, **dict(args.option))
    print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n" if args.json else str(found), end="")
    return 0


def _entry(args: argparse.Namespace):
    entries = {each.entry.name: each for each in read_entries(args.program, args.cluster)}
    if args.entry is None and len(entries) > 1:
        raise ValueError(f"{args.program} has several functions: name one of {', '.join(entries)} by --entry")
    if args.entry not in (None, *entries):
        raise ValueError(f"{args.program} has no function {args.entry!r}; it has {', '.join(entries)}")
    return entries[args.entry] if args.entry else next(iter(entries.values()))


def _spec(text: str) -> tuple[str, Any]:
    name, equals, spec = text.rpartition("=P")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=P(...), got {text!r}")
    try:
        return name, parse_spec(f"P{spec}")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
