# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how the time to shard a perceptron grows with its number of ops.

    python3 benchmarks/compile_time.py [--ops 1000 3000 ...] [--bin build/release/bin]

For each size the seconds of the passes from the graph to the SPMD program, on a
mesh of 4 x 8, as `shard-opt --mlir-timing` reports them. Needs the package weft on PYTHONPATH.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MESH = 'weft.mesh @mesh = <["data"=4, "model"=8]>'
PASSES = {
    "propagate": ["weft-split-constants", "weft-propagate"],
    "partition": ["weft-insert-reshards", "weft-localize"],
}


def timing(report):
    """Pass name -> wall seconds, from the flat list of --mlir-timing."""
    rows = re.findall(r"^\s*([\d.]+) \(\s*[\d.]+%\)\s+(.+?)\s*$", report, re.M)
    return {name: float(seconds) for seconds, name in rows}


def pass_name(flag):
    """The class behind a flag: weft-insert-reshards -> InsertReshards."""
    return "".join(part.title() for part in flag.split("-")[1:])


def measure(binaries, ops):
    """(ops in the module, seconds by phase)."""
    module = subprocess.run(
        [sys.executable, HERE / "generate_mlp.py", "--ops", str(ops), "--width", "1024"],
        capture_output=True, text=True, check=True).stdout
    module = re.sub(r"weft\.mesh @mesh.*", MESH, module, count=1)
    count = len(re.findall(r"^ +%\S+ = ", module, re.M))
    flags = [f"--{flag}" for flags in PASSES.values() for flag in flags]
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as source:
        source.write(module)
        source.flush()
        run = subprocess.run(
            [binaries / "shard-opt", source.name, *flags, "-o", "/dev/null",
             "--mlir-disable-threading", "--mlir-timing", "--mlir-timing-display=list"],
            capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr[-2000:])
    seconds = timing(run.stderr)
    missing = [f for flags in PASSES.values() for f in flags if pass_name(f) not in seconds]
    if missing:
        sys.exit(f"error: no timing of {', '.join(missing)} in\n{run.stderr[-2000:]}")
    return count, {phase: sum(seconds[pass_name(flag)] for flag in flags)
                   for phase, flags in PASSES.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, nargs="+",
                        default=[1000, 3000, 10000, 30000, 100000])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    args = parser.parse_args()

    print(f"{'ops':>8}" + "".join(f"{phase + ' s':>14}{'us/op':>8}" for phase in PASSES))
    for ops in args.ops:
        count, seconds = measure(args.bin, ops)
        print(f"{count:8}" + "".join(
            f"{s:14.3f}{s / count * 1e6:8.2f}" for s in seconds.values()), flush=True)


if __name__ == "__main__":
    main()
