# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example with its backward pass written by the compiler."""

import re

import pytest

import compare
from conftest import EXAMPLE, LAYOUTS, STEPS, Training, succeed
from safetensors.numpy import load_file

PARAMETERS = ["embedding", "w1", "b1", "w2", "b2", "w3", "b3"]


def with_value_and_grad(source):
    """Moves the forward pass into a function, gathering of parameters included,
    and takes its gradient where the backward pass is written out."""
    before, *forward, _, after = re.split(
        r"  //===--- (?:Gather|Forward|Backward|Update) .*\n\n", source)
    types = dict(re.findall(r"    %(\w+): (tensor<\S+>)\s+{weft.name", before))
    arguments = ["x", "y", *PARAMETERS]
    names = ", ".join(f"%{name}" for name in arguments)
    kinds = ", ".join(types[name] for name in arguments)
    gradients = ", ".join(f"%d_{name}" for name in PARAMETERS)
    results = ", ".join(types[name] for name in PARAMETERS)
    signature = ", ".join(f"%{name}: {types[name]}" for name in arguments)
    constants = "\n".join(line for line in before.splitlines() if "%batch = " in line)
    loss = (f"func.func private @loss({signature}) -> tensor<f32> {{\n{constants}\n"
            f"{''.join(forward)}  return %loss : tensor<f32>\n}}\n")
    call = (f"  %loss, {gradients} = weft.value_and_grad @loss({names})"
            f" wrt = {list(range(2, len(arguments)))} : ({kinds}) -> (tensor<f32>, {results})\n")
    return before + call + after + loss


def collectives(report):
    """(kind, axes, bytes) of the collectives of the training step, sorted."""
    step = report.split("entry train_step", 1)[1].split("memory of a rank", 1)[0]
    return sorted(re.findall(r"^  (\w+)  +(\S+(?:, \S+)?)  +(\d+)  +\d+ ", step, re.MULTILINE))


@pytest.mark.parametrize("layout", ["one-device", "data-model", "fsdp"])
def test_trains_as_the_written_backward_pass_does(workshop, tmp_path, layout):
    written, mesh = LAYOUTS[layout]
    source, plan, metrics, states = (tmp_path / f"mlp_lm.{end}"
                                     for end in ("mlir", "plan", "csv", "safetensors"))
    source.write_text(with_value_and_grad((EXAMPLE / written).read_text()))
    # One by one, and those of propagation: which come together depends on the order of the program,
    # and the choice by cost on what is known to be a gradient.
    reports = [succeed("shard-compile", model, "--mesh", mesh, "-o", plan,
                       "--combine-collectives=false", "--optimize-shardings=false").stdout
               for model in (EXAMPLE / written, source)]
    assert collectives(reports[0]) == collectives(reports[1])
    succeed("shard-compile", source, "--mesh", mesh, "-o", plan)
    succeed("shard-run", plan, "--init", "init", "--entry", "train_step", "--steps", STEPS,
            "--input", f"x={workshop.folder / 'x.npy'}",
            "--input", f"y={workshop.folder / 'y.npy'}",
            "--metrics", metrics, "--save", states)
    training = Training(compare.read_losses(metrics), load_file(states))
    expected = workshop.training(layout)
    assert compare.loss_errors(training.losses, expected.losses).max() <= compare.LOSS_TOLERANCE
    errors = compare.state_errors(training.states, expected.states)
    assert max(errors.values()) <= compare.STATE_TOLERANCE, errors
