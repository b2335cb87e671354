# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shard-bench on the emulated GPU, and benchmarks/predict_cpu.py with one small step."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT, binaries
from test_emulated_gpu import emulator


@pytest.mark.skipif(not os.path.exists(f"{emulator()}/libcublasLt.so.13"),
                    reason="no emulated device was built; it needs the CUDA toolkit")
def test_collectives_of_a_gpu_are_right():
    ran = subprocess.run([binaries() / "shard-bench", "--only=collectives", "--target=cuda:sm_90", "--ranks=3",
                          "--largest-bytes=65536"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"WEFT_CUDA_LIBRARIES": emulator()})
    assert ran.returncode == 0, ran.stderr
    title, _, _, *rows = ran.stdout.strip().splitlines()
    assert title == "collectives, 3 ranks on one GPU; size, count and busbw as in nccl-tests, sums"
    assert [row.split()[0] for row in rows] == 3 * ["all_reduce"] + 3 * ["all_gather"] + 3 * [
        "reduce_scatter"] + 3 * ["all_to_all"]
    assert all(re.fullmatch(r"\w+ +3 +\d+ +\d+ +f32( +[\d.]+){5} +0", row) for row in rows)


def test_steps_are_predicted_and_run(tmp_path: pathlib.Path):
    package = binaries().parent / "python"
    command = [sys.executable, ROOT / "benchmarks/predict_cpu.py", "--simulator", binaries() / "shard-sim",
               "--cluster", ROOT / "clusters/cpu-2core.toml", "--rounds=1", "--keep", tmp_path]
    ran = subprocess.run([*command, "--only", "MLP, data 2"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": str(package)})
    assert ran.returncode == 0, ran.stderr
    _, _, _, first, second, summary = ran.stdout.splitlines()
    assert re.fullmatch(r"\| MLP \| data 2 \|( \d+ ms \|){5} \d+\.\d\d \|", first)
    assert second.startswith("| MLP | data 2 x tensor 2 |")
    assert re.fullmatch(r"MLP: Kendall's tau over 2 layouts [+-]\d\.\d\d by CPU time, [+-]\d\.\d\d by the clock", summary)
    assert (tmp_path / "mlp-data-2.plan").exists() and (tmp_path / "mlp-data-2.json").exists()
    ran = subprocess.run([*command, "--only", "none"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": str(package)})
    assert (ran.returncode, ran.stderr) == (1, "error: no case has such a name\n")
