# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT that goes on from a checkpoint is the one that was never stopped."""

import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import checkpoint
import conftest
import data
import weft
from conftest import SMALL, STEPS, Training, run

HALF = STEPS // 2


def interrupted(folder, first, second):
    """A run that stops at half of its steps under one layout and goes on under another."""
    mesh, parallel = first
    run(*SMALL, "--mesh", mesh, "--parallel", parallel, "--out", folder, "--stop-after", HALF)
    assert len(Training(folder).rows) == HALF
    mesh, parallel = second
    run("--resume", "--mesh", mesh, "--parallel", parallel, "--out", folder, "--length=0",
        "--eval-every=6", "--eval-batches=2")
    return Training(folder)


@pytest.mark.parametrize("layout", [("data=1", "dp"), ("data=2,model=2", "fsdp+tp"), ("pipe=2", "pp")])
def test_the_same_mesh_gives_the_same_bits(workshop, tmp_path, layout):
    expected, got = workshop.training(*layout), interrupted(tmp_path, layout, layout)
    assert got.rows == expected.rows
    assert got.state.keys() == expected.state.keys()
    for name, value in expected.state.items():
        np.testing.assert_array_equal(got.state[name], value, err_msg=name)


@pytest.mark.parametrize(("first", "second"), [
    (("data=4", "fsdp"), ("model=4", "sp")),
    (("data=1", "dp"), ("data=2,model=2", "fsdp+tp")),
    (("data=1", "dp"), ("pipe=2", "pp")),
    (("pipe=2", "pp"), ("data=4", "fsdp")),
    (("pipe=2,model=2", "pp+sp"), ("pipe=2,data=2", "pp+fsdp")),
])
def test_another_mesh_goes_on_with_the_same_numbers(workshop, tmp_path, first, second):
    expected, got = workshop.training("data=1", "dp"), interrupted(tmp_path, first, second)
    np.testing.assert_allclose(got.losses, expected.losses, rtol=1e-5)
    np.testing.assert_allclose(got.validation, expected.validation, rtol=1e-5)
    for name, value in expected.state.items():
        assert np.linalg.norm(got.state[name] - value) <= 1e-5 * np.linalg.norm(value), name


def test_a_checkpoint_holds_whole_arrays(workshop):
    training = workshop.training("data=4", "fsdp")
    found = checkpoint.read(training.folder)
    assert found.step == STEPS and found.settings["width"] == 32
    assert training.state["state['params']['blocks'][1]['up']"].shape == (32, 128)
    assert training.state["state['optimizer']['adamw']['mu']['blocks'][1]['up']"].shape == (32, 128)
    assert training.state["state['optimizer']['adamw']['count']"] == STEPS


def test_who_stops_the_program_loses_no_step(workshop, tmp_path):
    """SIGINT after some steps; then on to the end."""
    program = [sys.executable, str(conftest.ROOT / "examples" / "gpt" / "train.py")]
    child = subprocess.Popen([*program, *SMALL, "--out", str(tmp_path)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    metrics = tmp_path / "metrics.csv"
    deadline = time.monotonic() + 120
    while child.poll() is None and time.monotonic() < deadline:
        if metrics.exists() and metrics.read_text().count("\n") > 2:
            child.send_signal(signal.SIGINT)
            break
        time.sleep(0.001)
    out, error = child.communicate(timeout=120)
    assert child.returncode == 3, error
    made = checkpoint.read(tmp_path).step
    assert len(Training(tmp_path).rows) == made
    assert f"checkpoint of step {made}" in out
    run("--resume", "--out", tmp_path, "--length=0", "--eval-every=6", "--eval-batches=2")
    np.testing.assert_array_equal(Training(tmp_path).losses, workshop.training("data=1", "dp").losses)


def test_a_killed_program_goes_on_from_its_last_checkpoint(workshop, tmp_path):
    """Killed twice, each time after a checkpoint: the numbers are those of one that was never killed."""
    program = [sys.executable, str(conftest.ROOT / "examples" / "gpt" / "train.py"), "--checkpoint-every=2",
               "--out", str(tmp_path)]
    saved = 0
    for options in (SMALL, ["--resume", "--length=0", "--eval-every=6", "--eval-batches=2"]):
        child = subprocess.Popen([*program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while weft.saved_steps(tmp_path)[-1:] <= [saved] and time.monotonic() < deadline:
            time.sleep(0.001)
        child.kill()
        assert child.wait() == -signal.SIGKILL
        assert saved < checkpoint.read(tmp_path).step < STEPS
        saved = checkpoint.read(tmp_path).step
    run("--resume", "--out", tmp_path, "--length=0", "--eval-every=6", "--eval-batches=2")
    expected, got = workshop.training("data=1", "dp"), Training(tmp_path)
    np.testing.assert_array_equal(got.losses, expected.losses)
    for name, value in expected.state.items():
        np.testing.assert_array_equal(got.state[name], value, err_msg=name)


def test_batches_depend_on_the_step_alone():
    text = np.arange(200, dtype=np.uint8)
    tokens, targets = data.batch(text, 4, 16, 7, 0, 3)
    again, _ = data.batch(text, 4, 16, 7, 0, 3)
    other, _ = data.batch(text, 4, 16, 7, 0, 4)
    np.testing.assert_array_equal(tokens, again)
    np.testing.assert_array_equal(targets[:, :-1], tokens[:, 1:])
    np.testing.assert_array_equal(targets, tokens + 1)  # this text counts
    assert (tokens != other).any() and tokens.dtype == np.int32


def test_what_is_held_back_is_not_trained_on(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(bytes(range(100)))
    text = data.read([path, path])
    assert (len(text.training), len(text.validation)) == (180, 20)
    assert bytes(text.validation) == bytes(range(80, 100))
    assert text.digest != data.read([path]).digest
    assert data.files([path]) == [pathlib.Path(path)]
