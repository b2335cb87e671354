# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a training run with the NumPy reference, step by step.

    python compare.py --data build/example --metrics build/example/metrics.csv \\
        --states build/example/states.safetensors

Exit status 1 if a loss differs by more than 2e-5 of its value or a final state
by more than 1e-4 of its norm.
"""

import argparse
import csv
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file

import reference

LOSS_TOLERANCE = 2e-5
STATE_TOLERANCE = 1e-4


def read_losses(path):
    """The column "loss" of a metrics file."""
    with open(path, newline="") as rows:
        return np.array([float(row["loss"]) for row in csv.DictReader(rows)])


def loss_errors(losses, expected):
    """Relative error of every step; a run of other length is an error."""
    if len(losses) != len(expected):
        raise ValueError(f"{len(losses)} steps, expected {len(expected)}")
    return np.abs(losses - expected) / np.abs(expected)


def state_errors(states, expected):
    """Error of every state as a fraction of the norm of the expected one."""
    if states.keys() != expected.keys():
        raise ValueError(f"states differ in {sorted(states.keys() ^ expected.keys())}")
    return {name: float(np.linalg.norm(states[name].astype(np.float64) - value) /
                        np.linalg.norm(value.astype(np.float64)))
            for name, value in expected.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True,
                        help="folder with x.npy and y.npy")
    parser.add_argument("--metrics", type=pathlib.Path, required=True)
    parser.add_argument("--states", type=pathlib.Path, required=True)
    args = parser.parse_args()

    losses = read_losses(args.metrics)
    x, y = np.load(args.data / "x.npy"), np.load(args.data / "y.npy")
    expected_losses, expected_states = reference.train(x, y, len(losses))
    errors = loss_errors(losses, np.array(expected_losses, np.float64))

    print(f"{'step':>6} {'loss':>10} {'NumPy':>10} {'rel. error':>11}")
    shown = sorted({*range(0, len(losses), max(1, len(losses) // 10)), len(losses) - 1})
    for step in shown:
        print(f"{step:6} {losses[step]:10.5f} {expected_losses[step]:10.5f} "
              f"{errors[step]:11.1e}")
    print(f"largest over {len(losses)} steps {errors.max():.1e}, "
          f"allowed {LOSS_TOLERANCE:.0e}")

    print(f"\n{'state':>20} {'error / norm':>13}")
    by_state = state_errors(load_file(args.states), expected_states)
    for name, error in by_state.items():
        print(f"{name:>20} {error:13.1e}")
    worst = max(by_state.values())
    print(f"largest {worst:.1e}, allowed {STATE_TOLERANCE:.0e}")

    # `not <=` so that a NaN fails.
    if not (errors.max() <= LOSS_TOLERANCE and worst <= STATE_TOLERANCE):
        sys.exit("error: the run differs from the reference")


if __name__ == "__main__":
    main()
