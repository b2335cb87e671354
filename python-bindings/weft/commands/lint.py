# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks for what is rarely meant: parameters, states and large arguments that no axis splits, axes that
split nothing, annotations that contradict each other, collectives that a loop repeats, and padding; of programs
constraints without effect and orders of axes that use slow links; each with the edit."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json

from ..errors import count
from ..lint import RULES, Finding, lint, lint_program
from ..session import Plan
from .options import add_json, read_entries

HELP = "look for replicated memory, annotations without effect, contradictions, repeated collectives and padding"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN|PROGRAM.mlir",
                        help="a plan, or a program as Lowered.as_text() writes it, which is compiled: of it more is found")
    parser.add_argument("--werror", action="store_true", help="exit with status 1 if anything is found")
    parser.add_argument("--allow", metavar="RULE[:SUBJECT]=REASON", action="append", default=[],
                        help="leave out what is meant, of all subjects or of one, and say why; the rules are "
                             + ", ".join(RULES))
    parser.add_argument("--least-mib", metavar="MIB", type=float, default=16,
                        help="do not look at arguments that take less on a rank; by default 16")
    parser.add_argument("--most-padding", metavar="PERCENT", type=float, default=5,
                        help="of a dimension, in percent; by default 5")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    allowed = [_allowance(text) for text in args.allow]
    found = _findings(args.plan, least_bytes=int(args.least_mib * 2**20), most_padding=args.most_padding / 100)
    left = [each for each in found if not any(_covers(key, each) for key, _ in allowed)]
    if args.json:
        print(json.dumps({
            "findings": [dataclasses.asdict(each) for each in left],
            "allowed": [{"what": key, "reason": reason, "number": sum(_covers(key, each) for each in found)}
                        for key, reason in allowed]}, indent=2, ensure_ascii=False))
    else:
        for each in left:
            print(each)
        for key, reason in allowed:
            print(f"allowed: {key}, {count(sum(_covers(key, each) for each in found), 'finding')}: {reason}")
        if not left:
            print(f"nothing found in {args.plan}")
    return 1 if left and args.werror else 0


def _findings(path: str, **options) -> list[Finding]:
    """Of a plan, or of a program, of which more is found."""
    if not path.endswith(".mlir"):
        return lint(Plan.load(path), **options)
    return [each for compiled in read_entries(path) for each in lint_program(compiled, **options)]


def _covers(key: str, finding: Finding) -> bool:
    rule, _, subject = key.partition(":")
    return rule == finding.rule and subject in ("", finding.subject)


def _allowance(text: str) -> tuple[str, str]:
    """What is allowed, and why."""
    key, _, reason = text.partition("=")
    rule = key.partition(":")[0]
    if rule not in RULES:
        near = difflib.get_close_matches(rule, RULES, 1)
        raise ValueError(f"--allow: there is no rule {rule!r}" + (f", did you mean {near[0]}?" if near else
                                                                   f"; the rules are {', '.join(RULES)}"))
    if not reason.strip():
        raise ValueError(f"--allow: say why {key} is meant: --allow={key}=REASON")
    return key, reason.strip()
