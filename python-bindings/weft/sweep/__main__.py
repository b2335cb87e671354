# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts a model for combinations of mesh shapes and options.

    python -m weft.sweep gpt layers=24 hidden=2048 heads=16 vocabulary=51200 sequence=2048 global_batch=256 \\
        tensor=1,2,4,8 pipeline=1,2,4 sharded=none,zero1 --devices=64 --cluster=dgx-h100
    python -m weft.sweep model.mlir model=1,2,4,8 overlap_collectives=true,false --devices=64 --cluster=dgx-h100
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import pathlib
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from weft import Compiled, Lowered, Plan, models, sweep
from weft.commands.options import named_values
from weft.diagnostics import message_of
from weft.lowered import Source
from weft.version import ShowVersion

# What Lowered.compile takes beside what the command line says of its own.
OPTIONS = set(inspect.signature(Lowered.compile).parameters) - {"self", "target", "cluster", "entry"}
FAMILIES = {"gpt": models.gpt, "llama": models.llama}


def _with_rest(settings: dict[str, Any], sizes: dict[str, int], rest: str, devices: int | None) -> dict[str, Any]:
    """The settings with as many in `rest` as the other axes leave of the devices, unless it is set."""
    if devices is None or rest in settings:
        if devices is not None and (product := math.prod(sizes.values())) != devices:
            raise ValueError(f"{' x '.join(sizes)} is {product}, not {devices} devices")
        return settings
    others = {axis: size for axis, size in sizes.items() if axis != rest}
    product = math.prod(others.values())
    if devices % product:
        raise ValueError(f"{' x '.join(others)} is {product}, which does not divide {devices} devices")
    return settings | {rest: devices // product}


def _make_model(family: Callable, rest: str, cluster: str, *, devices: int | None = None, **settings: Any) -> Any:
    sizes = {axis: settings.get(axis, 1) for axis in ("pipeline", "data", "context", "tensor")}
    wrong = [f"{axis} must be a whole number, got {size!r}" for axis, size in sizes.items() if not isinstance(size, int)]
    if wrong:
        raise ValueError("; ".join(wrong))
    settings = _with_rest(settings, sizes, rest, devices)
    options = {name: settings.pop(name) for name in OPTIONS & settings.keys()}
    step = family(**settings)
    return step.lower().compile(None, cluster=cluster, **options) if options else step


def _make_file(source: Source, mesh: dict[str, int], entry: str | None, rest: str, cluster: str, *,
               devices: int | None = None, **settings: Any) -> Compiled:
    options = {name: settings.pop(name) for name in OPTIONS & settings.keys()}
    unknown = [name for name in settings if name not in mesh]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: neither an axis of the mesh ({', '.join(mesh)}) nor an option "
                         f"({', '.join(sorted(OPTIONS))})")
    settings = _with_rest(settings, mesh | settings, rest, devices)
    sizes = ",".join(f"{axis}={size}" for axis, size in settings.items())
    if "memory_limit" in options:
        options["memory_limit"] = str(options["memory_limit"])
    return Compiled(Plan(source.compile("none", mesh=sizes, cluster=cluster, **options)), entry=entry)


def _mesh_of(source: Source) -> dict[str, int]:
    """The axes of a program."""
    found = re.search(r"weft\.mesh @\S+ = <\[(.*?)\]", source.lower("graph"))
    return {axis: int(size) for axis, size in re.findall(r'"([^"]+)"=(\d+)', found[1])} if found else {}


def _maker(args: argparse.Namespace) -> Callable[..., Any]:
    family = FAMILIES.get(args.model)
    if family:
        return partial(_make_model, family, args.rest, args.cluster)
    path = pathlib.Path(args.model)
    if path.suffix != ".mlir":
        raise ValueError(f"MODEL must be one of {', '.join(FAMILIES)} or a file that ends in .mlir, got {args.model!r}")
    source = Source(path.read_text(), args.model)
    mesh = _mesh_of(source)
    if args.devices and args.rest not in mesh:
        raise ValueError(f"the mesh has no axis {args.rest!r} that takes the rest of the devices; --rest names one of "
                         f"{', '.join(mesh) or 'none'}")
    return partial(_make_file, source, mesh, args.entry, args.rest, args.cluster)


def _numbers_of_devices(text: str) -> list[int]:
    """Of "64,128"."""
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"numbers of devices of at least 1, separated by commas, are wanted, got {text!r}")
    return [int(number) for number in text.split(",")]


def _show_progress(done: int, all_: int) -> None:
    print(f"\r{done} of {all_}", end="" if done < all_ else "\r" + " " * 20 + "\r", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m weft.sweep", description="Compiles a model for all combinations of "
                                     "settings and predicts its step, the best first.")
    parser.add_argument("--version", action=ShowVersion)
    parser.add_argument("model", metavar="MODEL", help="gpt or llama of weft.models, or an MLIR file")
    parser.add_argument("settings", metavar="NAME=VALUE,...", type=named_values, nargs="*",
                        help="settings of weft.models, or mesh axes of the file, with one or several values; and options of "
                        f"the compiler: {', '.join(sorted(OPTIONS))}")
    parser.add_argument("--cluster", required=True, metavar="NAME|FILE", help="the machines")
    parser.add_argument("--devices", type=_numbers_of_devices, metavar="N,...",
                        help="of every mesh; of several numbers each is combined with all settings, which shows how the "
                        "program scales (strong scaling)")
    parser.add_argument("--rest", default="data", metavar="AXIS",
                        help="the axis that has as many as the others leave of the devices, unless it is set; "
                        "by default data")
    parser.add_argument("--entry", metavar="NAME", help="of a file with several functions")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many are compiled at a time")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_intermixed_args(arguments)
    try:
        settings = dict(args.settings) | ({"devices": args.devices} if args.devices else {})
        found = sweep(_maker(args), settings, cluster=args.cluster, jobs=args.jobs,
                      progress=_show_progress if sys.stderr.isatty() else None)
    except (ValueError, OSError) as error:
        print(f"error: {message_of(error)}", file=sys.stderr)
        return 2
    print(json.dumps(found.as_dict(), indent=2) if args.json else str(found), end="\n" if args.json else "")
    return 0 if found.rows else 1


if __name__ == "__main__":
    sys.exit(main())
