# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a case for a GPU that need not be here, with all that running it needs.

    python prepare.py gpt-bf16 --target cuda:sm_90 --out prepared

makes prepared/gpt-bf16. What the losses must be is computed here, by the plan of the same program
for CPUs. Of a speed, the batch is the largest whose plan fits `--memory`; its parameters are made
where it runs, from a seed.
"""

import argparse
import csv
import dataclasses
import functools
import pathlib
import subprocess
import sys

import cases
import gpt2_weft
import numpy as np
import problem
import tensors
import weft
import weft.numpy as wnp

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPT = problem.Config(layers=2, width=128, heads=4, vocab=256, context=64)
GPT_BATCH = 8


class Workshop:
    """Makes plans and inputs in a folder."""

    def __init__(self, arguments):
        self.folder = arguments.out / arguments.case
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tools = arguments.bin
        self.target = arguments.target
        self.steps = arguments.steps

    def save(self, name, array):
        """A stack of inputs, a slice a step, as shard-run takes it."""
        np.save(self.folder / name, array)
        return name

    def run(self, *command):
        subprocess.run([str(word) for word in command], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL)

    def losses(self, plan, arguments):
        """Of a plan for CPUs."""
        self.run(self.tools / "shard-run", plan, *arguments, "--steps", self.steps,
                 "--metrics", "expected.csv", "--quiet")
        with open(self.folder / "expected.csv", newline="") as file:
            return [float(row[-1]) for row in list(csv.reader(file))[1:]]


def perceptron(case, workshop):
    """examples/mlp_lm by shard-compile."""
    example = ROOT / "examples/mlp_lm"
    workshop.run(sys.executable, example / "batches.py", "--steps", workshop.steps, "--out", ".")
    for plan, target in (("cpu.plan", "cpu"), ("device.plan", workshop.target)):
        workshop.run(workshop.tools / "shard-compile", example / "mlp_lm.mlir", "--mesh", case.mesh,
                     f"--target={target}", "-o", plan)
    return ["--init", "init", "--input", "x=x.npy", "--input", "y=y.npy"]


def mesh_of(case):
    return weft.Mesh(tuple(case.axes.values()), tuple(case.axes))


def gpt(case, workshop):
    config = dataclasses.replace(GPT, dtype=case.dtype)
    state = problem.first_state(config)
    for plan, target in (("cpu.plan", "cpu"), ("device.plan", workshop.target)):
        compiled = gpt2_weft.compile_step(config, state, GPT_BATCH, target, mesh_of(case))
        compiled.save(workshop.folder / plan)
    tensors.write(workshop.folder / "start.safetensors",
                  weft.tree.flatten_with_paths(state, "state")[0])
    batches = [problem.batch(config, GPT_BATCH, n) for n in range(problem.DISTINCT_BATCHES)]
    tokens, targets = map(np.stack, zip(*batches))
    return ["--load", "start.safetensors",
            "--input", f"batch['tokens']={workshop.save('tokens.npy', tokens)}",
            "--input", f"batch['targets']={workshop.save('targets.npy', targets)}"]


def exchange(axes, x, y):
    """Every kind of collective that the axes allow, several in flight beside GEMMs."""
    columns = weft.with_sharding_constraint(y, weft.P(None, axes))
    rows = weft.with_sharding_constraint(x.T @ wnp.tanh(x), weft.P(axes))
    turned = weft.with_sharding_constraint(wnp.sin(x), weft.P(axes[::-1]))
    x = 0.5 * x + 0.1 * wnp.tanh(wnp.roll(x, 1, axis=0) + rows)
    y = weft.with_sharding_constraint(0.9 * wnp.cos(columns), weft.P(axes))
    return x, y, turned, wnp.mean(x * x) + wnp.max(wnp.abs(y))


def collectives(case, workshop):
    random = np.random.default_rng(0)
    size, axes = 16 * case.ranks, tuple(case.axes)
    x, y = (random.standard_normal((size, size), np.float32) for _ in range(2))
    specs = (weft.P(axes), weft.P(axes))
    step = weft.jit(functools.partial(exchange, axes), mesh=mesh_of(case), in_shardings=specs,
                    out_shardings=(*specs, weft.P(axes[::-1]), weft.P()), donate_argnums=(0, 1))
    lowered = step.lower(x, y)
    for plan, target in (("cpu.plan", "cpu"), ("device.plan", workshop.target)):
        compiled = lowered.compile(target)
        compiled.save(workshop.folder / plan)
    print(", ".join(sorted({each.kind for each in compiled.collectives()})))
    return ["--input", f"x={workshop.save('x.npy', x)}", "--input", f"y={workshop.save('y.npy', y)}"]


def prepare_losses(case, workshop):
    make = {"mlp": perceptron, "gpt": gpt, "collectives": collectives}[case.model]
    arguments = make(case, workshop)
    expected = workshop.losses("cpu.plan", arguments)
    cases.write_record(workshop.folder, {
        "plan": "device.plan", "target": workshop.target, "ranks": case.ranks, "arguments": arguments,
        "expected": expected, "allowed": cases.ALLOWED[case.dtype]})


def prepare_speed(case, workshop, memory, batches):
    config = problem.SIZES[case.size]
    state = problem.first_state(config)
    for size in batches or problem.BATCHES[case.size]:
        compiled = gpt2_weft.compile_step(config, state, size, workshop.target)
        arena = compiled.memory().arena
        print(f"batch {size}: {arena / 2**30:.1f} GiB", flush=True)
        if arena <= memory * 2**30:
            break
    else:
        sys.exit(f"no batch fits {memory} GiB")
    compiled.save(workshop.folder / "device.plan")
    cases.write_record(workshop.folder, {
        "plan": "device.plan", "target": workshop.target, "size": case.size, "batch": size,
        "entry": compiled.entry.name, "arena": arena})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=cases.CASES)
    parser.add_argument("--target", required=True, help="as cuda:sm_90")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--steps", type=int, default=50, help="losses that are computed ahead")
    parser.add_argument("--memory", type=float, default=130, help="GiB that a plan may take")
    parser.add_argument("--batch", type=int, help="sequences a step of a speed (default: what fits)")
    arguments = parser.parse_args()
    arguments.out, arguments.bin = arguments.out.resolve(), arguments.bin.resolve()
    case, workshop = cases.CASES[arguments.case], Workshop(arguments)
    if isinstance(case, cases.Speed):
        prepare_speed(case, workshop, arguments.memory, arguments.batch and [arguments.batch])
    else:
        prepare_losses(case, workshop)


if __name__ == "__main__":
    main()
