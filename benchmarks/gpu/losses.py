# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of a plan for a GPU against those of the same model's plan for CPUs.

    python losses.py --model mlp --mesh data=2,model=2 --target cuda:sm_90
    python losses.py --model gpt --dtype bfloat16 --target cuda:sm_90

The perceptron is examples/mlp_lm with the tools of build/release (--bin), the GPT a small GPT-2
of python-bindings/test/weft_models.py. With more than one rank all share one device. The last
line is JSON: the largest relative difference, and what is allowed.
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = {"float32": 1e-4, "bfloat16": 2e-2}


def read_losses(path):
    with open(path, newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def perceptron(arguments, target):
    """The losses of examples/mlp_lm by shard-compile and shard-run."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    plan = arguments.out / f"mlp-{target.replace(':', '-')}.plan"
    metrics = plan.with_suffix(".csv")
    example = ROOT / "examples/mlp_lm"

    def run(*command):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)

    run(sys.executable, example / "batches.py", "--steps", arguments.steps, "--out", arguments.out)
    run(arguments.bin / "shard-compile", example / "mlp_lm.mlir", "--mesh", arguments.mesh,
        f"--target={target}", "-o", plan)
    run(arguments.bin / "shard-run", plan, "--init", "init", "--entry", "train_step",
        "--steps", arguments.steps, "--input", f"x={arguments.out / 'x.npy'}",
        "--input", f"y={arguments.out / 'y.npy'}", "--metrics", metrics, "--quiet")
    return read_losses(metrics)


def gpt(arguments, target):
    """The losses of a small GPT-2."""
    import gpt2_weft
    import problem
    import weft

    config = problem.Config(layers=2, width=128, heads=4, vocab=256, context=64, dtype=arguments.dtype)
    axes = dict(pair.split("=") for pair in arguments.mesh.split(","))
    mesh = weft.Mesh(tuple(map(int, axes.values())), tuple(axes))
    trainer = gpt2_weft.Trainer(config, gpt2_weft.first_state(config), 8, target, mesh)
    # Few batches, seen again and again, so that the loss falls.
    return [trainer.step(*problem.batch(config, 8, step % 4)) for step in range(arguments.steps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=["mlp", "gpt"], required=True)
    parser.add_argument("--dtype", choices=ALLOWED, default="float32", help="what the GPT computes in")
    parser.add_argument("--mesh", default="data=1")
    parser.add_argument("--target", required=True, help="as cuda:sm_90")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/gpu/losses")
    arguments = parser.parse_args()
    model = {"mlp": perceptron, "gpt": gpt}[arguments.model]
    expected, losses = model(arguments, "cpu"), model(arguments, arguments.target)
    errors = [abs(loss - other) / abs(other) for loss, other in zip(losses, expected, strict=True)]
    for step in sorted({*range(0, len(losses), 10), len(losses) - 1}):
        print(f"step {step:3}  loss {losses[step]:.6f}  on CPUs {expected[step]:.6f}")
    error = math.nan if any(map(math.isnan, errors)) else max(errors)
    print(json.dumps({"steps": len(losses), "error": error, "allowed": ALLOWED[arguments.dtype],
                      "first": losses[0], "last": losses[-1]}))


if __name__ == "__main__":
    main()
