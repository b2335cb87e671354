# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a collective between processes goes on while its rank computes.

    PYTHONPATH=build/release/python mpirun -n 2 build/venv/bin/python benchmarks/mpi_overlap.py [--mib 64] [--gemms 8]

A plan with one rank in each process starts an all-reduce, computes matmuls that do not need it, and waits. The same
all-reduce is run alone in turns. Printed are the time that it takes alone and beside the matmuls, both from its start to its
end, and the time that ranks waited for it behind the matmuls: what is exposed.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

import numpy as np

import weft
from weft import P


def plans(ranks, mib, gemms, size):
    """The all-reduce beside matmuls, and alone."""
    mesh = weft.make_mesh((ranks,), ("data",))
    rows = np.ones((ranks, mib * 2**18), np.float32)
    x = np.full((ranks * size, size), 1 / size, np.float32)

    def beside(rows, x, w):
        total = rows.sum(0)
        for _ in range(gemms):
            x = x @ w
        return total, x

    w = np.full((size, size), 1 / size, np.float32)
    jit = weft.jit(beside, mesh=mesh, in_shardings=(P("data"), P("data"), P()), out_shardings=(P(), P("data")))
    alone = weft.jit(lambda rows: rows.sum(0), mesh=mesh, in_shardings=P("data"), out_shardings=P())
    return (jit.lower(rows, x, w).compile(), (rows, x, w)), (alone.lower(rows).compile(), (rows,))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--gemms", type=int, default=8)
    parser.add_argument("--size", type=int, default=2048, help="of the matmuls")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    weft.distributed.initialize()
    ranks = max(2, weft.process_count())
    runs = []
    for compiled, values in plans(ranks, options.mib, options.gemms, options.size):
        session = compiled.session(trace_runs=options.rounds + 1, deadline=120)
        for info, value in zip(compiled.entry.inputs, values, strict=True):
            session.set_input(compiled.entry.name, info.name, value)
        runs.append((session, compiled.entry.name))
    waited = []
    for _ in range(options.rounds + 1):
        for session, entry in runs:
            session.run(entry)
        waited.append(statistics.mean(rank.waited for rank in runs[0][0].rank_usage()))
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        for session, _ in runs:
            path = pathlib.Path(folder, "trace.json")
            session.write_trace(path)
            if weft.process_index() == 0:
                events = json.loads(path.read_text())["traceEvents"]
                taken.append([event["dur"] / 1e6 for event in events
                              if event["ph"] == "X" and event["tid"] == 1 and event["pid"] == 0][1:])
    if weft.process_index() == 0:
        beside, alone = map(statistics.median, taken)
        exposed = statistics.median(waited[1:])
        print(f"all-reduce of {options.mib} MiB between {ranks} ranks in {weft.process_count()} processes: {1e3 * alone:.1f} ms "
              f"alone, {1e3 * beside:.1f} ms beside matmuls, of which {1e3 * exposed:.1f} ms exposed "
              f"({exposed / alone:.1%} of its time alone)")


if __name__ == "__main__":
    main()
