# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random sequences of passes over the inputs of all tests: each ends with a module or with
diagnostics, whatever the form of its input. `--sequences=10000 --first-seed=1` runs many."""

import concurrent.futures
import os
import random
import subprocess

from conftest import ROOT, binaries

# In the order of the pipeline, so that a beginning of it reaches every form.
PIPELINE = [
    "weft-inline-calls", "weft-autodiff", "weft-decompose", "weft-assign-stages", "cse", "symbol-dce",
    "weft-split-constants", "weft-propagate", "weft-join-slices", "weft-pad-dimensions",
    "weft-optimize-shardings", "weft-insert-reshards",
    "weft-apply-reduce-dtype", "weft-localize", "weft-form-microbatch-loops", "weft-lower-gemms",
    "weft-accumulate-gemms", "weft-fuse-epilogues", "weft-fill-constants", "weft-fuse-kernels",
    "weft-hoist-releases",
    "weft-start-collectives", "weft-lower-kernels", "weft-find-in-place",
    "weft-batch-launches", "weft-plan-memory",
]
OTHERS = [
    "weft-import-stablehlo", "weft-join-equal-ops", "weft-checkpoint-regions", "weft-checkpoint-regions=ranges=0:2",
    "weft-assign-stages=stages=2", "weft-expand-attention", "weft-print-sharding-rules", "weft-print-ptx",
    "weft-find-in-place=cuda", "weft-lower-gemms=tf32", "weft-propagate=strategy=basic",
    "weft-optimize-shardings=max-table=64", "weft-propagate=conservative", "weft-propagate=allow-uneven=false",
    "weft-start-collectives=overlap-collectives=false", "weft-plan-memory=statistics",
    "weft-graph-pipeline", "weft-propagate-pipeline", "weft-partition-pipeline",
    "weft-schedule-pipeline", "weft-schedule-pipeline=cuda", "weft-pipeline",
    "weft-verify-form=form=graph", "weft-verify-form=form=sharded",
    "weft-verify-form=form=spmd", "weft-verify-form=form=schedule", "canonicalize",
]


def inputs():
    """The modules of the tests, as text and with where they are."""
    for path in sorted((ROOT / "test").glob("*/*.mlir")):
        for index, text in enumerate(path.read_text().split("// -----\n")):
            yield f"{path.relative_to(ROOT)} ({index})", text


def sequence(rng):
    """Any passes, or a beginning of the pipeline with some left out, and others behind it."""
    passes = PIPELINE + OTHERS
    anything = [rng.choice(passes) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        return anything
    beginning = PIPELINE[:rng.randint(1, len(PIPELINE))]
    kept = rng.choice([1.0, 1.0, 0.9])
    return [name for name in beginning if rng.random() < kept] + anything


def crash(modules, seed):
    """What a sequence does beyond ending with success or a diagnostic; empty if nothing."""
    rng = random.Random(seed)
    where, text = rng.choice(modules)
    command = [binaries() / "shard-opt", "-", "-o", os.devnull, "--allow-unregistered-dialect",
               "--mlir-disable-threading", *(f"--{name}" for name in sequence(rng))]
    shown = " ".join(map(str, command[5:]))
    try:
        run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return f"seed {seed}: {where}: {shown}: no end after 120 s"
    if run.returncode == 0 or (run.returncode == 1 and "error:" in run.stderr):
        return ""
    return f"seed {seed}: {where}: {shown}: status {run.returncode}\n{run.stderr[-1500:]}"


def test_no_sequence_of_passes_crashes(request):
    modules = list(inputs())
    first = request.config.getoption("--first-seed")
    seeds = range(first, first + request.config.getoption("--sequences"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        crashes = [text for text in pool.map(lambda seed: crash(modules, seed), seeds) if text]
    assert not crashes, f"{len(crashes)} of {len(seeds)} sequences:\n" + "\n".join(crashes[:20])
