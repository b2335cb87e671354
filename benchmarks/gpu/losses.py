# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of a prepared plan on a GPU against those of the same program's plan for CPUs.

    python losses.py prepared/gpt-bf16 --shard-run build/release/bin/shard-run
    python losses.py prepared/gpt-f32-4-ranks --shard-run ... --nccl

With more than one rank all share one device: as threads, or with `--nccl` as processes that NCCL
takes for different hosts. The last line is JSON: the largest relative difference, and what is
allowed.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import cases


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def launches(ranks, use_nccl):
    """What each process is told: arguments and variables."""
    if not use_nccl:
        return [([], {})]
    address = f"tcp://127.0.0.1:{free_port()}"
    # NCCL refuses two ranks of one host on one device.
    return [(["--rendezvous", address, "--rank", rank, "--world", ranks],
             {"NCCL_HOSTID": f"rank-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"})
            for rank in range(ranks)]


def run(folder, record, shard_run, metrics, use_nccl):
    """Runs the plan; the first process that fails ends with its message."""
    processes = []
    for arguments, variables in launches(record["ranks"], use_nccl):
        command = [shard_run, record["plan"], *record["arguments"], "--steps", len(record["expected"]),
                   "--metrics", metrics, *arguments]
        processes.append(subprocess.Popen([str(word) for word in command], cwd=folder,
                                          env=os.environ | variables, stdout=subprocess.DEVNULL))
    failed = [code for code in [process.wait() for process in processes] if code]
    if failed:
        sys.exit(f"{len(failed)} of {len(processes)} processes failed, the first with status {failed[0]}")
    with open(metrics, newline="") as file:
        return [float(row[-1]) for row in list(csv.reader(file))[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shard-run", type=pathlib.Path, required=True)
    parser.add_argument("--nccl", action="store_true", help="a process a rank")
    arguments = parser.parse_args()
    record = cases.read_record(arguments.folder)
    with tempfile.TemporaryDirectory() as scratch:
        losses = run(arguments.folder, record, arguments.shard_run.resolve(),
                     pathlib.Path(scratch, "losses.csv"), arguments.nccl)
    expected = record["expected"]
    errors = [abs(loss - other) / abs(other) for loss, other in zip(losses, expected, strict=True)]
    for step in sorted({*range(0, len(losses), 10), len(losses) - 1}):
        print(f"step {step:3}  loss {losses[step]:.6f}  on CPUs {expected[step]:.6f}")
    error = math.nan if any(map(math.isnan, errors)) else max(errors)
    print(json.dumps({"steps": len(losses), "error": error, "allowed": record["allowed"],
                      "first": losses[0], "last": losses[-1]}))


if __name__ == "__main__":
    main()
