# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts the step times of published training runs, through the compiler and the simulator.

    python3 benchmarks/predict.py ROWS.csv --cluster=NAME|FILE [--set NAME=VALUE ...] [--rows 0:20] [--jobs 2]

A row is a run; columns have the names of the files in benchmarks/perf_data, or those of weft.models. What no
column says is assumed as the table ASSUMED has it, or given by --set; where several values are plausible the
prediction is the range over all of them. Unknown columns are ignored. Errors are those of the geometric mean
of a range, relative to what was measured. Skill is 1 - error / error of the best constant utilisation of the
same rows, that is of the model FLOPs over devices and time: 0 for a model that knows nothing else, 1 for a
perfect one.

Needs the package weft on PYTHONPATH.
"""

import argparse
import concurrent.futures
import csv
import itertools
import math
import pathlib
import sys
import warnings

import weft
from weft.simulation import simulate

COLUMNS = {
    "layers": ["layers", "# layers"], "hidden": ["hidden", "hidden size"], "heads": ["heads", "attention heads"],
    "kv_heads": ["kv_heads"], "ffn": ["ffn", "ffn_hidden"], "vocabulary": ["vocabulary", "vocab"],
    "sequence": ["sequence", "seq", "sequence length"], "tensor": ["tensor", "tp", "tensor parallelism"],
    "pipeline": ["pipeline", "pp", "pipeline parallelism"], "chunks": ["chunks", "vp"], "context": ["context", "cp"],
    "data": ["data", "dp", "data parallelism"], "micro_batch": ["micro_batch", "mbs", "micro batch", "local_batch"],
    "global_batch": ["global_batch", "gbs", "global batch"], "devices": ["devices", "gpus", "# gpus", "gpus_a100_80gb"],
    "recomputation": ["recomputation", "recompute", "act_ckpt"], "sequence_parallel": ["sequence_parallel", "sp"],
    "sharded": ["sharded", "sharding", "zero_stage", "fsdp"], "schedule": ["schedule"],
}
# Measured seconds: the column, its unit, and what it says of the run.
MEASURED = [
    ("step_time_s", 1, {}), ("step_time_s_derived", 1, {}), ("sec_per_iter", 1, {}), ("iteration time (ms)", 1e-3, {}),
    ("iter_s_full_recompute", 1, {"recomputation": "full", "sequence_parallel": False}),
    ("iter_s_seqpar_selective", 1, {"recomputation": "selective", "sequence_parallel": True}),
]
ASSUMED = {"vocabulary": [51200], "sequence": [2048], "tensor": [1], "pipeline": [1], "chunks": [1], "context": [1],
           "micro_batch": [1], "recomputation": ["none", "full"], "sequence_parallel": [False, True], "sharded": ["none"]}
WORDS = {"no": "none", "false": "none", "0": "none", "": "none", "true": "full", "yes": "full", "selective-op": "selective"}
SHARDED = {"1": "zero1", "3": "fsdp", "full_shard": "fsdp"}
LLAMA3 = {"vocabulary": 128256, "kv_heads": 8}
MODELS = {
    "llama3.1-8b": LLAMA3 | {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336},
    "llama3.1-70b": LLAMA3 | {"layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672},
    "llama3.1-405b": LLAMA3 | {"layers": 126, "hidden": 16384, "heads": 128, "ffn": 53248},
}


def settings_of(row, given):
    """What a row says of the run, in the words of weft.models. ValueError names a column that is no number."""
    known = {}
    for name, columns in COLUMNS.items():
        text = next((row[c] for c in columns if row.get(c, "").strip()), None)
        if text is None:
            continue
        if name == "recomputation":
            known[name] = WORDS.get(text.lower(), text.lower())
        elif name == "sequence_parallel":
            known[name] = text.lower() in ("1", "true", "yes")
        elif name == "sharded":
            known[name] = SHARDED.get(text.lower(), "fsdp" if text.isdecimal() and int(text) > 1 else
                                      text.lower() if text.lower() in ("zero1", "fsdp") else "none")
        elif name == "schedule":
            known[name] = text
        elif not text.rstrip("?").isdecimal():
            raise ValueError(f"{name} must be a whole number, got {text!r}")
        else:
            known[name] = int(text.rstrip("?"))
    return MODELS.get(row.get("model", "").lower(), {}) | known | given


def cases_of(settings):
    """All settings that are plausible, and what was assumed for them."""
    open_ = {name: values for name, values in ASSUMED.items() if name not in settings}
    if settings.get("tensor", 1) == 1:
        open_.pop("sequence_parallel", None)
    for values in itertools.product(*open_.values()):
        case = settings | dict(zip(open_, values))
        devices = case.pop("devices", None)
        shared = case["tensor"] * case["pipeline"] * case["context"]
        case.setdefault("data", devices // shared if devices else 1)
        if devices and case["data"] * shared != devices:
            raise ValueError(f"data x tensor x pipeline x context is {case['data'] * shared}, not the {devices} devices")
        if case["pipeline"] == 1:
            case["chunks"] = 1
        yield case, {name: value for name, value in zip(open_, values) if len(open_[name]) > 1 or name == "vocabulary"}


def predict(family, settings, cluster):
    """(seconds, GiB of the arena, model FLOPs of a device) of a run. ValueError says why there are none."""
    step = getattr(weft.models, family)(**settings)
    warnings.simplefilter("ignore", weft.CompilerWarning)  # of what a plan without ZeRO replicates
    entry = simulate(step.lower().compile(None, cluster=cluster), cluster)
    tokens = step.parallelism.global_batch * step.sizes.sequence
    flops = tokens * (6 * step.parameters + 12 * step.sizes.layers * step.sizes.hidden * step.sizes.sequence)
    return entry["step_seconds"], entry["memory"]["arena_bytes"] / 2**30, flops / step.parallelism.devices


def best_constant(work, seconds):
    """The mean error of the constant rate that has the least."""
    rates = [w / s for w, s in zip(work, seconds)]
    return min(sum(abs(w / rate / s - 1) for w, s in zip(work, seconds)) / len(work) for rate in rates)


def run(row, options):
    """For each measured time of a row: its name, what was measured, and predictions or what is wrong."""
    found = []
    for column, unit, says in MEASURED:
        if not row.get(column, "").strip():
            continue
        measured = float(row[column]) * unit
        try:
            settings = settings_of(row, says | options.set)
            family = options.family or ("llama" if "llama" in row.get("model", "").lower() else "gpt")
            cases = [(predict(family, case, options.cluster), assumed)
                     for case, assumed in cases_of(settings)]
            found.append((column, measured, cases, None))
        except (ValueError, weft.CompileError) as error:
            found.append((column, measured, [], str(error).splitlines()[0]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", type=pathlib.Path)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--family", choices=["gpt", "llama"], help="by default as the column `model` says")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="for all rows")
    parser.add_argument("--rows", default=":", metavar="FIRST:END")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    wrong = [each for each in args.set if each.partition("=")[0] not in COLUMNS or "=" not in each]
    if wrong:
        parser.error(f"--set: want NAME=VALUE with one of {', '.join(COLUMNS)}, got {', '.join(wrong)}")
    args.set = settings_of(dict(each.split("=", 1) for each in args.set), {})
    first, _, end = args.rows.partition(":")
    if not args.csv.is_file():
        parser.error(f"there is no file {args.csv}")
    with args.csv.open() as file:
        rows = [{key.strip().lower(): value or "" for key, value in row.items() if key} for row in csv.DictReader(file)]
    chosen = list(enumerate(rows))[int(first or 0):int(end) if end else None]
    errors, work, seconds = {}, [], []
    print(f"{'row':>4} {'measured s':>11} {'predicted s':>19} {'error':>8} {'arena GiB':>10}  assumed")
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for (number, _), results in zip(chosen, pool.map(run, (row for _, row in chosen), itertools.repeat(args))):
            for column, measured, cases, problem in results:
                if problem:
                    print(f"{number:4} {measured:11.3f} left out: {problem}", flush=True)
                    continue
                times = [case[0][0] for case in cases]
                middle = math.sqrt(min(times) * max(times))
                text = f"{middle:.3f}" if len(times) == 1 else f"{min(times):.3f} to {max(times):.3f}"
                open_ = {name: {str(case[1][name]) for case in cases if name in case[1]} for name in cases[0][1]}
                assumed = ", ".join(f"{name} {' or '.join(sorted(values))}" for name, values in open_.items())
                errors[number, column] = middle / measured - 1
                work.append(cases[0][0][2])
                seconds.append(measured)
                print(f"{number:4} {measured:11.3f} {text:>19} {errors[number, column]:8.1%} {cases[-1][0][1]:10.1f}  {assumed}",
                      flush=True)
    if not errors:
        sys.exit("error: no row could be predicted")
    mean = sum(map(abs, errors.values())) / len(errors)
    (row, column), worst = max(errors.items(), key=lambda item: abs(item[1]))
    constant = best_constant(work, seconds)
    print(f"{len(errors)} runs: mean error {mean:.1%}, signed {sum(errors.values()) / len(errors):+.1%}, "
          f"worst {worst:+.1%} (row {row}, {column}), best constant {constant:.1%}"
          + (f", skill {1 - mean / constant:+.2f}" if constant > 0 else ""))


if __name__ == "__main__":
    main()
