# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts training steps on this machine's CPU, runs them, and compares.

    PYTHONPATH=build/release/python build/venv/bin/python benchmarks/predict_cpu.py --calibrate

Four models at one rank, and three of them in six layouts of 1 to 4 ranks: float32, AdamW, the same global
batch in every layout of a model. `--calibrate` runs shard-bench for 60 seconds, a quarter before each quarter of the
rounds, since machines are faster in some minutes than in others, and predicts the median of what its four cluster files
give; plans are compiled with the first one. Rounds go through all cases, so that what else the machine does falls on all of them. A step is quiet if
other processes had less than 5 % of the cores while it ran; rounds go on until every case has `--rounds` of these, but
not longer than `--seconds`. "By the clock" is the median of the quiet steps, and is left out where there are none.

CPU time is that of all threads, over the cores that the ranks have, the median of all steps: what a step takes when
nobody else has the cores, but for waiting. Beside it is what is predicted of the same, the step without the bubble of a
pipeline. Kendall's tau is of the order of the layouts of a model.

`--ahead` runs the steps ahead of other processes (run_ahead.py), and takes all of them for quiet.

`--keep FOLDER` leaves the plans there, and a trace of one step of each beside them, for
`shard-sim plan X.plan --measured=X.json`. Timings need an optimised build (preset release) on PYTHONPATH.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import weft
import weft.numpy as wnp
from run_ahead import add_argument, run_ahead
from weft import P, optim

PARTS = 4  # of calibrating and of rounds, in turn
TRANSFORMER = {"sequence": 256, "global_batch": 4, "dtype": "float32"}
GPT = TRANSFORMER | {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 8192}
LLAMA = GPT | {"kv_heads": 2, "ffn": 768}
WIDE_GPT = TRANSFORMER | {"layers": 2, "hidden": 768, "heads": 12, "vocabulary": 16384}
LAYOUTS = {
    "1 rank": {"micro_batch": 4},
    "1 rank, recomputed": {"micro_batch": 4, "recomputation": "full"},
    "data 2": {"data": 2, "micro_batch": 2},
    "tensor 2, recomputed": {"tensor": 2, "micro_batch": 4, "recomputation": "full"},
    "pipeline 2": {"pipeline": 2, "micro_batch": 1},
    "data 2 x tensor 2": {"data": 2, "tensor": 2, "micro_batch": 2},
}
MLP_ROWS, MLP_WIDTHS = 1024, (1024, 4096)
# The mesh, the specs of the two weights and of the rows, and whether hidden values are recomputed.
MLP_LAYOUTS = {
    "1 rank": ({"data": 1}, P(), P(), P(), False),
    "1 rank, recomputed": ({"data": 1}, P(), P(), P(), True),
    "data 2": ({"data": 2}, P(), P(), P("data"), False),
    "tensor 2, recomputed": ({"model": 2}, P(None, "model"), P("model"), P(), True),
    "data 4": ({"data": 4}, P(), P(), P("data"), False),
    "data 2 x tensor 2": ({"data": 2, "model": 2}, P(None, "model"), P("model"), P("data"), False),
}


def mlp(layout):
    """The lowered step of two layers with tanh between them."""
    sizes, first, second, rows, recomputes = MLP_LAYOUTS[layout]
    narrow, wide = MLP_WIDTHS
    adamw = optim.adamw(3e-4)

    def step(state, x, y):
        def loss(w):
            return wnp.mean(wnp.square(wnp.tanh(x @ w["w1"]) @ w["w2"] - y))

        computed = weft.checkpoint(loss, policy=weft.checkpoint_policies.nothing_saveable) if recomputes else loss
        value, gradients = weft.value_and_grad(computed)(state["w"])
        updates, moments = adamw.update(gradients, state["optimizer"], state["w"])
        return {"w": optim.apply_updates(state["w"], updates), "optimizer": moments}, value

    def array(*shape):
        return weft.ShapeDtypeStruct(shape, "float32")

    weights = {"w1": array(narrow, wide), "w2": array(wide, narrow)}
    moments = weft.eval_shape(adamw.init, weights)
    specs = {"w1": first, "w2": second}
    specs = {"w": specs, "optimizer": optim.state_specs(moments, weights, specs)}
    x = array(MLP_ROWS, narrow)
    return weft.jit(step, mesh=weft.Mesh(tuple(sizes.values()), tuple(sizes)), donate_argnums=0,
                    in_shardings=(specs, rows, rows), out_shardings=(specs, P()),
                    ).lower({"w": weights, "optimizer": moments}, x, x)


def cases(wanted):
    """(model, layout, lowered step), in the order of the table."""
    transformers = {"GPT": (weft.models.gpt, GPT), "Llama": (weft.models.llama, LLAMA)}
    all_ = {("MLP", layout): lambda layout=layout: mlp(layout) for layout in MLP_LAYOUTS}
    for (name, (family, sizes)), (layout, ranks) in itertools.product(transformers.items(), LAYOUTS.items()):
        all_[name, layout] = lambda family=family, sizes=sizes | ranks: family(**sizes).lower()
    all_["wide GPT", "1 rank"] = lambda: weft.models.gpt(**WIDE_GPT, micro_batch=4).lower()
    for (model, layout), make in all_.items():
        if not wanted or any(word in f"{model}, {layout}" for word in wanted):
            yield model, layout, make()


class Case:
    """A compiled step, what is predicted of it, and the times of its steps."""

    def __init__(self, model, layout, lowered, options):
        self.model, self.layout = model, layout
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", weft.CompilerWarning)  # of what is replicated
            plan = lowered.compile(cluster=options.cluster).plan
        self.path = options.keep / f"{model}-{layout}.plan".replace(" ", "-").lower()
        plan.save(self.path)
        self.predictions = []
        self.ranks, self.ahead = plan.ranks, options.ahead
        self.cores = min(plan.ranks, os.cpu_count())
        self.cpu, self.quiet = [], []
        self.plan, self.session = plan, None

    def predict(self, options):
        """Of the machine as it is now: seconds of a step, and without the bubble of a pipeline."""
        ran = subprocess.run([options.simulator, "plan", self.path, f"--cluster={options.cluster}", "--json"],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(ran.stderr.strip())
        entry = json.loads(ran.stdout)[0]
        # Of a pipeline, messages are the memory's: who waits for them computes nothing.
        waits = [role["bubble_seconds"] + sum(c["exposed_seconds"] for c in role["communication"]
                                              if c["axes"] == "pipeline") for role in entry["roles"]]
        self.predictions.append((entry["step_seconds"], entry["step_seconds"] - statistics.mean(waits)))

    @property
    def predicted(self):
        return statistics.median(step for step, _ in self.predictions)

    @property
    def work(self):
        return statistics.median(work for _, work in self.predictions)

    def start(self):
        self.session = weft.Session(self.plan, trace_runs=2)
        self.entry = self.plan.entries[0]
        generator = np.random.default_rng(0)
        for value in self.entry.inputs:
            if np.issubdtype(value.dtype, np.integer):
                self.session.set_input(self.entry.name, value.name, generator.integers(0, 2, value.shape))
            else:
                data = 0.02 * generator.standard_normal(value.shape, dtype=np.float32)
                self.session.set_input(self.entry.name, value.name, np.abs(data) if ".nu" in value.name else data)
        self.session.run(self.entry.name)
        self.session.run(self.entry.name)
        self.session.write_trace(self.path.with_suffix(".json"))

    def step(self):
        others, before = busy_seconds(), time.process_time()
        self.session.run(self.entry.name)
        taken, wall = time.process_time() - before, self.session.last_run.total
        self.cpu.append(taken / self.cores)
        if self.ahead or is_quiet(busy_seconds() - others - taken, wall):
            self.quiet.append(wall)

    @property
    def cpu_seconds(self):
        return statistics.median(self.cpu)

    @property
    def wall(self):
        """Of quiet steps; None if there are none."""
        return statistics.median(self.quiet) if self.quiet else None


def busy_seconds():
    """That all cores have computed since the machine started, for whomever."""
    user, nice, system, _, _, interrupts, soft, stolen = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def is_quiet(others, wall):
    """Whether others had less than 5 % of the cores, but for what the clock of busy_seconds is off by."""
    return others <= 0.05 * os.cpu_count() * wall + 2 / os.sysconf("SC_CLK_TCK")


def tau(pairs):
    """Kendall's, of two orders of the same things."""
    agree = [(a - c) * (b - d) for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    return sum((x > 0) - (x < 0) for x in agree) / len(agree)


def table(done):
    print("| model | layout | predicted step | by the clock | ratio | predicted without bubble | CPU time | ratio |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case in done:
        wall = f"{1e3 * case.wall:.0f} ms | {case.predicted / case.wall:.2f}" if case.quiet else "- | -"
        print(f"| {case.model} | {case.layout} | {1e3 * case.predicted:.0f} ms | {wall} "
              f"| {1e3 * case.work:.0f} ms | {1e3 * case.cpu_seconds:.0f} ms | {case.work / case.cpu_seconds:.2f} |")
    for model, of_model in itertools.groupby(done, lambda case: case.model):
        layouts = list(of_model)
        if len(layouts) > 1:
            print(f"{model}: Kendall's tau over {len(layouts)} layouts "
                  + (f"{tau([(c.predicted, c.wall) for c in layouts]):+.2f} by the clock, " if all(c.quiet for c in layouts) else "")
                  + f"{tau([(c.work, c.cpu_seconds) for c in layouts]):+.2f} by CPU time")
    for what, errors in (("by the clock", [case.predicted / case.wall - 1 for case in done if case.quiet and case.ranks == 1]),
                         ("by CPU time", [case.work / case.cpu_seconds - 1 for case in done if case.ranks == 1])):
        if errors:
            print(f"one rank, {what}: {len(errors)} cases, the worst {max(errors, key=abs):+.1%} off")
    print(f"quiet: {sum(len(case.quiet) for case in done)} of {sum(len(case.cpu) for case in done)} steps, "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end")


def calibrate(options, part):
    """Measures the machine as it is now, for a part of the time."""
    options.cluster = options.keep / f"cluster-{part}.toml"
    ran = subprocess.run([options.simulator.with_name("shard-bench"), f"--write-cluster={options.cluster}",
                          f"--seconds={options.calibrate / PARTS}", "--name=this machine"], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(ran.stderr.strip())
    print(ran.stdout.splitlines()[-1], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", default="cpu-2core")
    parser.add_argument("--calibrate", nargs="?", type=float, const=60, metavar="SECONDS",
                        help="measure this machine, instead of --cluster (default: for 60 seconds)")
    parser.add_argument("--rounds", type=int, default=10, help="quiet steps of each case (default: 10)")
    parser.add_argument("--seconds", type=float, default=120, help="for all rounds (default: 120)")
    parser.add_argument("--only", nargs="*", metavar="TEXT", help="cases whose \"MODEL, LAYOUT\" has one of these")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for plans and traces")
    add_argument(parser)
    parser.add_argument("--simulator", type=pathlib.Path,
                        default=pathlib.Path(weft.__file__).absolute().parents[2] / "bin" / "shard-sim")
    options = parser.parse_args()
    if options.ahead:
        run_ahead()
    with tempfile.TemporaryDirectory() as folder:
        options.keep = options.keep or pathlib.Path(folder)
        options.keep.mkdir(parents=True, exist_ok=True)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        if options.calibrate:
            calibrate(options, 0)
        done = [Case(*case, options) for case in cases(options.only)]
        if not done:
            sys.exit("error: no case has such a name")
        for case in done:
            case.start()
        for case in done:
            case.step()
        for part in range(PARTS):
            if options.calibrate and part:
                calibrate(options, part)
            for case in done:
                case.predict(options)
            wanted = options.rounds * (part + 1) / PARTS
            until = time.monotonic() + options.seconds / PARTS
            while time.monotonic() < until and (left := [case for case in done if len(case.quiet) < wanted]):
                for case in left:
                    case.step()
        table(done)


if __name__ == "__main__":
    main()
