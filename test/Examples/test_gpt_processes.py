# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of the GPT under shard-run: several processes have the bits of threads, also where they resume."""

import os
import pathlib

import numpy as np
import pytest
from safetensors.numpy import save_file

import data
import options
import training
import weft
from conftest import ROOT, SMALL
from launchers import COMMANDS, mpirun, run

STEPS = 4
BINARIES = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin"))
EXPERTS = "--moe=experts=4,top=2"
LAYOUTS = [
    ("data=2", "fsdp", ()),
    ("model=2", "sp", ()),
    ("context=2", "cp", ()),
    ("pipe=2", "pp", ()),
    ("data=2,model=2", "zero1+tp", ()),
    ("pipe=2,data=2", "pp+fsdp", ("--schedule=interleaved-1f1b", "--layers=4")),
    ("data=2,expert=2", "ep+fsdp", (EXPERTS,)),
    ("pipe=2,expert=2", "pp+ep", (EXPERTS,)),
]


@pytest.fixture(scope="module", params=LAYOUTS, ids=lambda layout: layout[1])
def words(request, tmp_path_factory):
    """The command that trains under a layout, without the folder of its results."""
    mesh, parallel, more = request.param
    folder = tmp_path_factory.mktemp(parallel)
    prepared = options.read([*SMALL, "--mesh", mesh, "--parallel", parallel, *more, "--plan"])
    state = training.first_state(prepared.config, prepared.settings)
    training.Trainer(prepared, state, "cpu").compiled.save(folder / "step.plan")
    save_file({name: np.asarray(value, order="C") for name, value in weft.tree.flatten_with_paths(state, "state")[0]},
              folder / "state.safetensors")
    batches = [data.batch(prepared.text.training, prepared.settings["batch"], prepared.config.context, step)
               for step in range(STEPS)]
    given = []
    for name, stack in zip(("tokens", "targets"), zip(*batches)):
        np.save(folder / name, np.stack(stack))
        given += ["--input", f"{name}={folder / name}.npy"]
    return [BINARIES / "shard-run", folder / "step.plan", "--load", folder / "state.safetensors", *given]


def train(words, folder, steps, start=()):
    """The files of a run up to a step, which goes on from where the one before stopped."""
    result = run([*start, *words, "--steps", steps, "--checkpoint", folder / "run", "--resume", "--every", 2,
                  "--metrics", folder / "metrics.csv"])
    assert result.returncode == 0, result.stdout + result.stderr
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def threads(words, tmp_path_factory):
    return train(words, tmp_path_factory.mktemp("threads"), STEPS)


@pytest.mark.parametrize("library", COMMANDS)
def test_processes_have_the_bits_of_threads(words, threads, library, tmp_path):
    """All steps in two processes, the second half resumed; the losses fall."""
    start = [*mpirun(library, BINARIES), "-n", 2]
    train(words, tmp_path, STEPS // 2, start)
    assert train(words, tmp_path, STEPS, start) == threads
    losses = [float(line.split(",")[1]) for line in (tmp_path / "metrics.csv").read_text().splitlines()[1:]]
    assert len(losses) == STEPS and losses[-1] < losses[0]
