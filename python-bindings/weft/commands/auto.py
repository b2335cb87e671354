# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks for the mesh, the specs, the micro-batches, the recomputation and the pipeline with which a step of a program
without annotations is predicted to take the least time, and prints the best with what is to be written."""

from __future__ import annotations

import argparse
import json
import pathlib

from .. import models
from ..auto import Auto, auto, auto_text
from ..lowered import Source
from .options import add_json

HELP = "find how many devices should share a program without annotations"
FAMILIES = {"gpt": models.gpt, "llama": models.llama}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM",
                        help="gpt or llama of weft.models, or a graph in text (.mlir) without a mesh, as Lowered.as_text() "
                             "writes it")
    parser.add_argument("settings", metavar="NAME=VALUE", nargs="*",
                        help="of a model: layers, hidden, heads, vocabulary, sequence, global_batch and others of "
                             "weft.models.Sizes")
    parser.add_argument("--devices", type=int, required=True, metavar="N", help="of the mesh")
    parser.add_argument("--cluster", metavar="NAME|FILE", default="dgx-h100", help="the machines; by default dgx-h100")
    parser.add_argument("--memory-limit", metavar="BYTES", help="what a rank may take; by default what its device has")
    parser.add_argument("--confirm", type=int, metavar="N",
                        help="plans of a model that are compiled whole; by default 3, and 1 of more than 64 layers")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the annotated program (.mlir) or the plan of the best")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    found = _of_model(args) if args.program in FAMILIES else _of_text(args)
    if args.output:
        if args.output.endswith(".mlir"):
            pathlib.Path(args.output).write_text(found.best.as_text(), encoding="utf-8")
        else:
            found.best.compile().save(args.output)
    print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n" if args.json else str(found), end="")
    return 0


def _of_model(args: argparse.Namespace) -> Auto:
    settings = {}
    for text in args.settings:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            raise ValueError(f"a setting is NAME=VALUE, got {text!r}")
        settings[name] = int(value) if value.isdecimal() else value
    settings.setdefault("micro_batch", settings.get("global_batch", 1))
    function, arguments = FAMILIES[args.program](**settings).unannotated()
    return auto(function, *arguments, devices=args.devices, cluster=args.cluster, memory_limit=args.memory_limit,
                donate_argnums=0, confirm=args.confirm)


def _of_text(args: argparse.Namespace) -> Auto:
    path = pathlib.Path(args.program)
    if path.suffix != ".mlir":
        raise ValueError(f"PROGRAM is one of {', '.join(FAMILIES)} or a file that ends in .mlir, got {args.program!r}")
    if args.settings:
        raise ValueError(f"a program in text has no settings: {', '.join(args.settings)}")
    source = Source(path.read_text(encoding="utf-8"), path.name)
    return auto_text(source, devices=args.devices, cluster=args.cluster, memory_limit=args.memory_limit)
