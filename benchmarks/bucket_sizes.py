# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what combining the collectives of data-parallel steps saves, in simulation, and whether the plan made for a
number of devices is the best one there.

    python3 benchmarks/bucket_sizes.py [--cluster=dgx-h100] [--models gpt-1024 gpt2-small ...]

Each model is compiled for each number of replicas, with `combine_collectives=False` and with it, and simulated at all of
them. The last column is the shortest step at this number by the plan made for another one, relative to the plan's own.

Needs the package weft on PYTHONPATH, and shard-sim of the same build.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import weft
import weft.numpy as jnp
from weft import P


def gpt(**sizes):
    return lambda replicas: weft.models.gpt(heads=16, sequence=1024, data=replicas, **sizes).lower()


def sgd(width, layers, rows):
    """An MLP of square weights without biases, trained by SGD on so many rows a replica."""

    def loss(weights, x, y):
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return jnp.mean((x - y) ** 2)

    def step(weights, x, y):
        value, gradients = weft.value_and_grad(loss)(weights, x, y)
        return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], value

    def lower(replicas):
        mesh = weft.Mesh((replicas,), ("data",))
        kept, split = (weft.NamedSharding(mesh, spec) for spec in (P(), P("data")))
        weight = weft.ShapeDtypeStruct((width, width), "float32")
        batch = weft.ShapeDtypeStruct((rows * replicas, width), "float32")
        compiled = weft.jit(step, in_shardings=([kept] * layers, split, split), donate_argnums=0)
        return compiled.lower([weight] * layers, batch, batch)

    return lower


MODELS = {
    "gpt-1024": (gpt(layers=4, hidden=1024, vocabulary=32000, micro_batch=8), [8, 64, 256, 1024]),
    "gpt2-small": (gpt(layers=12, hidden=768, vocabulary=50304, micro_batch=4), [8, 64, 256, 1024]),
    "gpt-2048": (gpt(layers=6, hidden=2048, vocabulary=32000, micro_batch=2), [8, 64, 256, 1024]),
    "gpt-1024 tensor 4": (gpt(layers=4, hidden=1024, vocabulary=32000, micro_batch=2, tensor=4, sequence_parallel=True),
                          [16]),
    "sgd 16 x 2048": (sgd(2048, 16, 256), [8, 64, 256]),
    "sgd 8 x 4096": (sgd(4096, 8, 64), [8, 64, 256]),
}


def simulate(compiled, args, replicas):
    """Seconds of a step at each number of replicas, and bytes of the arena. A plan that splits the axis of replicas into
    parts has one number."""
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder, "step.plan")
        compiled.plan.save(plan)
        command = [args.bin / "shard-sim", "plan", plan, f"--cluster={args.cluster}", "--json"]
        if len(replicas) > 1:
            command.append("--scale=data:" + ",".join(map(str, replicas)))
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[0]
    return [row["step_seconds"] for row in found.get("scale", [found])], found["memory"]["arena_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", default="dgx-h100")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    # Of the build that the package is of.
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(weft.__file__).absolute().parents[2] / "bin")
    args = parser.parse_args()
    if not (args.bin / "shard-sim").exists():
        parser.error(f"there is no shard-sim in {args.bin}: build it, or name its folder by --bin")
    print("| model | replicas | step: each on its own | combined | calls: each on its own | combined | "
          "arena: each on its own | combined | best other plan |")
    print("| --- | " + "---: | " * 8)
    for model in args.models:
        lower, replicas = MODELS[model]
        by_plan = {}
        for count in replicas:
            for combined in (False, True):
                compiled = lower(count).compile(target="none", cluster=args.cluster, combine_collectives=combined)
                times, arena = simulate(compiled, args, replicas)
                by_plan[count, combined] = times, arena, sum(each.count for each in compiled.collectives())
        for at, count in enumerate(replicas):
            (apart, apart_arena, apart_calls), (own, arena, calls) = by_plan[count, False], by_plan[count, True]
            others = [by_plan[other, True][0][at] for other in replicas if other != count]
            best = f"{min(others) / own[at] - 1:+.1%}" if others else ""
            print(f"| {model} | {count:,} | {apart[at] * 1e3:.2f} ms | {own[at] * 1e3:.2f} ms | {apart_calls} | {calls} | "
                  f"{apart_arena / 2**20:,.0f} MiB | {arena / 2**20:,.0f} MiB | {best} |", flush=True)


if __name__ == "__main__":
    main()
