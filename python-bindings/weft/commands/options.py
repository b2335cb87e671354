# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that several commands have."""

import argparse
import pathlib
from typing import Any

from ..compiled import Compiled
from ..lowered import Source
from ..session import Plan


def add_plan(parser: argparse.ArgumentParser, name: str = "plan", metavar: str = "PLAN") -> None:
    parser.add_argument(name, metavar=metavar, help="a plan, as shard-compile and Compiled.save write it")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="NAME|FILE", default="",
                        help="the machines that times are predicted for; by default dgx-h100, for plans for CPUs cpu-2core")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def named_values(text: str) -> tuple[str, list[Any]]:
    """``NAME=VALUE,VALUE,...``: the name and its values, each a bool, a whole number or a text."""
    name, equals, values = text.partition("=")
    if not name or not equals or not all(values.split(",")):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE or NAME=VALUE,VALUE,..., got {text!r}")
    return name, [_value(value) for value in values.split(",")]


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdecimal() else text


def read_entries(path: str, cluster: str = "") -> list[Compiled]:
    """The entries of a plan, or of a program in text (``.mlir``), which is compiled for a cluster."""
    options = {"cluster": cluster} if cluster else {}
    if not path.endswith(".mlir"):
        plan, source = Plan.load(path), None
    else:
        source = Source(pathlib.Path(path).read_text(encoding="utf-8"), pathlib.Path(path).name)
        plan = Plan(source.compile("none", **options))
    return [Compiled(plan, entry=entry.name, source=source, options=options) for entry in plan.entries]


def read_text(path: str) -> str:
    """Of a lock file. Raises `ValueError` if it is no text."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a lock file: it is not UTF-8 text") from None
