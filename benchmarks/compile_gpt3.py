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
import functools
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python-bindings/test"))

import numpy as np  # noqa: E402
import weft  # noqa: E402
import weft.numpy as wnp  # noqa: E402
import weft_models as models  # noqa: E402
from weft import P  # noqa: E402

WIDTH, HEADS, CONTEXT, VOCABULARY = 12288, 96, 2048, 50304

SPECS = weft.rules([
    (".*/attn/w[qkv]", P(None, "tensor")),
    (".*/attn/b[qkv]", P("tensor")),
    (".*/attn/wo", P("tensor", None)),
    (".*/mlp/w1", P(None, "tensor")),
    (".*/mlp/b1", P("tensor")),
    (".*/mlp/w2", P("tensor", None)),
    ("wte", P("tensor", None)),
    (".*", P()),
])


class Config:
    heads = HEADS
    dtype = wnp.bfloat16


def array(*shape, dtype=np.float32):
    return weft.ShapeDtypeStruct(shape, dtype)


def parameters(layers):
    def norm():
        return {"scale": array(WIDTH), "bias": array(WIDTH)}

    def block():
        attn = {f"w{name}": array(WIDTH, WIDTH) for name in "qkvo"}
        attn |= {f"b{name}": array(WIDTH) for name in "qkvo"}
        mlp = {"w1": array(WIDTH, 4 * WIDTH), "b1": array(4 * WIDTH),
               "w2": array(4 * WIDTH, WIDTH), "b2": array(WIDTH)}
        return {"ln1": norm(), "attn": attn, "ln2": norm(), "mlp": mlp}

    return {"wte": array(VOCABULARY, WIDTH), "wpe": array(CONTEXT, WIDTH),
            "blocks": [block() for _ in range(layers)], "ln_f": norm()}


def cut(layers, stages):
    """For `wrap` of the model: boundaries between as many stages of equally many blocks."""
    number = itertools.count(1)

    def wrap(block):
        done = next(number)
        is_last = done * stages % layers == 0 and done < layers
        return lambda *args: weft.stage_boundary(block(*args)) if is_last else block(*args)

    return wrap


def program(layers, data, tensor, microbatches=1, stages=1, ranks=1):
    """The text of the step on a mesh of data x tensor, with one sequence a replica and
    micro-batch; of pipe x data x tensor, if it is a pipeline of `ranks`."""
    shape, names = (data, tensor), ("data", "tensor")
    if stages > 1:
        shape, names = (ranks, *shape), ("pipe", *names)
    mesh = weft.make_mesh(shape, names)
    layout = weft.Layout(mesh, rest=SPECS, activations={
        "residual": P("data", "tensor", None),
        "heads": P("data", None, "tensor", None),
        "attended": P("data", None, "tensor", None),
        "hidden": P("data", None, "tensor"),
    })
    loss = functools.partial(models.gpt2_loss, config=Config, wrap=cut(layers, stages))
    params = parameters(layers)
    specs = SPECS(params)
    state = {"params": params,
             "optimizer": {"mu": params, "nu": params, "step": array(dtype=np.int32)}}
    state_specs = {"params": specs, "optimizer": {"mu": specs, "nu": specs, "step": P()}}
    tokens = array(data * microbatches, CONTEXT, dtype=np.int32)
    step = weft.jit(models.train_step(loss, models.adamw(), microbatches), layout=layout, donate_argnums=0,
                    in_shardings=(state_specs, P("data")), out_shardings=(state_specs, P()))
    return step.lower(state, {"tokens": tokens, "targets": tokens}).as_text()


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
        flags.append(f"--pipeline=axis=pipe schedule={args.schedule} chunks={args.chunks}")

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
