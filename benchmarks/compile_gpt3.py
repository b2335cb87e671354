# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how long the training step of GPT-3 takes to compile, and with how much memory.

    python3 benchmarks/compile_gpt3.py [--layers 96] [--meshes 1x8 16x8 ...] [--microbatches 1 64]
        [--stages 32 --chunks 2 --schedule interleaved-1f1b] [--propagation-only] [--bin build/release/bin]

The step is that of a GPT-3 (12288 wide, 96 heads, 2048 positions, bfloat16 with AdamW in
float32), every layer written out, one sequence a replica: tensor parallel over the second axis
of the mesh, with sequence parallel norms, and data parallel over the first. With stages, each
replica has them along an axis of its own. Counted is
`shard-compile --emit=schedule` as one process on one core: from text to kernels, collectives
and memory, without machine code. The size of the plan is that of `--target=none`.

Needs the package weft on PYTHONPATH.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import weft

ROOT = pathlib.Path(__file__).resolve().parent.parent


def program(layers, data, tensor, microbatches=1, stages=1, ranks=1):
    """The text of the step on a mesh of data x tensor, with one sequence a replica and
    micro-batch; of pipeline x data x tensor, if it is a pipeline of `ranks`."""
    return weft.models.gpt(
        layers=layers, hidden=12288, heads=96, vocabulary=50304, sequence=2048, data=data, tensor=tensor,
        sequence_parallel=True, pipeline=ranks, chunks=stages // ranks, global_batch=data * microbatches,
    ).lower().as_text()


def compile_once(binaries, source, *flags):
    """(seconds, seconds of CPU, peak MiB) of one process on one core."""
    command = [binaries / "shard-compile", source, "-o", f"{source}.out", *flags]
    core = min(os.sched_getaffinity(0))
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def mesh_sizes(text):
    data, tensor = text.split("x")
    return int(data), int(tensor)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=96)
    parser.add_argument("--meshes", type=mesh_sizes, nargs="+", metavar="DATAxTENSOR",
                        default=[(1, 8), (16, 8), (128, 8), (2048, 8)])
    parser.add_argument("--microbatches", type=int, nargs="+", default=[1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stages", type=int, default=1)
    parser.add_argument("--chunks", type=int, default=1, help="stages of each rank")
    parser.add_argument("--schedule", default="1f1b", help="of the stages, if there are several")
    parser.add_argument("--propagation-only", action="store_true",
                        help="keep the shardings that propagation finds")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    args = parser.parse_args()
    flags = ["--emit=schedule"]
    if args.propagation_only:
        flags.append("--optimize-shardings=false")
    if args.stages % args.chunks or args.layers % args.stages:
        parser.error("stages must be a multiple of chunks and divide the layers")
    ranks = args.stages // args.chunks
    if args.stages > 1:
        flags.append(f"--pipeline=axis=pipeline schedule={args.schedule} chunks={args.chunks}")

    print(f"{'devices':>8} {'micro-batches':>14} {'text MiB':>9} {'seconds':>8} {'CPU s':>7} {'MiB':>6} {'plan bytes':>11}")
    for (data, tensor), microbatches in itertools.product(args.meshes, args.microbatches):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "gpt3.mlir")
            source.write_text(program(args.layers, data, tensor, microbatches, args.stages, ranks))
            size = source.stat().st_size / 2**20
            runs = [compile_once(args.bin, source, *flags) for _ in range(args.repeats)]
            compile_once(args.bin, source, "--target=none", *flags[1:])
            plan = os.path.getsize(f"{source}.out")
        wall, cpu, memory = (statistics.median(column) for column in zip(*runs))
        print(f"{ranks * data * tensor:8} {microbatches:14} {size:9.1f} {wall:8.2f} {cpu:7.2f} {memory:6.0f} {plan:11}", flush=True)


if __name__ == "__main__":
    main()
