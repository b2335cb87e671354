# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares Weft with XLA on the same JAX training steps.

    build/venv-jax/bin/python benchmarks/compare_xla.py               bytes on the wire
    build/venv-jax/bin/python benchmarks/compare_xla.py --scan        the same, layers in a
                                                                      lax.scan with jax.checkpoint
    build/venv-jax/bin/python benchmarks/compare_xla.py --planning    planning time

Both compile the same lowered step for 8 devices, as a mesh of 4 x 2. XLA's CPU
backend has no reduce-scatter: where the result of an all-reduce is only sliced
afterwards, the column "credited" counts it as the reduce-scatter that other
backends make of it. Planning time is Weft's from StableHLO text to the schedule,
with collectives, kernels and memory but without machine code, against the
compilation by XLA, each in a process of its own, alternating; medians. A
compilation that takes more than --limit seconds is stopped and shown as such.

Needs the package weft on PYTHONPATH and JAX.
"""

import argparse
import functools
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test/Import"), str(ROOT / "benchmarks")]

import jax  # noqa: E402

import hlo_collectives  # noqa: E402
import jax_models as models  # noqa: E402
import weft  # noqa: E402

MESH_SIZES, MESH_AXES = (4, 2), ("data", "model")


def make_step(model, style, layers, batch_size=16, scan=False):
    """(the jitted step, shapes of its arguments) of a small model."""
    mesh = jax.make_mesh(MESH_SIZES, MESH_AXES,
                         axis_types=(jax.sharding.AxisType.Auto,) * 2)
    layout = models.Layout(mesh, style)
    if model == "mlp":
        config = models.MLPConfig(inputs=128, width=256, classes=64)
        init, loss, batch = models.mlp_init, models.mlp_loss, models.mlp_batch
    elif model == "gpt2":
        config = models.GPT2Config(vocab=512, context=64, width=128, heads=4, layers=layers)
        init, loss, batch = models.gpt2_init, models.gpt2_loss, models.lm_batch
    else:
        config = models.LlamaConfig(vocab=512, context=64, width=128, hidden=256, heads=4,
                                    groups=2, layers=layers)
        init, loss, batch = models.llama_init, models.llama_loss, models.lm_batch
    if scan:
        init, loss = (functools.partial(part, scan=True) for part in (init, loss))
    optimizer = models.adamw()

    def loss_of(params, data):
        return loss(params, data, config=config, layout=layout)

    step = models.train_step(loss_of, optimizer)
    state = jax.eval_shape(
        lambda key: models.init_state(init(key, config), optimizer), jax.random.key(0))
    data = jax.eval_shape(lambda key: batch(key, config, batch_size), jax.random.key(0))
    return models.jit_step(step, layout, state, data), (state, data)


def xla_bytes(lowered):
    """(bytes as compiled, bytes with credit for reduce-scatters, by kind)."""
    collectives = hlo_collectives.read_collectives(lowered.compile().as_text())
    by_kind = {}
    for collective in collectives:
        by_kind[collective.kind] = (by_kind.get(collective.kind, 0)
                                    + collective.wire_bytes * collective.trips)
    total = sum(by_kind.values())
    credit = sum(c.wire_bytes * c.trips / 2 for c in collectives if c.only_sliced)
    return total, total - credit, by_kind


def weft_bytes(step, arguments):
    by_kind = {}
    for record in weft.from_jax(step, *arguments).compile(target=None).collectives():
        kind = record.kind.replace("_", "-")
        by_kind[kind] = by_kind.get(kind, 0) + record.bytes * record.count
    return sum(by_kind.values()), by_kind


def kib(value):
    return f"{value / 1024:,.1f}"


def kinds_text(by_kind):
    return ", ".join(f"{kind} {kib(size)}" for kind, size in sorted(by_kind.items()))


def compare_bytes(names, styles, layers, scan):
    print("KiB that a rank sends in one training step, mesh 4 x 2\n")
    print(f"{'model':6} {'style':8} {'XLA':>10} {'credited':>10} {'Weft':>10} {'ratio':>6}")
    worse = 0
    details = []
    for name in names:
        for style in styles:
            step, arguments = make_step(name, style, layers, scan=scan)
            raw, credited, xla_kinds = xla_bytes(step.lower(*arguments))
            ours, our_kinds = weft_bytes(step, arguments)
            worse += ours > credited
            print(f"{name:6} {style:8} {kib(raw):>10} {kib(credited):>10} {kib(ours):>10} "
                  f"{ours / credited if credited else 1:>6.2f}", flush=True)
            details.append(f"{name} {style}\n  XLA:  {kinds_text(xla_kinds)}"
                           f"\n  Weft: {kinds_text(our_kinds)}")
    print("\nBy kind, KiB")
    print("\n".join(details))
    print(f"\n{worse} of {len(details)} steps where Weft sends more than XLA's credited bytes")
    return worse


def seconds_to_plan(planner, layers):
    """Prints how long `planner` takes for the step; lowering and importing are not counted."""
    step, arguments = make_step("gpt2", "DP+TP", layers)
    if planner == "xla":
        plan = step.lower(*arguments).compile
    else:
        imported = weft.from_jax(step, *arguments)
        plan = functools.partial(imported.compile, target=None)
    start = time.perf_counter()
    plan()
    print(time.perf_counter() - start)


def measured(planner, layers, limit):
    """The seconds of `planner` in a process of its own, or None after `limit` seconds."""
    command = [sys.executable, __file__, "--time", planner, "--layers", str(layers)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode != 0:
        sys.exit(run.stderr[-2000:])
    return float(run.stdout.split()[-1])


def compare_planning(layer_counts, repeats, limit):
    print("Seconds to plan a GPT-2 training step, DP+TP, mesh 4 x 2\n")
    print(f"{'layers':>6} {'XLA':>8} {'Weft':>8} {'ratio':>7}")
    for layers in layer_counts:
        pairs = []
        for _ in range(repeats):
            xla = measured("xla", layers, limit)
            pairs.append((xla, measured("weft", layers, limit)))
            if None in pairs[-1]:
                break
        if any(weft is None for _, weft in pairs):
            sys.exit(f"error: Weft took more than {limit} s; give a larger --limit")
        weft_median = statistics.median(weft for _, weft in pairs)
        if pairs[-1][0] is None:
            print(f"{layers:6} {f'>{limit}':>8} {weft_median:8.2f} "
                  f"{f'<{weft_median / limit:.4f}':>7}", flush=True)
            continue
        ratio = statistics.median(weft / xla for xla, weft in pairs)
        print(f"{layers:6} {statistics.median(xla for xla, _ in pairs):8.2f} "
              f"{weft_median:8.2f} {ratio:7.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["mlp", "gpt2", "llama"],
                        choices=["mlp", "gpt2", "llama"])
    parser.add_argument("--styles", nargs="+", default=list(models.STYLES))
    parser.add_argument("--layers", type=int, nargs="+", default=None)
    parser.add_argument("--scan", action="store_true",
                        help="layers in a lax.scan, each under jax.checkpoint")
    parser.add_argument("--planning", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1200, help="seconds a compilation may take")
    parser.add_argument("--time", choices=["xla", "weft"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.time:
        seconds_to_plan(arguments.time, arguments.layers[0])
        return 0
    if arguments.planning:
        compare_planning(arguments.layers or [2, 12, 48], arguments.repeats, arguments.limit)
        return 0
    layers = arguments.layers[0] if arguments.layers else 2
    models_of = arguments.models
    if arguments.scan:
        models_of = [name for name in models_of if name != "mlp"]  # it has no layers to scan
    return compare_bytes(models_of, arguments.styles, layers, arguments.scan) > 0


if __name__ == "__main__":
    sys.exit(main())
