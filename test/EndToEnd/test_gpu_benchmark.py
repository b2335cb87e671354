# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu: what it says without a GPU, and its table with one that is pretended."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks/gpu/run.sh"
without_gpu = pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU")
# What nvidia-smi says of a device.
SMI = """#!/bin/sh
case "$*" in
  *compute_cap*) echo "NVIDIA H200, 580.65.06, 9.0" ;;
  *) echo "NVIDIA H200" ;;
esac
"""


def run(folder, *arguments):
    """The script where of nvidia-smi there is what `folder` has."""
    path = f"{folder}:{os.path.dirname(shutil.which('bash'))}"
    return subprocess.run(["bash", SCRIPT, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PATH": path})


@without_gpu
def test_without_a_driver_one_line_says_why(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 1
    assert (result.stdout, result.stderr) == (
        "", "benchmarks/gpu: no GPU: there is no nvidia-smi, so nothing was built, checked or timed\n")


def pretend(folder, text):
    smi = folder / "nvidia-smi"
    smi.write_text(text)
    smi.chmod(0o755)


def test_without_a_device_one_line_says_why(tmp_path):
    pretend(tmp_path, "#!/bin/sh\nexit 9\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert result.stderr == (
        "benchmarks/gpu: no GPU: nvidia-smi finds none, so nothing was built, checked or timed\n")


@without_gpu
def test_the_table_says_why_steps_were_skipped_and_what_failed(tmp_path):
    pretend(tmp_path, SMI)
    result = run(tmp_path, "--only", "sanitizer,gpt-bf16")
    table = result.stdout.split("\n\n")[-1].splitlines()
    assert table[0] == "NVIDIA H200, sm_90, driver 580.65.06, plans for cuda:sm_90"
    assert table[1].startswith("sanitizer  skipped") and table[1].endswith("there is no compute-sanitizer")
    # Nothing can run on a device that is pretended.
    assert table[2].startswith("gpt-bf16   FAILED") and "build/gpu/losses-gpt-bfloat16-data1.log" in table[2]
    assert result.returncode == 1


def test_unknown_steps_are_refused(tmp_path):
    pretend(tmp_path, SMI)
    result = run(tmp_path, "--only", "built")
    assert result.returncode == 2
    assert "there is no step built; there are build, runtime-tests, sanitizer" in result.stderr
