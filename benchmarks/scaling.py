# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strong and weak scaling of a training step on this machine, ranks as threads and as processes, and as predicted.

    PYTHONPATH=build/release/python build/venv/bin/python benchmarks/scaling.py [--ranks 1 2 4 8] [--cluster mine.toml]

The step is of a GPT (float32, AdamW), data parallel. Strong: every number of ranks shares one global batch; weak: each
rank has as many sequences. Ranks are threads of one process, then processes of one rank each under mpirun. Every case
is started anew in each round, and of several rounds the fastest median step counts.

"step" is by the clock. "CPU" is the CPU time of all processes in it, divided by the ranks: what a step takes where each
rank has a core of its own, but for waiting. "predicted" is what shard-sim says of the step on the cluster: cpu-2core has
two cores, which more ranks share, and its links are those between threads. Speed-ups (strong) and efficiencies
(weak) are relative to one rank.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import weft

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of tests in a container, where root has fewer cores than processes.
LAUNCHER_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def compile_step(path, ranks, batch, options):
    step = weft.models.gpt(layers=options.layers, hidden=options.hidden, heads=4, vocabulary=4096, sequence=options.sequence,
                           dtype="float32", data=ranks, global_batch=batch, micro_batch=batch // ranks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.CompilerWarning)  # of what is replicated
        step.lower().compile(cluster=options.cluster).plan.save(path)


def predict(path, options):
    """Seconds of a step on the cluster."""
    ran = subprocess.run([options.bin / "shard-sim", "plan", path, f"--cluster={options.cluster}", "--json"],
                         capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(ran.stderr.strip())
    return json.loads(ran.stdout)[0]["step_seconds"]


def work(path, steps):
    """In each process of a case: runs the steps, and process 0 prints medians."""
    weft.distributed.initialize()
    session = weft.Session(weft.Plan.load(path), deadline=300)
    entry, generator = session.plan.entries[0], np.random.default_rng(0)
    for value in entry.inputs:
        if np.issubdtype(value.dtype, np.integer):
            session.set_input(entry.name, value.name, generator.integers(0, 2, value.shape))
        else:
            data = 0.02 * generator.standard_normal(value.shape, dtype=np.float32)
            session.set_input(entry.name, value.name, np.abs(data) if ".nu" in value.name else data)
    wall, cpu = [], []
    session.run(entry.name)
    for _ in range(steps):
        before = time.process_time()
        session.run(entry.name)
        wall.append(session.last_run.total)
        cpu.append(time.process_time() - before)
    print(json.dumps({"wall": statistics.median(wall), "cpu": statistics.median(cpu)}), flush=True)


def run(path, ranks, processes, options):
    """Seconds by the clock, and of CPU time of a rank."""
    launcher = [*options.mpirun.split(), "-n", str(processes)] if processes > 1 else []
    ran = subprocess.run([*launcher, sys.executable, __file__, "--work", path, "--steps", str(options.steps)],
                         capture_output=True, text=True, env=os.environ | LAUNCHER_ENVIRONMENT)
    # mpirun may put what processes print at once on one line.
    lines = [json.loads(found) for found in re.findall(r'{"wall"[^}]*}', ran.stdout)]
    if ran.returncode != 0 or len(lines) != processes:
        sys.exit(f"error: {' '.join(launcher)} of {path}: status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return max(line["wall"] for line in lines), sum(line["cpu"] for line in lines) / ranks


def table(kind, folder, options):
    cases = [(ranks, processes) for ranks in options.ranks for processes in ([1] if ranks == 1 else [1, ranks])]
    paths, batches, best = {}, {}, {}
    for ranks in options.ranks:
        batches[ranks] = options.batch * (ranks if kind == "weak" else 1)
        paths[ranks] = folder / f"{kind}-{ranks}.plan"
        compile_step(paths[ranks], ranks, batches[ranks], options)
    for _ in range(options.rounds):
        for case in cases:
            taken = run(paths[case[0]], *case, options)
            best[case] = tuple(map(min, taken, best.get(case, taken)))
    predicted = {ranks: predict(paths[ranks], options) for ranks in options.ranks}
    gain = "speed-up" if kind == "strong" else "efficiency"
    print(f"\n{kind} scaling, {options.batch} sequences {'together' if kind == 'strong' else 'of each rank'}\n\n"
          f"| ranks | as | step | {gain} | CPU | {gain} by CPU | predicted | {gain} predicted |\n"
          "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    first, first_cpu = best[cases[0]]
    for ranks, processes in cases:
        wall, cpu = best[ranks, processes]
        columns = [(wall, first), (cpu, first_cpu), (predicted[ranks], predicted[options.ranks[0]])]
        print(f"| {ranks} | {f'{processes} processes' if processes > 1 else f'{ranks} threads' if ranks > 1 else 'thread'} | "
              + " | ".join(f"{1e3 * seconds:.1f} ms | {of / seconds:.2f}" for seconds, of in columns) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8], help="the first is what others are compared with")
    parser.add_argument("--only", choices=["strong", "weak"])
    parser.add_argument("--cluster", default="cpu-2core")
    parser.add_argument("--batch", type=int, default=8, help="sequences: all, or of each rank (default: 8)")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--steps", type=int, default=10, help="of a case in a round (default: 10)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe --bind-to none", help="without -n")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of shard-sim")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.steps)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["strong", "weak"] if options.only is None else [options.only]:
            table(kind, pathlib.Path(folder), options)


if __name__ == "__main__":
    main()
