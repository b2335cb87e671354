# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of benchmarks/gpu, with a tiny model: Weft on an emulated device, the others on
the processor. That all train the same model is what makes a ratio of their speeds fair."""

import functools
import json
import math
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT, binaries
from test_emulated_gpu import emulator, pytestmark  # noqa: F401

PROGRAMS = ROOT / "benchmarks/gpu"
STEPS = ["--warmup", "3", "--steps", "9"]
# Of losses, and of the norm of all parameters after 12 steps, which decay changes by 7e-4.
CLOSE = {"float32": (1e-5, 1e-6), "bfloat16": (2e-4, 1e-5)}


def python_with(module):
    """An interpreter that has a module, or None."""
    candidates = {
        "weft": [sys.executable],
        "jax": [ROOT / "build/venv-jax/bin/python"],
        "torch": [os.environ.get("WEFT_TEST_TORCH", ""), sys.executable],
    }[module]
    for python in map(str, candidates):
        if pathlib.Path(python).is_file() and subprocess.run(
                [python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def run(command, **environment):
    """What a program prints; its last line as JSON."""
    paths = [binaries().parent / "python", ROOT / "python-bindings/test", ROOT / "test/Import", PROGRAMS]
    settings = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "WEFT_CUDA_TUNE": "off",
                "WEFT_CUDA_LIBRARIES": emulator(), **environment}
    result = subprocess.run([str(word) for word in command], env=os.environ | settings, text=True,
                            capture_output=True, stdin=subprocess.DEVNULL, timeout=280)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout, json.loads(result.stdout.splitlines()[-1])


@functools.cache
def trained(system, dtype):
    """What gpt2_<system>.py finds; skips the test where the system is not installed."""
    python = python_with(system)
    if not python:
        pytest.skip({"jax": "there is no build/venv-jax with JAX; scripts/setup.sh makes it",
                     "torch": "PyTorch is not installed; WEFT_TEST_TORCH names a Python that has it"}[system])
    where = ["--target", "cuda:sm_90"] if system == "weft" else ["--on", "cpu"]
    text, found = run([python, PROGRAMS / f"gpt2_{system}.py", "--size", "tiny", "--dtype", dtype,
                       *where, *STEPS])
    return {"text": text, **found}


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("system", ["jax", "torch"])
def test_all_train_the_same_model(system, dtype):
    theirs, ours = trained(system, dtype), trained("weft", dtype)
    close, close_norm = CLOSE[dtype]
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=close)
    assert ours["norm"] == pytest.approx(theirs["norm"], rel=close_norm)
    # The optimizer had time to show what it does.
    assert ours["losses"][-1] < ours["losses"][0] - 0.1


def test_what_weft_tells_of_its_speed():
    found = trained("weft", "bfloat16")
    assert (found["batch"], found["mfu"]) == (4, None)
    assert found["tokens_per_second"] == pytest.approx(4 * 16 / found["seconds"])
    assert 0 < found["enqueue_seconds"] < found["seconds"]
    # Of a run on one stream all time is that of an instruction, or a gap.
    assert {"GEMMs", "attention", "kernels", "gaps"} <= found["parts"].keys()
    assert math.isclose(sum(part["share"] for part in found["parts"].values()), 1)
    assert found["parts"]["attention"]["count"] == 4
    assert "instructions that took longest:" in found["text"]
    assert "gpt2" in found["text"] or "gpt.py" in found["text"]


def prepared(case, folder, *options):
    run_prepare = [python_with("weft"), PROGRAMS / "prepare.py", case, "--target", "cuda:sm_90",
                   "--out", folder, "--bin", binaries(), *options]
    paths = [binaries().parent / "python", ROOT / "python-bindings/test", PROGRAMS]
    subprocess.run([str(word) for word in run_prepare], check=True, timeout=280,
                   env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))})
    return folder / case


def test_a_plan_compiled_ahead_runs_without_the_compiler(tmp_path):
    folder = prepared("speed-tiny-weft", tmp_path)
    # NumPy and shard-run are enough.
    _, found = run([sys.executable, PROGRAMS / "speed.py", folder, "--shard-run",
                    binaries() / "shard-run", *STEPS], PYTHONPATH=str(PROGRAMS))
    ours = trained("weft", "bfloat16")
    assert found["losses"] == pytest.approx(ours["losses"], rel=1e-6)
    assert found["parts"].keys() == ours["parts"].keys()
    assert 0 < found["enqueue_seconds"] < found["seconds"]


@pytest.mark.parametrize("case, steps", [("mlp-f32", 3), ("gpt-bf16", 1), ("collectives-2-ranks", 5)])
def test_losses_are_those_of_the_host(case, steps, tmp_path):
    folder = prepared(case, tmp_path, "--steps", str(steps))
    _, found = run([sys.executable, PROGRAMS / "losses.py", folder, "--shard-run",
                    binaries() / "shard-run"], PYTHONPATH=str(PROGRAMS))
    assert found["steps"] == steps
    assert found["error"] <= found["allowed"]


def test_ranks_as_processes_have_the_losses_of_the_host(tmp_path):
    """All five collectives, with the library in NCCL's place."""
    libraries = [emulator(), binaries().parent / "emulator" / "nccl"]
    if not (libraries[1] / "libnccl.so.2").exists():
        pytest.skip("the library in NCCL's place was not built; it needs NCCL's header")
    folder = prepared("collectives-4-ranks", tmp_path, "--steps", "5")
    _, found = run([sys.executable, PROGRAMS / "losses.py", folder, "--nccl", "--shard-run",
                    binaries() / "shard-run"], PYTHONPATH=str(PROGRAMS),
                   WEFT_CUDA_LIBRARIES=":".join(map(str, libraries)), TMPDIR=str(tmp_path))
    assert found["error"] <= found["allowed"]


def test_losses_that_differ_are_seen(tmp_path):
    folder = prepared("collectives-2-ranks", tmp_path, "--steps", "2")
    record = json.loads((folder / "record.json").read_text())
    record["expected"][1] *= 1.01
    (folder / "record.json").write_text(json.dumps(record))
    _, found = run([sys.executable, PROGRAMS / "losses.py", folder, "--shard-run",
                    binaries() / "shard-run"], PYTHONPATH=str(PROGRAMS))
    assert found["error"] == pytest.approx(0.01, rel=0.1)


def test_the_largest_batch_that_fits(tmp_path):
    """Of the tiny model's only batch, no memory is enough or any is."""
    assert json.loads((prepared("speed-tiny-weft", tmp_path) / "record.json").read_text())["batch"] == 4
    with pytest.raises(subprocess.CalledProcessError):
        prepared("speed-tiny-weft", tmp_path, "--memory", "0.000001")
    record = json.loads((prepared("speed-tiny-weft", tmp_path, "--batch", "2") / "record.json").read_text())
    assert record["batch"] == 2
