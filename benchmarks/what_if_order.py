# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks variants of a program by compiled.what_if, runs them on this machine's CPU, and compares the two orders.

    PYTHONPATH=build/release/python build/venv/bin/python benchmarks/what_if_order.py

Two programs on up to four ranks: an MLP and a GPT in float32 with AdamW. Rounds go through all variants, so that what else
the machine does falls on all of them. The time of a step is the CPU time of all threads over the cores that the ranks
have, which is what a step takes when nobody else has the cores; beside it stands the median by the clock. Waiting for
others takes no CPU time, so the order is compared with the predicted step without what ranks wait. Timings need an
optimised build (preset release) on PYTHONPATH.
"""

import argparse
import os
import statistics
import time
import warnings

import numpy as np

import weft
from predict_cpu import mlp, tau
from weft import P

MESHES = ["data=1,model=1", "data=2,model=1", "data=1,model=2", "data=4,model=1", "data=2,model=2", "data=1,model=4"]
GPT = dict(layers=4, hidden=256, heads=4, vocabulary=8192, sequence=256, global_batch=4, dtype="float32")
WHOLE, TRANSPOSED = P(), P("model", None)
# Of each program: the step, annotated for both axes, and what what_if is asked.
PROGRAMS = {
    "MLP": (lambda: mlp("data 2 x tensor 2"),
            [{"mesh": MESHES}, {"specs": {"state['w']['w2']": WHOLE}}, {"specs": {"state['w']['w1']": WHOLE}},
             {"specs": {"state['w']['w1']": WHOLE, "state['w']['w2']": WHOLE}}, {"specs": {"state['w']['w1']": TRANSPOSED}}]),
    "GPT": (lambda: weft.models.gpt(**GPT, data=2, tensor=2, micro_batch=2).lower(),
            [{"mesh": [each.replace("model", "tensor") for each in MESHES]}]),
}


class Variant:
    """What was predicted of a variant, and the times of its steps."""

    def __init__(self, variant):
        made = variant.compiled
        self.change, self.predicted = variant.change or "as it is", variant.predicted
        self.work = self.predicted.step - self.predicted.bubble
        self.plan = weft.Plan(made._source.compile(**made._options | {"target": "cpu"}))
        self.cores = min(self.plan.ranks, os.cpu_count())
        self.session = weft.Session(self.plan)
        self.entry = self.plan.entries[0]
        self.cpu, self.clock = [], []
        generator = np.random.default_rng(0)
        for value in self.entry.inputs:
            is_integer = np.issubdtype(value.dtype, np.integer)
            data = generator.integers(0, 2, value.shape) if is_integer else \
                np.abs(0.02 * generator.standard_normal(value.shape, dtype=np.float32))
            self.session.set_input(self.entry.name, value.name, data.astype(value.dtype))
        self.session.run(self.entry.name)

    def step(self):
        before = time.process_time()
        self.session.run(self.entry.name)
        self.cpu.append((time.process_time() - before) / self.cores)
        self.clock.append(self.session.last_run.total)


def compare(name, cluster, rounds):
    make, questions = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.CompilerWarning)  # of what is replicated
        compiled = make().compile(None, cluster=cluster)
        found = [compiled.what_if(**question, next_change=False) for question in questions]
        ranked = {each.change: each for answer in found for each in answer.variants}
        variants = [Variant(each) for each in sorted(ranked.values(), key=lambda each: each.predicted.step)]
    for _ in range(rounds):
        for each in variants:
            each.step()
    print(f"| {name} | predicted | CPU time | by the clock |\n| --- | ---: | ---: | ---: |")
    for each in variants:
        times = [each.predicted.step, statistics.median(each.cpu), statistics.median(each.clock)]
        print(f"| {each.change} | " + " | ".join(f"{1e3 * t:.0f} ms" for t in times) + " |")
    print(f"Kendall's tau over {len(variants)} variants: "
          f"{tau([(v.work, statistics.median(v.cpu)) for v in variants]):+.2f} by CPU time, "
          f"{tau([(v.predicted.step, statistics.median(v.clock)) for v in variants]):+.2f} by the clock", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", default="cpu-2core", help="a name, or the file that shard-bench wrote on this machine")
    parser.add_argument("--rounds", type=int, default=10, help="steps of each variant (default: 10)")
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=[*PROGRAMS])
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in options.only:
        compare(name, options.cluster, options.rounds)


if __name__ == "__main__":
    main()
