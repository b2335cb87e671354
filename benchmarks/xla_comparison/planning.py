# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planning time of a GPT-2 step: Weft's from StableHLO text to the schedule, with collectives,
kernels and memory but without machine code, against the compilation by XLA. Each is in a
process of its own, alternating; a compilation that takes too long is stopped and shown as such.
"""

import functools
import os
import statistics
import subprocess
import sys
import time

import weft

from .fixtures import make_step


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
    command = [sys.executable, sys.argv[0], "--time", planner, "--layers", str(layers)]
    # XLA's own defaults, but for the number of devices.
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit,
                             env=environment)
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
