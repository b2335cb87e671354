# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of examples/gpt small enough for tests, each made once."""

import contextlib
import csv
import dataclasses
import functools
import io
import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "gpt"), str(ROOT / "test")]

import train  # noqa: E402
import weft  # noqa: E402

STEPS = 12
SMALL = ("--layers=2 --width=32 --heads=4 --context=32 --batch=8 --warmup=2 --eval-every=6 "
         f"--eval-batches=2 --length=0 --steps={STEPS} --learning-rate=1e-2").split()


def run(*arguments):
    """What train.py prints; SystemExit is its failure."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        train.main([str(argument) for argument in arguments])
    return printed.getvalue()


@dataclasses.dataclass
class Training:
    """What a run leaves in its folder."""
    folder: pathlib.Path

    @property
    def rows(self):
        with open(self.folder / "metrics.csv", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def losses(self):
        return np.array([float(row["loss"]) for row in self.rows])

    @property
    def validation(self):
        return np.array([float(row["validation"]) for row in self.rows if row["validation"]])

    @property
    def state(self):
        return weft.restore(self.folder)


class Workshop:
    def __init__(self, folder):
        self.folder = folder

    @functools.cache
    def training(self, mesh, parallel, *options):
        """A whole run."""
        folder = self.folder / "-".join([mesh, parallel, *options]).replace("/", ".")
        run(*SMALL, "--mesh", mesh, "--parallel", parallel, *options, "--out", folder)
        return Training(folder)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("gpt"))
