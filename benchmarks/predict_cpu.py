# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts training steps on this machine's CPU, runs them, and compares.

    build/release/bin/shard-bench --write-cluster=mine.toml
    PYTHONPATH=build/release/python build/venv/bin/python benchmarks/predict_cpu.py --cluster=mine.toml

Four models at one rank, and three of them in six layouts of 1 to 4 ranks: float32, AdamW, the same global
batch in every layout of a model. Rounds go through all cases, so that what else the machine does falls on
all of them. CPU time is that of all threads, over the cores that the ranks have: what a step takes when
nobody else has the cores, but for waiting. Beside it is what is predicted of the same, the step without the
bubble of a pipeline; ratios are of these two. On an idle machine the step and the fastest wall time say more.
Of several rounds the fastest counts, as in the cluster file. Kendall's tau is of the order of the layouts of a
model, by CPU time and by wall time.

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
from weft import P, optim

ROOT = pathlib.Path(__file__).resolve().parent.parent
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
        ran = subprocess.run([options.simulator, "plan", self.path, f"--cluster={options.cluster}", "--json"],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(ran.stderr.strip())
        entry = json.loads(ran.stdout)[0]
        self.predicted = entry["step_seconds"]
        # Of a pipeline, messages are the memory's: who waits for them computes nothing.
        waits = [role["bubble_seconds"] + sum(c["exposed_seconds"] for c in role["communication"]
                                              if c["axes"] == "pipeline") for role in entry["roles"]]
        self.work = self.predicted - statistics.mean(waits)
        self.cores = min(plan.ranks, os.cpu_count())
        self.cpu, self.wall = [], []
        self.plan, self.session = plan, None

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
        before = time.process_time()
        self.session.run(self.entry.name)
        self.cpu.append((time.process_time() - before) / self.cores)
        self.wall.append(self.session.last_run.total)


def tau(pairs):
    """Kendall's, of two orders of the same things."""
    agree = [(a - c) * (b - d) for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    return sum((x > 0) - (x < 0) for x in agree) / len(agree)


def table(done):
    print("| model | layout | predicted step | without bubble | CPU time | median | fastest by clock | ratio |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case in done:
        times = [case.predicted, case.work, min(case.cpu), statistics.median(case.cpu), min(case.wall)]
        print(f"| {case.model} | {case.layout} | " + " | ".join(f"{1e3 * t:.0f} ms" for t in times)
              + f" | {case.work / min(case.cpu):.2f} |")
    for model, of_model in itertools.groupby(done, lambda case: case.model):
        layouts = list(of_model)
        if len(layouts) > 1:
            print(f"{model}: Kendall's tau over {len(layouts)} layouts "
                  f"{tau([(c.work, min(c.cpu)) for c in layouts]):+.2f} by CPU time, "
                  f"{tau([(c.predicted, min(c.wall)) for c in layouts]):+.2f} by the clock")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", default="cpu-2core")
    parser.add_argument("--rounds", type=int, default=10, help="steps of each case (default: 10)")
    parser.add_argument("--only", nargs="*", metavar="TEXT", help="cases whose \"MODEL, LAYOUT\" has one of these")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for plans and traces")
    parser.add_argument("--simulator", type=pathlib.Path, default=ROOT / "build/release/bin/shard-sim")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.keep = options.keep or pathlib.Path(folder)
        options.keep.mkdir(parents=True, exist_ok=True)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        done = [Case(*case, options) for case in cases(options.only)]
        if not done:
            sys.exit("error: no case has such a name")
        for case in done:
            case.start()
        for _ in range(options.rounds):
            for case in done:
                case.step()
        table(done)


if __name__ == "__main__":
    main()
