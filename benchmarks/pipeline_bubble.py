# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the bubbles of pipeline schedules on this machine with what the timing of their tables
predicts from the measured times of the segments.

    PYTHONPATH=build/release/python python3 benchmarks/pipeline_bubble.py
        [--schedules gpipe 1f1b zb-h1] [--ranks 2] [--microbatches 8] [--layers 8] [--steps 20]

A GPT is trained on ranks that are threads of one process. All schedules run in turns. Of each
traced step, idle is what a rank does not spend in segments between the first and the last of all
ranks; printed are medians. The machine should have a core for each rank, and nothing else to do.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples/gpt"))

import model as gpt  # noqa: E402
import numpy as np  # noqa: E402
import weft  # noqa: E402
import weft.numpy as wnp  # noqa: E402
from weft import P, tree  # noqa: E402


def training_step(config, ranks, microbatches):
    cuts = {config.layers * stage // ranks for stage in range(1, ranks)}

    def loss(params, tokens, targets):
        x = params["bytes"][tokens] + params["positions"][: tokens.shape[1]]
        for number, each in enumerate(params["blocks"]):
            x = weft.stage_boundary(x) if number in cuts else x
            x, _ = gpt.block(each, x, config)
        x = weft.nn.layer_norm(x, params["norm"])
        scores = wnp.einsum("...d,vd->...v", x, params["head"])
        return weft.nn.softmax_cross_entropy_with_integer_labels(scores, targets).mean()

    def step(params, tokens, targets):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), microbatches)(params, tokens, targets)
        return tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    return step


class Run:
    """A schedule, compiled and ready."""

    def __init__(self, name, args):
        self.name, self.args = name, args
        config = gpt.Config(layers=args.layers, width=args.width, heads=8, context=args.context)
        params = gpt.init(config, 0) | {"head": np.zeros((256, args.width), np.float32)}
        rows = np.random.default_rng(0).integers(0, 256, (2, args.microbatches * args.rows, args.context))
        step = training_step(config, args.ranks, args.microbatches)
        jitted = weft.jit(step, mesh=weft.Mesh((args.ranks,), ("pipe",)), donate_argnums=0,
                          in_shardings=(P(), P(), P()), pipeline=weft.Pipeline("pipe", name))
        self.compiled = jitted.lower(params, *rows.astype(np.int32)).compile()
        self.values = dict(zip((v.name for v in self.compiled.plan.entries[0].inputs),
                               tree.leaves((params, *rows.astype(np.int32)))))
        self.session = self._session()
        self.seconds = []

    def _session(self, **options):
        session = self.compiled.session(threads=1, **options)
        for name, value in self.values.items():
            if name.startswith("params"):
                session.set_state(name, value)
            else:
                session.set_input("step", name, value)
        return session

    def step(self):
        begin = time.perf_counter()
        self.session.run("step")
        self.seconds.append(time.perf_counter() - begin)

    def trace(self, runs):
        """For each traced step the times of the segments, by name, and the share of idle time."""
        session = self._session(trace_runs=runs + 1)
        for _ in range(runs + 1):
            session.run("step")
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            session.write_trace(file.name)
            events = json.loads(pathlib.Path(file.name).read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        work = [e for e in events if e["ph"] == "X" and e["tid"] == 0
                and e["args"]["entry"].split(".")[-1][1:] in ("F", "B", "I", "W")
                and "step" in e["args"]]  # messages have none
        steps = self._steps(work)[1:]  # the first one fills caches
        return [self._measure(step) for step in steps]

    def _steps(self, work):
        """Events are of one step until micro-batch 0 of the first forward pass comes again."""
        steps, seen = [], {}
        for e in sorted(work, key=lambda e: e["ts"]):
            rank = e["pid"]
            key = (e["args"]["entry"], e["args"]["microbatch"], e["args"]["step"])
            if key in seen.setdefault(rank, [set()])[-1]:
                seen[rank].append(set())
            seen[rank][-1].add(key)
            number = len(seen[rank]) - 1
            while len(steps) <= number:
                steps.append([])
            steps[number].append(e)
        return steps

    def _measure(self, step):
        begin = min(e["ts"] for e in step)
        end = max(e["ts"] + e["dur"] for e in step)
        spans = {}  # a segment runs without interruption
        for e in step:
            key = (e["pid"], e["args"]["entry"].split(".")[-1], e["args"]["microbatch"])
            first, last = spans.get(key, (e["ts"], e["ts"]))
            spans[key] = min(first, e["ts"]), max(last, e["ts"] + e["dur"])
        times = {}
        for (_, segment, _), (first, last) in spans.items():
            times.setdefault(segment, []).append(last - first)
        busy = sum(last - first for first, last in spans.values())
        idle = 1 - busy / (self.args.ranks * (end - begin))
        return {name: statistics.median(each) for name, each in times.items()}, idle, end - begin


def predict(run, times):
    """The share of idle time and the length of the step for these times of segments."""
    ranks = range(run.args.ranks)

    def each(kind):
        return "/".join(str(times.get(f"{rank}{kind}", 0)) for rank in ranks)

    if "0B" in times:  # halves that always run together
        halves = "/".join(str(times[f"{rank}B"] / 2) for rank in ranks)
        text = f"F:{each('F')},I:{halves},W:{halves}"
    else:
        text = f"F:{each('F')},I:{each('I')},W:{each('W')}"
    timed = weft.pipeline.schedule(run.name, ranks=run.args.ranks, microbatches=run.args.microbatches,
                                   times=text)
    return timed.bubble_fraction, timed.makespan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", nargs="+", default=["gpipe", "1f1b", "zb-h1"])
    for name, value in (("ranks", 2), ("microbatches", 8), ("layers", 8), ("width", 256), ("context", 128),
                        ("rows", 2), ("steps", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    runs = [Run(name, args) for name in args.schedules]
    for _ in range(args.steps):
        for run in runs:
            run.step()
    print("schedule      step ms   idle %   predicted %   predicted ms")
    for run in runs:
        measured = run.trace(args.steps)
        times = {name: statistics.median(each[0][name] for each in measured) for name in measured[0][0]}
        idle = statistics.median(each[1] for each in measured)
        predicted, makespan = predict(run, times)
        print(f"{run.name:12} {1e3 * statistics.median(run.seconds):8.2f} {100 * idle:8.1f} "
              f"{100 * predicted:13.1f} {makespan / 1e3:14.2f}")


if __name__ == "__main__":
    main()
