# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts the step times and the memory of published training runs, through the compiler and the simulator.

    python3 benchmarks/predict.py ROWS.csv [--cluster=NAME|FILE] [--software=NAME|FILE|weft] [--set NAME=VALUE ...]
                                           [--rows 0:20] [--only=memory] [--terms] [--jobs 2] [--plans FOLDER] [--whole]

A row is a run. Columns have the names of the files in benchmarks/perf_data, of weft.models, or others that are usual
(prediction/columns.py); case, units in brackets and signs do not count, and unknown columns are ignored. Where a table is
from (prediction/sources.py) says which cluster and which software profile its rows ran on, and what no column
says; --cluster takes another one for the rows that ran on its kind of device, --software another profile. Where nothing
says the software, a usual one is assumed and printed; `weft` is the plan as it is. What nothing says is assumed as the
table ASSUMED of prediction/rows.py has it, or given by --set; where several values are plausible the
prediction is the range over all of them that fit into memory and fill the pipeline, if any does.

A row that measured no time of a step is compared by its tokens or sequences a second, FLOPs a second or MFU, in this
order; one that measured nothing is predicted. Errors are those of the geometric mean of a range, relative to what was
measured. Skill is 1 - error / error of the best constant utilisation of the same rows, that is of the model FLOPs over
devices and time: 0 for a model that knows nothing else, 1 for a perfect one.

Pipelines whose stages have many layers are compiled with two numbers of fewer, and each further layer takes what they
differ by: the same time within 0.3 %. The summary says for how many predictions; `--whole` compiles all layers.

Memory is that of the software, counted term by term (prediction/memory.py; --terms prints them), or of Weft's plan for
other profiles. It is compared where a column measures it, and where a column "oom" says that a run failed.

Needs the package weft on PYTHONPATH, and shard-sim of the same build. That of the preset release takes a third of the time.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import dataclasses
import functools
import math
import os
import pathlib
import re
import sys

from prediction import accuracy, rows, sources
from prediction.columns import SETTINGS, value_of

try:
    import weft
    from prediction.steps import Machine, Predicted, Steps
except ImportError as error:  # --help does without
    MISSING, SIMULATOR = error, None
else:
    # The package may be links to the source tree, so these are not followed.
    MISSING, SIMULATOR = None, pathlib.Path(weft.__file__).absolute().parents[2] / "bin" / "shard-sim"

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Result:
    """Of one measured value of a row, or of a row that measured nothing (None): all predictions that are plausible with
    what was assumed, or what is wrong. `counts` says which part of the memory was measured (Predicted.gib), None for a time."""

    number: int
    column: str
    measured: float | None
    cases: list[tuple[Predicted, dict]]
    counts: str | None = None
    ran_out: bool | None = None
    problem: str | None = None

    @property
    def values(self) -> list[float]:
        """Seconds, or GiB."""
        return [case.gib(self.counts) if self.counts else case.seconds for case, _ in self.cases]

    @property
    def middle(self) -> float:
        return math.sqrt(min(self.values) * max(self.values))

    @property
    def fits(self) -> bool:
        """In any of the cases."""
        return any(case.fits for case, _ in self.cases)

    @property
    def assumed(self) -> str:
        open_ = {name: {str(said[name]) for _, said in self.cases if name in said} for name in self.cases[0][1]}
        return ", ".join(f"{name} {' or '.join(sorted(values))}" for name, values in open_.items())

    def as_run(self) -> accuracy.Run:
        return accuracy.Run(f"row {self.number}, {self.column}", self.measured, self.middle, self.cases[0][0].flops)


def cluster_of(row, source, options) -> str:
    cluster = options.cluster
    if not cluster or sources.contradicts(row, cluster):
        cluster = sources.cluster_of(row, source)
    if not cluster:
        raise ValueError(f"no cluster is known for {sources.device_of(row) or 'this table'}: name one by --cluster")
    return cluster


def software_of(row, source, options) -> str | None:
    software = options.software or (sources.software_of(row, source) if source else None)
    return None if software == "weft" else software


def run_of(row, options, says):
    """Settings, Machine, source, and what was assumed of the machine."""
    source, given = sources.source_of(row), says | options.set
    cluster, assumed = cluster_of(row, source, options), {}
    settings = rows.settings_of(row, source, given)
    if not source and not options.software and (source := sources.usual_source(cluster, settings)):
        settings, assumed = rows.settings_of(row, source, given), {"software": source.software}
    software = software_of(row, source, options)
    return settings, Machine(cluster, software, sources.options_of(software)), source, assumed


def plausible_cases(steps, family, settings, machine):
    """(settings, what they assume) of all that is possible; if any fits into memory, of those, of these those that
    have a micro-batch for each stage of the pipeline, if any, and of these those that share a model among the fewest
    ranks. Memory is looked at where it is counted without a plan."""
    possible, problems = [], []
    for case, assumed in rows.cases_of(settings, steps.device(machine.cluster).of_node):
        try:
            step = getattr(weft.models, family)(**case)
            needed = steps.framework_memory(step, machine)
            fits = not needed or needed.device <= steps.device(machine.cluster).memory
            ranks = step.parallelism
            fills = ranks.microbatches >= ranks.pipeline
            possible.append((case, assumed, (fits, fills, -ranks.tensor * ranks.pipeline)))
        except ValueError as error:
            problems.append(error)
    if not possible:
        raise problems[0]
    best = max(plausible for _, _, plausible in possible)
    return [(case, assumed) for case, assumed, plausible in possible if plausible == best]


def predict_cases(steps, family, settings, machine, memory_only):
    """(prediction, what it assumes) of all that is plausible and can be compiled."""
    found, problems = [], []
    for case, assumed in plausible_cases(steps, family, settings, machine):
        try:
            found.append((steps.predict(family, case, machine, memory_only), assumed))
        except ValueError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    return found


def values_of(row, only):
    """(column, value, what is counted of memory, what it says of the run) of all that the row measured; a row without a
    time of a step has one with its rate, or with nothing."""
    times = [(column, seconds, None, says) for column, seconds, says in rows.measured_of(row)] or [("", None, None, {})]
    memory = list(rows.memory_of(row))
    return {"time": times, "memory": memory or [("", None, "device", {})]}.get(only, [*times, *memory])


def predict_row(numbered, options):
    """A Result for each value that the row measured."""
    number, row = numbered
    results = []
    steps = Steps(options.simulator, options.plans, options.whole)
    family, ran_out = options.family or rows.family_of(row), rows.ran_out_of_memory(row)
    for column, measured, counts, says in values_of(row, options.only):
        try:
            if problem := rows.problem_of(row):
                raise ValueError(problem)
            if measured is not None and math.isnan(measured):
                raise ValueError(f"{column} must be a positive number, got {row[column]!r}")
            settings, machine, source, assumed = run_of(row, options, says)
            cases = [(case, said | assumed) for case, said in predict_cases(steps, family, settings, machine, bool(counts))]
            if measured is None and not counts and (rate := rows.rate_of(row)):
                column, kind, value = rate
                measured = cases[0][0].seconds_of(kind, value, bool(source and source.counts == "hardware"))
            results.append(Result(number, column, measured, cases, counts, ran_out))
        except (ValueError, weft.CompileError) as error:
            results.append(Result(number, column, measured, [], counts, ran_out, str(error).splitlines()[0]))
    return results


def print_result(result: Result):
    unit = "GiB" if result.counts else "s"
    measured = f"{result.number:4} {'-' if result.measured is None else format(result.measured, '.3f'):>9} {unit:3}"
    if result.problem:
        print(f"{measured} left out: {result.problem}", flush=True)
        return
    low, high = min(result.values), max(result.values)
    text = f"{low:.3f}" if len(result.values) == 1 else f"{low:.3f} to {high:.3f}"
    error = "" if result.measured is None else f"{result.middle / result.measured - 1:.1%}"
    case = result.cases[-1][0]
    mfu = f"{100 * case.flops / case.seconds / case.device.flops:.1f}" if case.seconds else ""
    verdict = "fits" if result.fits else f"exceeds {case.device.usable / 2**30:.1f}"
    print(f"{measured} {text:>19} {error:>8} {mfu:>5} {case.gib():10.1f}  {verdict:<12}  {result.assumed}".rstrip(), flush=True)


def print_terms(result: Result):
    """GiB of the rank that has the most, of the last case."""
    case = result.cases[-1][0]
    terms = case.framework.terms if case.framework else {k: v for k, v in case.memory.items() if k != "arena"}
    said = ", ".join(f"{name} {size / 2**30:.2f}" for name, size in terms.items() if size >= 2**20)
    print(f"{'':4} GiB: {said}", flush=True)


def results_of(numbered, options):
    predict = functools.partial(predict_row, options=options)
    if options.jobs == 1:
        yield from (result for each in numbered for result in predict(each))
        return
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for results in pool.map(predict, numbered):
            yield from results


def read_rows(path):
    """Numbered, with the names of columns in lower case. Fields are separated by what the header has most of; lines in
    front of it that have no such, and lines without a field that says anything, are skipped."""
    data = path.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = data.decode(encoding, errors="replace").splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if re.search("[,;\t|]", line)), 0)
    delimiter = max(",;\t|", key=lines[start].count) if lines else ","
    rows_ = ({key.strip().lower(): value or "" for key, value in row.items() if key and key.strip()}
             for row in csv.DictReader(lines[start:], delimiter=delimiter))
    return list(enumerate(row for row in rows_ if any(text.strip(" -:") for text in row.values())))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", type=pathlib.Path)
    parser.add_argument("--cluster", help="by default that of the table's source and of the row's device")
    parser.add_argument("--software", help="a profile, or weft for none; by default that of the table's source")
    parser.add_argument("--family", choices=["gpt", "llama"], help="by default as the column `model` says")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="for all rows")
    parser.add_argument("--rows", default=":", metavar="FIRST:END")
    parser.add_argument("--only", choices=["time", "memory"], help="what is predicted; memory needs no plan where the "
                                                                   "software's is known")
    parser.add_argument("--terms", action="store_true", help="what the memory of each row is made of")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rows at a time; by default as many as cores")
    parser.add_argument("--whole", action="store_true", help="compile all layers of every step")
    parser.add_argument("--plans", type=pathlib.Path, help="a folder in which plans are kept for the next time, "
                                                           "until the compiler changes")
    parser.add_argument("--simulator", type=pathlib.Path, default=SIMULATOR, help="by default that of the build with weft")
    options = parser.parse_args()
    if MISSING:
        parser.error(f"{MISSING}; the package is in the folder python of a build: PYTHONPATH=build/release/python")
    wrong = [each for each in options.set if each.partition("=")[0] not in SETTINGS or "=" not in each]
    if wrong:
        parser.error(f"--set: want NAME=VALUE with one of {', '.join(SETTINGS)}, got {', '.join(wrong)}")
    try:
        options.set = {name: value_of(name, value) for name, value in (each.split("=", 1) for each in options.set)}
    except ValueError as error:
        parser.error(f"--set: {error}")
    if not re.fullmatch(r"\d*(:\d*)?", options.rows):
        parser.error(f"--rows: want FIRST:END, got {options.rows}")
    if options.jobs < 1:
        parser.error(f"--jobs: want at least 1, got {options.jobs}")
    if not options.simulator.is_file():
        parser.error(f"there is no shard-sim at {options.simulator}: build it, or name one by --simulator")
    if not options.csv.is_file():
        parser.error(f"there is no file {options.csv}")
    return options


def print_summaries(done: list[Result]):
    predicted = [result for result in done if not result.problem]
    if not predicted:
        sys.exit("error: no row could be predicted")
    for name, counts in (("", False), ("memory: ", True)):
        found = [result.as_run() for result in predicted if bool(result.counts) == counts and result.measured is not None]
        if found:
            text = accuracy.summary(found)
            print(name + (text.partition(", best constant")[0] if counts else text))
    few = sum(any(case.of_few_layers for case, _ in result.cases) for result in predicted)
    if few:
        print(f"{few} of {len(predicted)} predictions are of a few layers of each stage, extended to all")
    # One verdict a row, whatever it measured.
    verdicts = {result.number: result for result in predicted if result.ran_out is not None}.values()
    failed, ran = ([each for each in verdicts if each.ran_out is out] for out in (True, False))
    if verdicts:
        print(f"out of memory: {sum(not each.fits for each in failed)} of {len(failed)} that ran out are predicted to, "
              f"{sum(not each.fits for each in ran)} of {len(ran)} that ran")


def main():
    options = read_options()
    first, _, end = options.rows.partition(":")
    all_rows = read_rows(options.csv)
    chosen = all_rows[int(first or 0):int(end) if end else None]
    if not all_rows:
        sys.exit(f"error: {options.csv} has no rows")
    if not chosen:
        sys.exit(f"error: {options.csv} has {len(all_rows)} rows, none of them in --rows {options.rows}")
    print(f"{'row':>4} {'measured':>13} {'predicted':>19} {'error':>8} {'MFU %':>5} {'memory GiB':>10}  {'verdict':<12}  assumed")
    done = []
    for result in results_of(chosen, options):
        print_result(result)
        if options.terms and not result.problem:
            print_terms(result)
        done.append(result)
    print_summaries(done)


if __name__ == "__main__":
    main()
