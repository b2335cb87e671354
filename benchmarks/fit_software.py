# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the numbers of the software profiles, and says how well they predict what they were not fitted to.

    python3 benchmarks/fit_software.py --plans FOLDER [--every 12] [--jobs 2] [--without bloom]

The rows are those of benchmarks/perf_data with measured steps. Of each profile `compute_factor` is fitted, and where
its rows can tell a second number (SECOND); all else in software/*.toml is declared. Fitted is what has the least mean
error, each set counting the same. "Held out" is the error of a set with the compute_factor of all sets on other
software (each set counting the same) and what is declared of its own. `--every` takes each n-th row of tables with
more than 60.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import pathlib
import re
import statistics
import tempfile

import predict
from prediction import accuracy, rows, sources
from prediction.steps import Machine, Steps

SOFTWARE = predict.ROOT / "software"
# What is simulated. In between, and a little below, seconds lie on lines.
FACTORS = [1.0, 1.3, 1.7]
LEAST_FACTOR = 0.9
SECOND = {"megatron-vtrain": ("issue_seconds", [0, 6e-5, 9e-5, 1.2e-4, 1.5e-4]),
          "foundry-2023": ("attention_factor", [1, 1.5, 2, 2.5])}
# Of the same program and without rows of its own: fitted to the rows of these.
AS_OTHERS = {"megatron-2021": ("megatron-2022", "megatron-vtrain")}
STEPS_BETWEEN = 30


def fine(points):
    """The points, and some between each two."""
    between = [low + (high - low) * i / STEPS_BETWEEN for low, high in itertools.pairwise(points) for i in range(STEPS_BETWEEN)]
    return [*between, points[-1]]


def seconds_of(profile):
    """The second number's values that are simulated: that which is shipped, where none is fitted."""
    return SECOND[profile][1] if profile in SECOND else [None]


@dataclasses.dataclass(frozen=True)
class Grid:
    """Seconds of a run for every compute_factor, and every value of the profile's second number."""

    profile: str
    label: str
    measured: float
    flops: float
    seconds: tuple[tuple[float, ...], ...]

    def at(self, factor, second=None) -> accuracy.Run:
        values = seconds_of(self.profile)
        if values == [None]:
            columns = [(0, 1.0)]
        else:
            columns = weights(values, SHIPPED(self.profile) if second is None else second)
        value = sum(a * b * self.seconds[i][j] for i, a in weights(FACTORS, factor) for j, b in columns)
        return accuracy.Run(self.label, self.measured, value, self.flops)


def weights(points, x):
    """The two points around x, or the two last ones, and the share of each."""
    high = next((i for i, p in enumerate(points) if p >= x and i > 0), len(points) - 1)
    share = (x - points[high - 1]) / (points[high] - points[high - 1])
    return (high - 1, 1 - share), (high, share)


def text_of(profile, **numbers):
    """The text of a profile with other numbers."""
    text = (SOFTWARE / f"{profile}.toml").read_text()
    for key, value in numbers.items():
        text = re.sub(rf"^{key} = .*\n", "", text, flags=re.MULTILINE) + f"{key} = {float(value)!r}\n"
    return text


@functools.cache
def shipped(profile, key):
    found = re.search(rf"^{key} = ([\d.e-]+)", (SOFTWARE / f"{profile}.toml").read_text(), re.MULTILINE)
    return float(found[1]) if found else None


def SHIPPED(profile):  # noqa: N802
    return shipped(profile, SECOND[profile][0])


def grids_of(numbered, options):
    """(name of the set, Grid) of each measured time of a row."""
    name, number, row = numbered
    source, found = sources.source_of(row), []
    if rows.problem_of(row):
        return found
    steps, profile = Steps(options.simulator, options.plans), sources.software_of(row, source)
    cluster = sources.cluster_of(row, source)
    for column, measured, says in rows.measured_of(row):
        case = next(rows.cases_of(rows.settings_of(row, source, says)))[0]

        def seconds(factor, second):
            numbers = {"compute_factor": factor} | ({SECOND[profile][0]: second} if second is not None else {})
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "profile.toml")
                file.write_text(text_of(profile, **numbers))
                return steps.predict(rows.family_of(row), case, Machine(cluster, str(file), sources.options_of(profile)))

        predicted = [[seconds(factor, second) for second in seconds_of(profile)] for factor in FACTORS]
        times = tuple(tuple(each.seconds for each in line) for line in predicted)
        found.append((name, Grid(profile, f"row {number}, {column}", measured, predicted[0][0].flops, times)))
    return found


def fit(sets, key=None):
    """(compute_factor, second number) with the least mean error, each of the sets counting the same."""
    points = itertools.product(fine([LEAST_FACTOR, *FACTORS]), fine(SECOND[key][1]) if key in SECOND else [None])

    def badness(point):
        runs = [[grid.at(*point) for grid in grids] for grids in sets]
        # Two rows have all errors between theirs alike: then the least bias decides.
        return round(statistics.fmean(map(accuracy.mean_error, runs)), 3), abs(statistics.fmean(map(accuracy.bias, runs)))

    return min(points, key=badness)


def row_of(name, runs, held):
    worst = max(runs, key=lambda run: abs(run.error))

    def skill(of):
        known = accuracy.skill(of)
        return "-" if known is None or accuracy.best_constant(of) < 0.03 else f"{known:+.2f}"

    return (f"| {name} | {len(runs)} | {100 * accuracy.mean_error(runs):.1f} | {100 * accuracy.bias(runs):+.1f} "
            f"| {skill(runs)} | {100 * accuracy.best_constant(runs):.1f} | {100 * accuracy.mean_error(held):.1f} "
            f"| {100 * accuracy.bias(held):+.1f} | {skill(held)} | {100 * worst.error:+.0f}, {worst.label} |")


def read_sets(options):
    wanted = []
    for path in sorted(options.folder.glob("*.csv")):
        numbered = [(number, row) for number, row in predict.read_rows(path) if any(rows.measured_of(row))]
        name = path.stem.removeprefix("calib_").removesuffix("_calibration")
        if not numbered or name in options.without:
            continue
        for number, row in numbered[::options.every if len(numbered) > 60 else 1]:
            wanted.append((f"{name} {sources.device_of(row)[:4].upper()}".strip(), number, row))
    sets = collections.defaultdict(list)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(grids_of, wanted, itertools.repeat(options)):
            for name, grid in found:
                sets[name].append(grid)
    return sets


def print_fits(sets):
    """What fits each profile."""
    by_profile = collections.defaultdict(list)
    for grids in sets.values():
        for profile in sorted({grid.profile for grid in grids}):
            # Without torch.compile it is the same software but for what is declared.
            by_profile[profile.removesuffix("-eager")].append([g for g in grids if g.profile == profile])
    print("| profile | compute_factor | shipped | second number | shipped |\n| --- | ---: | ---: | --- | --- |")
    for profile, own in by_profile.items():
        factor, second = fit(own, profile)
        key = SECOND[profile][0] if profile in SECOND else None
        print(f"| {profile} | {factor:.3f} | {shipped(profile, 'compute_factor')} "
              f"| {f'{key} {second:.3g}' if key else ''} | {shipped(profile, key) if key else ''} |")
    for profile, others in AS_OTHERS.items():
        own = [grids for other in others for grids in by_profile.get(other, [])]
        if own:
            print(f"| {profile} | {fit(own)[0]:.3f} | {shipped(profile, 'compute_factor')} | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=predict.ROOT / "benchmarks/perf_data")
    parser.add_argument("--plans", type=pathlib.Path, required=True)
    parser.add_argument("--every", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=[], metavar="SET")
    parser.add_argument("--simulator", type=pathlib.Path, default=predict.ROOT / "build/dev/bin/shard-sim")
    options = parser.parse_args()
    sets = read_sets(options)
    print_fits(sets)
    print("\n| set | rows | error % | bias % | skill | best constant % | held out: error % | bias % | skill | worst row % |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, grids in sets.items():
        others = [other for other in sets.values() if other[0].profile.split("-")[0] != grids[0].profile.split("-")[0]]
        factor, _ = fit(others)
        print(row_of(name, [g.at(shipped(g.profile, "compute_factor")) for g in grids], [g.at(factor) for g in grids]))


if __name__ == "__main__":
    main()
