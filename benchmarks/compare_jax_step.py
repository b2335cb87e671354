# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times one training step of a GPT-2 in Weft against jax.jit of the same step on this CPU.

    build/venv-jax/bin/python benchmarks/compare_jax_step.py
    build/venv-jax/bin/python benchmarks/compare_jax_step.py --ranks 2
    build/venv-jax/bin/python benchmarks/compare_jax_step.py --layers 2 --width 128 --heads 4 \\
        --vocab 512 --context 64                                                  (seconds)

The defaults are GPT-2 small with 256 tokens a sequence and a batch of 4, fp32, AdamW with
clipping by the global norm. Both start from the same state and see the same batches, in one
process, alternating step by step, so that what else the machine does falls on both; figures
are medians. "CPU ms" is processor time of all threads, which says more on a busy machine: a
thread that waits for one that the system holds up spends none. JAX has `--ranks` forced host
devices and the batch over them, Weft as many ranks in threads; one rank has all cores.

`--model traced` is the step written in weft.numpy, `--model imported` the JAX function itself
through weft.from_jax. "temp bytes" are, for a device, those of XLA's memory_analysis() and
those of Weft's arena without the state and the batch, which both keep elsewhere.

`--trace FILE.json` writes the last step of Weft for Perfetto, `--profile` sums it up.
Timings need an optimised build (preset release) on PYTHONPATH, and JAX.
"""

import argparse
import collections
import dataclasses
import functools
import gc
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test/Import"), str(ROOT / "python-bindings/test")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--vocab", type=int, default=50304)
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=1, help="devices of a data mesh")
    parser.add_argument("--model", choices=["traced", "imported"], default="traced")
    parser.add_argument("--steps", type=int, default=7, help="timed steps of each")
    parser.add_argument("--warmup", type=int, default=2, help="steps of each before those")
    parser.add_argument("--threads", type=int, default=None,
                        help="threads of a rank (default: the cores, divided among the ranks)")
    parser.add_argument("--trace", type=pathlib.Path, help="file for a timeline of Weft's steps")
    parser.add_argument("--profile", action="store_true", help="where Weft's step goes")
    parser.add_argument("--only", choices=["jax", "weft"], help="run one of the two")
    return parser.parse_args()


ARGUMENTS = parse_arguments()
if ARGUMENTS.ranks > 1:
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "")
        + f" --xla_force_host_platform_device_count={ARGUMENTS.ranks}")

import jax  # noqa: E402
import numpy as np  # noqa: E402

import jax_models  # noqa: E402
import weft  # noqa: E402
import weft_models  # noqa: E402


@dataclasses.dataclass
class Step:
    """The step of one system: a call takes the next batch and returns the loss."""

    call: collections.abc.Callable
    temp_bytes: int
    compile_seconds: float
    seconds: list = dataclasses.field(default_factory=list)
    processor_seconds: list = dataclasses.field(default_factory=list)
    losses: list = dataclasses.field(default_factory=list)

    def run(self, batch, timed):
        start, processor_start = time.perf_counter(), time.process_time()
        loss = self.call(batch)
        if timed:
            self.seconds.append(time.perf_counter() - start)
            self.processor_seconds.append(time.process_time() - processor_start)
        self.losses.append(loss)


class Problem:
    """The model, its first state and the batches."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.config = jax_models.GPT2Config(
            vocab=arguments.vocab, context=arguments.context, width=arguments.width,
            heads=arguments.heads, layers=arguments.layers)
        mesh = jax.make_mesh((arguments.ranks,), ("data",),
                             axis_types=(jax.sharding.AxisType.Auto,))
        self.layout = jax_models.Layout(mesh, "DP")
        self.optimizer = jax_models.adamw()
        count = arguments.warmup + arguments.steps
        self.batches = [
            jax.tree.map(np.asarray, jax_models.lm_batch(
                jax.random.key(i), self.config, arguments.batch)) for i in range(count)]

    def jax_step(self):
        loss = functools.partial(jax_models.gpt2_loss, config=self.config, layout=self.layout)
        return jax_models.train_step(loss, self.optimizer)

    def first_state(self):
        def make(key):
            return jax_models.init_state(jax_models.gpt2_init(key, self.config), self.optimizer)
        return jax.jit(make)(jax.random.key(0))

    def jitted(self):
        state = jax.eval_shape(self.first_state)
        return jax_models.jit_step(self.jax_step(), self.layout, state, self.batches[0]), state


def seconds_of(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def make_jax(problem):
    step, shapes = problem.jitted()
    compiled, seconds = seconds_of(step.lower(shapes, problem.batches[0]).compile)
    placed = jax_models.place(problem.layout, problem.first_state(), problem.batches[0])
    held = {"state": placed[0]}
    shardings = problem.layout.shardings(problem.layout.batch_specs(problem.batches[0]))

    def call(batch):
        held["state"], loss = compiled(held["state"], jax.device_put(batch, shardings))
        loss.block_until_ready()
        jax.block_until_ready(held["state"])
        return float(loss)

    return Step(call, compiled.memory_analysis().temp_size_in_bytes, seconds)


def lower_weft(problem):
    arguments = problem.arguments
    if arguments.model == "imported":
        step, shapes = problem.jitted()
        return weft.from_jax(step, shapes, problem.batches[0])
    loss = functools.partial(weft_models.gpt2_loss, config=problem.config)
    step = weft.jit(weft_models.train_step(loss, weft_models.adamw()),
                    mesh=weft.Mesh((arguments.ranks,), ("data",)),
                    in_shardings=(weft.P(), weft.P("data")), donate_argnums=0)
    return step.lower(jax.eval_shape(problem.first_state), problem.batches[0])


def arena_without_arguments(compiled):
    """The bytes of a rank's arena beyond the states and the inputs."""
    kept = sum(int(np.prod(info.local_shape)) * info.dtype.itemsize
               for info in compiled.entry.inputs)
    return compiled.memory().arena - kept


def make_weft(problem):
    arguments = problem.arguments
    lowered = lower_weft(problem)
    compiled, seconds = seconds_of(lowered.compile)
    threads = arguments.threads or max(1, os.cpu_count() // arguments.ranks)
    traced = arguments.warmup + arguments.steps if arguments.trace or arguments.profile else 0
    session = compiled.session(threads=threads, trace_runs=traced)
    entry = compiled.entry.name
    state = problem.first_state()
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        session.set_input(entry, "state" + jax.tree_util.keystr(path), np.asarray(leaf))
    del state
    loss_name = compiled.entry.outputs[-1].name

    def call(batch):
        for name, value in batch.items():
            session.set_input(entry, f"batch['{name}']", value)
        session.run(entry)
        return float(session.output(loss_name))

    step = Step(call, arena_without_arguments(compiled), seconds)
    step.session = session
    return step


def print_profile(path, steps):
    """Time of the compute track of rank 0 by what it did, a step."""
    with open(path) as file:
        events = [event for event in json.load(file)["traceEvents"]
                  if event["ph"] == "X" and event["pid"] == 0 and event["tid"] == 0]
    events = events[len(events) // steps:]  # without the first step, which touches all memory
    steps -= 1
    total = collections.defaultdict(lambda: [0, 0.0, 0, 0])
    for event in events:
        entry = total[event["name"]]
        entry[0] += 1
        entry[1] += event["dur"] / 1e3
        entry[2] += event["args"].get("flops", 0)
        entry[3] += event["args"].get("bytes", 0)
    whole = sum(entry[1] for entry in total.values())
    print(f"\n{'ms a step':>10} {'share':>6} {'times':>6} {'GFLOP/s':>8} {'GB/s':>6}")
    for name, (count, ms, flops, size) in sorted(total.items(), key=lambda item: -item[1][1]):
        print(f"{ms / steps:10.2f} {ms / whole:6.1%} {count // steps:6} {flops / ms / 1e6:8.1f} "
              f"{size / ms / 1e6:6.1f} {name[:120]}")


def main():
    problem = Problem(ARGUMENTS)
    systems = {}
    if ARGUMENTS.only != "weft":
        systems["JAX"] = make_jax(problem)
    if ARGUMENTS.only != "jax":
        systems["Weft"] = make_weft(problem)
    gc.collect()
    load_before = os.getloadavg()[0]
    for number, batch in enumerate(problem.batches):
        for step in systems.values():
            step.run(batch, timed=number >= ARGUMENTS.warmup)

    print(f"GPT-2, {ARGUMENTS.layers} layers, width {ARGUMENTS.width}, vocabulary "
          f"{ARGUMENTS.vocab}, {ARGUMENTS.batch} x {ARGUMENTS.context} tokens, fp32, "
          f"{ARGUMENTS.ranks} rank(s), {ARGUMENTS.model}; median of {ARGUMENTS.steps} steps")
    print(f"load of the machine {load_before:.1f} before, {os.getloadavg()[0]:.1f} after, "
          f"{os.cpu_count()} cores\n")
    print(f"{'':6} {'step ms':>9} {'fastest':>9} {'CPU ms':>9} {'temp MB':>9} {'compile s':>10} "
          f"{'last loss':>10}")
    for name, step in systems.items():
        print(f"{name:6} {1e3 * statistics.median(step.seconds):9.1f} "
              f"{1e3 * min(step.seconds):9.1f} "
              f"{1e3 * statistics.median(step.processor_seconds):9.1f} {step.temp_bytes / 1e6:9.1f} "
              f"{step.compile_seconds:10.1f} {step.losses[-1]:10.6f}")
    if len(systems) == 2:
        ours, theirs = systems["Weft"], systems["JAX"]
        ratio = statistics.median(a / b for a, b in zip(ours.seconds, theirs.seconds))
        error = max(abs(a - b) / abs(b) for a, b in zip(ours.losses, theirs.losses))
        processor = statistics.median(
            a / b for a, b in zip(ours.processor_seconds, theirs.processor_seconds))
        print(f"{'ratio':6} {ratio:9.3f} {min(ours.seconds) / min(theirs.seconds):9.3f} "
              f"{processor:9.3f} "
              f"{ours.temp_bytes / theirs.temp_bytes:9.3f}")
        print(f"\nlosses differ by at most {error:.1e}, relatively")

    if ARGUMENTS.trace or ARGUMENTS.profile:
        with tempfile.TemporaryDirectory() as folder:
            path = ARGUMENTS.trace or pathlib.Path(folder) / "trace.json"
            systems["Weft"].session.write_trace(path)
            if ARGUMENTS.profile:
                print_profile(path, ARGUMENTS.warmup + ARGUMENTS.steps)


if __name__ == "__main__":
    main()
