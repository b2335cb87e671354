# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts the step times of published training runs, through the compiler and the simulator.

    python3 benchmarks/predict.py ROWS.csv [--cluster=NAME|FILE] [--software=NAME|FILE] [--set NAME=VALUE ...]
                                           [--rows 0:20] [--jobs 2] [--plans FOLDER]

A row is a run; columns have the names of the files in benchmarks/perf_data, or those of weft.models. Where a table
is from (prediction/sources.py) says which cluster and which software profile its rows ran on, and what no column
says; --cluster takes another one for the rows that ran on its kind of device, --software another profile. What
nothing says is assumed as the table ASSUMED of prediction/rows.py has it, or given by --set; where several values are
plausible the prediction is the range over all of them. Unknown columns are ignored. Errors are those of the geometric mean of a range, relative to what was measured. Skill is
1 - error / error of the best constant utilisation of the same rows, that is of the model FLOPs over devices and
time: 0 for a model that knows nothing else, 1 for a perfect one. Memory is compared where a column measures it.

Needs the package weft on PYTHONPATH, and shard-sim of the same build.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import functools
import math
import pathlib
import re
import sys

import weft
from prediction import accuracy, rows, sources
from prediction.steps import Machine, Predicted, Steps

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Result:
    """Of one measured value of a row: all predictions that are plausible with what was assumed, or what is wrong."""

    number: int
    column: str
    measured: float
    cases: list[tuple[Predicted, dict]]
    purposes: tuple[str, ...] | None = None
    problem: str | None = None

    @property
    def values(self) -> list[float]:
        """Seconds, or GiB of memory for purposes."""
        return [case.seconds if self.purposes is None else case.gib(self.purposes or ("arena",)) for case, _ in self.cases]

    @property
    def middle(self) -> float:
        return math.sqrt(min(self.values) * max(self.values))

    @property
    def assumed(self) -> str:
        open_ = {name: {str(said[name]) for _, said in self.cases if name in said} for name in self.cases[0][1]}
        return ", ".join(f"{name} {' or '.join(sorted(values))}" for name, values in open_.items())

    def as_run(self) -> accuracy.Run:
        return accuracy.Run(f"row {self.number}, {self.column}", self.measured, self.middle, self.cases[0][0].flops)


def machine_of(row, source, options) -> Machine:
    cluster = options.cluster
    if not cluster or source and sources.contradicts(row, cluster):
        cluster = sources.cluster_of(row, source) if source else None
    if not cluster:
        raise ValueError(f"no cluster is known for {sources.device_of(row) or 'this table'}: name one by --cluster")
    software = options.software or (sources.software_of(row, source) if source else None)
    return Machine(cluster, software, sources.options_of(software))


def predict_cases(steps, family, settings, machine):
    """(prediction, what it assumes) of all that is plausible and possible."""
    problems, count = [], 0
    for case, assumed in rows.cases_of(settings):
        try:
            yield steps.predict(family, case, machine), assumed
            count += 1
        except ValueError as error:
            problems.append(error)
    if not count:
        raise problems[0]


def predict_row(numbered, options):
    """A Result for each value that the row measured."""
    number, row = numbered
    source, results = sources.source_of(row), []
    steps = Steps(options.simulator, options.plans)
    family = options.family or rows.family_of(row)
    for column, measured, purposes, says in [*rows.measured_of(row), *rows.measured_of(row, rows.MEMORY)]:
        try:
            if problem := rows.problem_of(row):
                raise ValueError(problem)
            if math.isnan(measured):
                raise ValueError(f"{column} must be a positive number, got {row[column]!r}")
            machine = machine_of(row, source, options)
            settings = rows.settings_of(row, source, says | options.set)
            cases = list(predict_cases(steps, family, settings, machine))
            results.append(Result(number, column, measured, cases, purposes))
        except (ValueError, weft.CompileError) as error:
            results.append(Result(number, column, measured, [], purposes, str(error).splitlines()[0]))
    return results


def print_result(result: Result):
    unit = "s" if result.purposes is None else "GiB"
    measured = f"{result.number:4} {result.measured:9.3f} {unit:3}"
    if result.problem:
        print(f"{measured} left out: {result.problem}", flush=True)
        return
    low, high = min(result.values), max(result.values)
    text = f"{low:.3f}" if len(result.values) == 1 else f"{low:.3f} to {high:.3f}"
    memory = result.cases[-1][0].gib()
    print(f"{measured} {text:>19} {result.middle / result.measured - 1:8.1%} {memory:10.1f}  {result.assumed}".rstrip(),
          flush=True)


def results_of(numbered, options):
    predict = functools.partial(predict_row, options=options)
    if options.jobs == 1:
        yield from (result for each in numbered for result in predict(each))
        return
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for results in pool.map(predict, numbered):
            yield from results


def read_rows(path):
    """Numbered, with the names of columns in lower case."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return list(enumerate({key.strip().lower(): value or "" for key, value in row.items() if key}
                              for row in csv.DictReader(file)))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", type=pathlib.Path)
    parser.add_argument("--cluster", help="by default that of the table's source and of the row's device")
    parser.add_argument("--software", help="a profile; by default that of the table's source")
    parser.add_argument("--family", choices=["gpt", "llama"], help="by default as the column `model` says")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="for all rows")
    parser.add_argument("--rows", default=":", metavar="FIRST:END")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plans", type=pathlib.Path, help="a folder in which plans are kept for the next time, "
                                                           "until the compiler changes")
    parser.add_argument("--simulator", type=pathlib.Path, default=ROOT / "build/dev/bin/shard-sim")
    options = parser.parse_args()
    wrong = [each for each in options.set if each.partition("=")[0] not in rows.COLUMNS or "=" not in each]
    if wrong:
        parser.error(f"--set: want NAME=VALUE with one of {', '.join(rows.COLUMNS)}, got {', '.join(wrong)}")
    try:
        options.set = {name: rows.value_of(name, value) for name, value in (each.split("=", 1) for each in options.set)}
    except ValueError as error:
        parser.error(f"--set: {error}")
    if not re.fullmatch(r"\d*(:\d*)?", options.rows):
        parser.error(f"--rows: want FIRST:END, got {options.rows}")
    if options.jobs < 1:
        parser.error(f"--jobs: want at least 1, got {options.jobs}")
    if not options.csv.is_file():
        parser.error(f"there is no file {options.csv}")
    return options


def main():
    options = read_options()
    first, _, end = options.rows.partition(":")
    chosen = read_rows(options.csv)[int(first or 0):int(end) if end else None]
    found = {None: [], "memory": []}
    print(f"{'row':>4} {'measured':>13} {'predicted':>19} {'error':>8} {'arena GiB':>10}  assumed")
    for result in results_of(chosen, options):
        print_result(result)
        if not result.problem:
            found["memory" if result.purposes is not None else None].append(result.as_run())
    if not found[None]:
        sys.exit("error: no row could be predicted")
    print(accuracy.summary(found[None]))
    if found["memory"]:
        print("memory:", accuracy.summary(found["memory"]).partition(", best constant")[0])


if __name__ == "__main__":
    main()
