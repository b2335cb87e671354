# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What overlapping and combining collectives gains on this machine's CPU.

    PYTHONPATH=build/release/python build/venv/bin/python benchmarks/overlap_gain.py

Training steps of two ranks (float32, AdamW) are compiled with and without --overlap-collectives,
--combine-collectives and collectives in pieces, and run in turns, first the one and first the other. Each pair gives a
ratio of times; printed are the median, the quartiles, and the share of pairs in which the step with them was faster. A
pair counts if other processes had less than 5 % of the cores meanwhile (predict_cpu.py), unless `--all`; on a busy
machine `--all --ahead` has steps of nearly the same time (run_ahead.py). Timings need an optimised build (preset
release) on PYTHONPATH.
"""

import argparse
import os
import statistics
import time
import warnings

import numpy as np
import weft
from predict_cpu import busy_seconds, is_quiet
from run_ahead import add_argument, run_ahead

NARROW = {"layers": 8, "hidden": 64, "heads": 4, "vocabulary": 512, "sequence": 64, "global_batch": 4, "dtype": "float32"}
WIDE = {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 8192, "sequence": 256, "global_batch": 4, "dtype": "float32"}
LAYOUTS = {
    "data 2": {"data": 2},
    "zero1 2": {"data": 2, "sharded": "zero1"},
    "fsdp 2": {"data": 2, "sharded": "fsdp"},
    "tensor 2": {"tensor": 2},
    "tensor 2, sequence": {"tensor": 2, "sequence_parallel": True},
}
VARIANTS = {"all": {}, "combining": {"overlap_collectives": False, "collective_pieces": 1},
            "overlap": {"combine_collectives": False},
            "none": {"overlap_collectives": False, "combine_collectives": False, "collective_pieces": 1}}


class Step:
    def __init__(self, lowered, cluster, options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", weft.CompilerWarning)  # of what is replicated
            compiled = lowered.compile(cluster=cluster, **options)
        self.calls = sum(each.count for each in compiled.collectives())
        self.session, self.entry = compiled.session(), compiled.entry
        generator = np.random.default_rng(0)
        for value in self.entry.inputs:
            integers = np.issubdtype(value.dtype, np.integer)
            data = generator.integers(0, 2, value.shape) if integers else np.abs(0.02 * generator.standard_normal(value.shape, dtype=np.float32))
            self.session.set_input(self.entry.name, value.name, data)
        for _ in range(3):
            self.run()

    def run(self):
        self.session.run(self.entry.name)
        return self.session.last_run.total


def ratio_of(first, second, repeats, swapped):
    """Of the times of two steps that run in turns, and whether nobody else ran."""
    times, others, before, begun = {first: 0, second: 0}, busy_seconds(), time.process_time(), time.perf_counter()
    for _ in range(repeats):
        for step in (second, first) if swapped else (first, second):
            times[step] += step.run()
    quiet = is_quiet(busy_seconds() - others - (time.process_time() - before), time.perf_counter() - begun)
    return times[first] / times[second], quiet


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", default="cpu-2core")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30, help="for the pairs of one line, at most")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--all", action="store_true", help="count pairs beside which others ran, too")
    add_argument(parser)
    args = parser.parse_args()
    if args.ahead:
        run_ahead()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("| model | layout | with | calls | over none | quartiles | faster in | pairs |\n"
          "| --- | --- | --- | ---: | ---: | --- | ---: | ---: |")
    for (name, sizes), layout in ((model, layout) for model in (("narrow GPT", NARROW), ("GPT", WIDE)) for layout in args.layouts):
        ranks = LAYOUTS[layout]
        lowered = weft.models.gpt(**sizes, micro_batch=sizes["global_batch"] // ranks.get("data", 1), **ranks).lower()
        steps = {variant: Step(lowered, args.cluster, options) for variant, options in VARIANTS.items()}
        none = steps.pop("none")
        # Of at least 50 ms, for the clock of what others compute.
        repeats = max(1, round(0.05 / none.run()))
        ratios = {variant: [] for variant in steps}
        until, tried = time.monotonic() + args.seconds, 0
        while time.monotonic() < until and min(map(len, ratios.values())) < args.pairs:
            for variant, step in steps.items():
                ratio, quiet = ratio_of(step, none, repeats, tried % 2 == 1)
                if quiet or args.all:
                    ratios[variant].append(ratio)
            tried += 1
        for variant, found in ratios.items():
            if len(found) < 4:
                print(f"| {name} | {layout} | {variant} | {steps[variant].calls} of {none.calls} | too few quiet pairs of {tried} | | | {len(found)} |",
                      flush=True)
                continue
            low, middle, high = statistics.quantiles(found, n=4)
            print(f"| {name} | {layout} | {variant} | {steps[variant].calls} of {none.calls} | {middle:.3f} | {low:.3f} to {high:.3f} "
                  f"| {sum(ratio < 1 for ratio in found) / len(found):.0%} | {len(found)} |", flush=True)


if __name__ == "__main__":
    main()
