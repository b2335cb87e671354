# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of a prepared plan of GPT-2, and where the time of its step goes.

    python speed.py prepared/speed-124M-weft --shard-run build/release/bin/shard-run

Needs shard-run and NumPy, and neither compiler nor package. The last line is JSON, as of
gpt2_jax.py and gpt2_torch.py.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import tempfile

import breakdown
import cases
import numpy as np
import problem
import tensors

TRACED_STEPS = 2


def write_inputs(folder, config, size):
    """The numbers that all systems start from, and a stack of batches; arguments of shard-run."""
    start = folder / "start.safetensors"
    tensors.write(start, tensors.paths(problem.first_state(config), "state"))
    arguments = ["--load", start]
    batches = [problem.batch(config, size, number) for number in range(problem.DISTINCT_BATCHES)]
    for name, arrays in zip(("tokens", "targets"), zip(*batches)):
        path = folder / f"{name}.npy"
        np.save(path, np.stack(arrays))
        arguments += ["--input", f"batch['{name}']={path}"]
    return arguments


def column(path, name):
    with open(path, newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shard-run", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--scratch", type=pathlib.Path,
                        help="folder for 12 bytes a parameter (default: of temporary files)")
    arguments = parser.parse_args()
    record = cases.read_record(arguments.folder)
    config = problem.SIZES[record["size"]]
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        scratch = pathlib.Path(name)
        times, metrics, trace = (scratch / file for file in ("times.csv", "losses.csv", "trace.json"))
        command = [arguments.shard_run, arguments.folder / record["plan"], "--entry", record["entry"],
                   "--steps", arguments.warmup + arguments.steps, "--times", times,
                   "--metrics", metrics, "--trace", trace, "--trace-runs", TRACED_STEPS,
                   *write_inputs(scratch, config, record["batch"])]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        seconds, enqueues = column(times, "seconds"), column(times, "enqueue_seconds")
        with open(metrics, newline="") as file:
            losses = [float(row[-1]) for row in list(csv.reader(file))[1:]]
        parts = breakdown.of_trace(trace)
    print(breakdown.text(parts), flush=True)
    print(json.dumps({
        **problem.figures(config, record["batch"], seconds[arguments.warmup:]), "losses": losses,
        "enqueue_seconds": statistics.median(enqueues[arguments.warmup:]), "parts": parts["parts"]}))


if __name__ == "__main__":
    main()
