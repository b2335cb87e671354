# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that several commands have."""

import argparse


def add_plan(parser: argparse.ArgumentParser, name: str = "plan", metavar: str = "PLAN") -> None:
    parser.add_argument(name, metavar=metavar, help="a plan, as shard-compile and Compiled.save write it")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="NAME|FILE", default="",
                        help="the machines that times are predicted for; by default dgx-h100, for plans for CPUs cpu-2core")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
