# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPT has the same losses and the same parameters under every parallelism."""

import numpy as np
import pytest

import layouts
import options
import training
import weft
from conftest import ROOT, SMALL, STEPS, Training, run

LAYOUTS = [
    ("data=4", "dp"),
    ("data=4", "zero1"),
    ("data=4", "fsdp"),
    ("model=4", "tp"),
    ("model=4", "sp"),
    ("context=4", "cp"),
    ("data=2,model=2", "dp+tp"),
    ("data=2,model=2", "zero1+sp"),
    ("data=2,model=2", "fsdp+tp"),
    ("data=2,model=2", "fsdp+sp"),
    ("replica=2,data=2", "hsdp"),
    ("replica=2,data=2,model=2", "hsdp+tp"),
    ("data=2,context=2,model=2", "fsdp+cp+sp"),
    ("pipe=2", "pp"),
    ("pipe=2,data=2,model=2", "pp+fsdp+sp"),
    ("pipe=2,context=2", "pp+cp"),
]

EXPERTS = "--moe=experts=4,top=2"
EXPERT_LAYOUTS = [
    ("expert=4", "ep", EXPERTS),
    ("data=2,expert=2", "ep+dp", EXPERTS),
    ("data=2,expert=2", "ep+fsdp", EXPERTS),
    ("expert=2,model=2", "ep+tp", EXPERTS),
    ("data=2,model=2", "zero1+sp", EXPERTS),
    ("expert=2,context=2", "ep+cp", EXPERTS + ",parts=2"),
    ("pipe=2,expert=2", "pp+ep", EXPERTS),
]


def test_every_mode_is_tested():
    tested = {mode for _, modes, *_ in LAYOUTS + EXPERT_LAYOUTS for mode in modes.split("+")}
    assert tested == layouts.MODES.keys()


@pytest.mark.parametrize(("mesh", "parallel"), LAYOUTS)
def test_numbers_do_not_depend_on_the_layout(workshop, mesh, parallel):
    check_same(workshop.training("data=1", "dp"), workshop.training(mesh, parallel))


@pytest.mark.parametrize(("mesh", "parallel", "moe"), EXPERT_LAYOUTS)
def test_experts(workshop, mesh, parallel, moe):
    check_same(workshop.training("data=1", "dp", moe), workshop.training(mesh, parallel, moe))


@pytest.mark.parametrize(("mesh", "parallel"), [
    ("data=3", "dp"), ("data=3", "fsdp"), ("model=3", "tp"), ("model=3", "sp"), ("context=3", "cp"),
    ("data=3,model=2", "fsdp+tp")])
def test_sizes_need_not_divide(workshop, mesh, parallel):
    """4 heads, 8 rows, 32 features and places, and 256 bytes in three parts."""
    check_same(workshop.training("data=1", "dp"), workshop.training(mesh, parallel))


def test_experts_need_not_divide(workshop):
    """4 experts and 8 rows in three parts."""
    check_same(workshop.training("data=1", "dp", EXPERTS), workshop.training("expert=3", "ep", EXPERTS))


EMULATOR = ROOT / "build" / "dev" / "emulator" / "lib"


@pytest.mark.skipif(not (EMULATOR / "libcublasLt.so.13").exists(),
                    reason="no emulated device was built; it needs the CUDA toolkit")
@pytest.mark.filterwarnings("ignore:.*not by cuDNN")
@pytest.mark.parametrize(("mesh", "parallel", "options"), [
    ("data=1", "dp", ()), ("data=2", "fsdp", ()), ("pipe=2", "pp", ()), ("expert=2", "ep", (EXPERTS,))])
def test_a_device_computes_the_same(workshop, mesh, parallel, options, monkeypatch):
    monkeypatch.setenv("WEFT_CUDA_LIBRARIES", str(EMULATOR))
    monkeypatch.setenv("WEFT_CUDA_TUNE", "off")
    folder = workshop.folder / f"{mesh}-device"
    run(*SMALL, "--mesh", mesh, "--parallel", parallel, *options, "--target", "cuda:sm_90", "--out", folder)
    check_same(workshop.training("data=1", "dp", *options), Training(folder))


def check_same(expected, got):
    assert len(got.losses) == STEPS and expected.losses[-1] < expected.losses[0] - 1
    np.testing.assert_allclose(got.losses, expected.losses, rtol=2e-5)
    np.testing.assert_allclose(got.validation, expected.validation, rtol=2e-5)
    ours, theirs = got.state, expected.state
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert np.linalg.norm(ours[name] - value) <= 1e-4 * np.linalg.norm(value), name


def states_of_a_rank(parallel):
    """Bytes of states on one of 4 ranks, and bytes of the parameters."""
    run = options.read([*SMALL, "--mesh=data=4", f"--parallel={parallel}", "--plan"])
    state = training.first_state(run.config, run.settings)
    parameters = sum(leaf.nbytes for leaf in weft.tree.leaves(state["params"]))
    return training.Trainer(run, state, target=None).compiled.memory().states, parameters


@pytest.mark.parametrize(("parallel", "copies"), [("dp", 3), ("zero1", 1 + 2 / 4), ("fsdp", 3 / 4)])
def test_states_are_where_a_mode_says(parallel, copies):
    """Parameters and two moments, whole or in parts, and the number of the step."""
    states, parameters = states_of_a_rank(parallel)
    assert states == copies * parameters + 4
