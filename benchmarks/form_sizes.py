# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how large each form of a program is, by devices and by micro-batches.

    python3 benchmarks/form_sizes.py [--layers 4] [--bin build/release/bin]

The program is a training step of a GPT with a split sequence: data parallel over the first axis
of the mesh, context parallel (ring attention) over the second, one sequence a replica and
micro-batch. Lines are those of the text of a form, without its constants; the plan has no machine
code. Seconds are those of `shard-compile --target=none` as one process, the median of three.

Needs the package weft on PYTHONPATH.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import weft

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMS = ["graph", "sharded", "spmd", "schedule"]


def program(layers, data, context, microbatches):
    """The text of a step on a mesh of data x context, with 64 positions a device."""
    return weft.models.gpt(
        layers=layers, hidden=512, heads=8, ffn=1024, vocabulary=1024, sequence=64 * context, dtype="float32",
        data=data, context=context, global_batch=data * microbatches,
    ).lower().as_text()


def compiled(binaries, source, *flags):
    target = source.with_suffix(".out")
    command = [binaries / "shard-compile", source, "-o", target, *flags]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start, target


def row(binaries, layers, data, context, microbatches):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "step.mlir")
        source.write_text(program(layers, data, context, microbatches))
        lines = []
        for form in FORMS:
            _, text = compiled(binaries, source, f"--emit={form}")
            lines.append(text.read_bytes().count(b"\n"))
        runs = [compiled(binaries, source, "--target=none") for _ in range(3)]
        return [*lines, runs[0][1].stat().st_size, statistics.median(run[0] for run in runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    args = parser.parse_args()
    print(f"| devices | context | micro-batches | {' | '.join(FORMS)} | plan bytes | seconds |")
    print("|" + " ---: |" * (len(FORMS) + 5))
    cases = [(1, 8, 1), (1, 64, 1), (16, 64, 1), (256, 64, 1)]
    cases += [(2, 4, m) for m in (1, 2, 4, 16, 64, 256)]
    for data, context, microbatches in cases:
        *sizes, seconds = row(args.bin, args.layers, data, context, microbatches)
        print(f"| {data * context} | {context} | {microbatches} | {' | '.join(map(str, sizes))} "
              f"| {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
