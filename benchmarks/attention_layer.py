# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and memory of attention as one step of a plan, and written with other ops.

    python3 benchmarks/attention_layer.py [--positions 256,1024] [--steps 20]

One layer of GPT-2 small (batch 4, 12 heads of size 64, causal, fp32), forward and
backward, on one rank with one thread. The other plan is made of the same module by
--weft-expand-attention: matmuls, a mask and a softmax, with the matrices of
all scores in memory. Needs PYTHONPATH=build/<preset>/python.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

import weft

ROOT = pathlib.Path(__file__).resolve().parents[1]
BATCH, HEADS, SIZE = 4, 12, 64


def module(positions):
    heads, rows = f"tensor<{BATCH}x{positions}x{HEADS}x{SIZE}xf32>", f"tensor<{BATCH}x{positions}x{HEADS}xf32>"
    named = ", ".join(f'%{x}: {heads} {{weft.name = "{x}"}}' for x in "qkvw")
    results = ", ".join(f'{heads} {{weft.name = "d{x}"}}' for x in "qkv")
    return f"""
func.func private @loss(%q: {heads}, %k: {heads}, %v: {heads}, %w: {heads}) -> tensor<f32> {{
  %out, %l = weft.attention %q, %k, %v causal scale = 0.125 : ({heads}, {heads}, {heads}) -> ({heads}, {rows})
  %weighted = arith.mulf %out, %w : {heads}
  %r = weft.reduce sum %weighted dims = [0, 1, 2, 3] : {heads} -> tensor<f32>
  return %r : tensor<f32>
}}
func.func @layer({named}) -> (tensor<f32> {{weft.name = "loss"}}, {results}) {{
  %l, %dq, %dk, %dv = weft.value_and_grad @loss(%q, %k, %v, %w) wrt = [0, 1, 2]
      : ({heads}, {heads}, {heads}, {heads}) -> (tensor<f32>, {heads}, {heads}, {heads})
  return %l, %dq, %dk, %dv : tensor<f32>, {heads}, {heads}, {heads}
}}"""


def compile_module(folder, name, text, passes, binaries):
    source, plan = folder / f"{name}.mlir", folder / f"{name}.plan"
    source.write_text(text)
    if passes:
        subprocess.run([binaries / "shard-opt", source, *passes, "-o", source], check=True)
    subprocess.run([binaries / "shard-compile", source, "-o", plan], check=True, stdout=subprocess.DEVNULL)
    return weft.Plan.load(plan)


def measure(plan, positions, steps):
    """Seconds of the fastest step, and the loss."""
    session = weft.Session(plan)
    random = np.random.default_rng(0)
    for name in "qkvw":
        session.set_input("layer", name, random.normal(size=(BATCH, positions, HEADS, SIZE)).astype(np.float32))
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        session.run("layer")
        seconds.append(time.perf_counter() - begin)
    return min(seconds), float(session.output("loss"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", default="256,1024", help="lengths of the sequence")
    parser.add_argument("--steps", type=int, default=20, help="steps, of which the fastest counts")
    options = parser.parse_args()
    binaries = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "release" / "bin"))
    expand = ["--weft-autodiff", "--weft-expand-attention", "--symbol-dce"]
    print("| positions | form | ms | arena MiB | loss |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        for positions in map(int, options.positions.split(",")):
            for form, passes in (("attention", []), ("other ops", expand)):
                plan = compile_module(pathlib.Path(name), form.replace(" ", "_"), module(positions), passes, binaries)
                seconds, loss = measure(plan, positions, options.steps)
                print(f"| {positions} | {form} | {seconds * 1e3:.2f} | {plan.handle.report().entries[0].memory[0].arena_bytes / 2**20:.1f} | {loss:.6g} |")


if __name__ == "__main__":
    main()
