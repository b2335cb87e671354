# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPT cut into stages trains as the one that is not cut, under every schedule."""

import dataclasses

import numpy as np
import pytest

import data
import options
import stages
import training
import weft
from conftest import SMALL, run

STEPS = 20
DEEP = [*SMALL, "--layers=4", f"--steps={STEPS}", "--eval-batches=1"]


def prepared(*arguments):
    return options.read([*DEEP, *map(str, arguments), "--plan"])


def trained(run, steps=STEPS):
    """The losses, the state, and a validation loss."""
    trainer = training.Trainer(run, training.first_state(run.config, run.settings), "cpu")
    batches = [data.batch(run.text.training, run.settings["batch"], run.config.context, step)
               for step in range(steps)]
    losses = [trainer.step(*each) for each in batches]
    return losses, weft.tree.leaves(trainer.state()), trainer.evaluate(batches[:1])


def without_pipeline(run):
    """The run with the same sums (a tied table has a part of its gradient from each stage), whose
    ranks have all stages."""
    axes = {axis: size for axis, size in run.axes.items() if axis != stages.AXIS}
    return dataclasses.replace(run, axes=axes, modes=[mode for mode in run.modes if mode != "pp"],
                               stages=dataclasses.replace(run.stages, pipeline=None))


@pytest.fixture(scope="module")
def reference():
    """What is trained without a pipeline, made once for runs that are equal then."""
    known = {}

    def of(run):
        plain = without_pipeline(run)
        key = str((plain.axes, plain.modes, plain.stages))
        if key not in known:
            known[key] = trained(plain)
        return known[key]

    return of


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "own.csv"
    path.write_text("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n")
    return path


CASES = [
    ("pipe=2", "1f1b", 2),
    ("pipe=2", "interleaved-1f1b", 4),
    ("pipe=2", "zb-v", 4),
    ("pipe=2", "auto", 4),
    ("pipe=2", "own.csv", 2),
    ("pipe=4", "gpipe", 4),
    ("pipe=4", "zb-h1", 4),
    ("pipe=2,data=2", "looped-bfs", 4),
    ("pipe=2,model=2", "1f1b", 2),
]


@pytest.mark.parametrize(("mesh", "schedule", "count"), CASES)
def test_schedules_compute_the_same(reference, table, mesh, schedule, count):
    run = prepared("--mesh", mesh, "--schedule", table if schedule == "own.csv" else schedule,
                   "--micro-batches=4")
    assert run.stages.count == count
    losses, state, validation = trained(run)
    wanted, wanted_state, wanted_validation = reference(run)
    assert losses == wanted and losses[-1] < losses[0] - 1
    for ours, theirs in zip(state, wanted_state, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(validation, wanted_validation, rtol=1e-6)


@pytest.mark.parametrize(("mesh", "parallel", "schedule"), [
    ("pipe=2,data=2", "pp+fsdp", "zb-h1"),
    ("pipe=2,data=2,model=2", "pp+fsdp+sp", "zb-v"),
])
def test_sharded_parameters(reference, mesh, parallel, schedule):
    run = prepared("--mesh", mesh, "--parallel", parallel, "--schedule", schedule, "--micro-batches=4")
    assert trained(run)[0] == reference(run)[0]


def test_uncut_models_lose_as_much(workshop):
    """Against a run that knows nothing of stages, sums are of another order."""
    cut = workshop.training("pipe=2", "pp", "--micro-batches=2", "--schedule=zb-h1")
    whole = workshop.training("data=1", "dp", "--micro-batches=2")
    np.testing.assert_allclose(cut.losses, whole.losses, rtol=1e-5)
    np.testing.assert_allclose(cut.validation, whole.validation, rtol=1e-5)


def test_checkpoints_do_not_know_of_stages(workshop, tmp_path):
    """From four stages to two in another order, to two ranks without stages, and to one rank."""
    layouts = [["--mesh=pipe=4", "--schedule=zb-h1"], ["--mesh=pipe=2", "--schedule=zb-v"],
               ["--mesh=data=2", "--parallel=fsdp"], ["--mesh=data=1"]]
    steps = 3
    for number, layout in enumerate(layouts, 1):
        begin = [*DEEP, f"--steps={steps * len(layouts)}"] if number == 1 else ["--resume", "--length=0"]
        run(*begin, *layout, "--out", tmp_path / "parts", "--micro-batches=4", "--stop-after", number * steps)
    run(*DEEP, f"--steps={steps * len(layouts)}", "--micro-batches=4", "--out", tmp_path / "whole")

    def losses(name):
        rows = (tmp_path / name / "metrics.csv").read_text().splitlines()[1:]
        return np.array([float(row.split(",")[1]) for row in rows])

    assert len(losses("parts")) == steps * len(layouts)
    np.testing.assert_allclose(losses("parts"), losses("whole"), rtol=1e-5)


@pytest.mark.parametrize(("layers", "count", "sizes"), [
    (4, 1, [4]), (4, 2, [2, 2]), (5, 2, [3, 2]), (6, 4, [1, 2, 2, 1]), (5, 4, [1, 2, 1, 1]),
    (7, 4, [2, 2, 2, 1]), (4, 4, [1, 1, 1, 1]), (12, 8, [1, 2, 2, 2, 2, 1, 1, 1])])
def test_layers_are_spread_evenly(layers, count, sizes):
    ends = [-1, *stages.cuts(layers, count), layers - 1]
    assert [end - before for before, end in zip(ends, ends[1:])] == sizes


def test_micro_batches_of_a_schedule(table):
    assert prepared("--mesh=pipe=4").stages.microbatches == 8
    assert prepared("--mesh=pipe=2", "--schedule", table).stages.microbatches == 4
    assert prepared("--mesh=data=2").stages.microbatches == 1
    deep = prepared("--mesh=pipe=2", "--schedule=interleaved-1f1b", "--chunks=3", "--layers=6")
    assert deep.stages.count == 6
