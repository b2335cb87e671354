# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shard-bench on the emulated GPU and over MPI, and benchmarks/pipeline_bubble.py, predict_cpu.py and scaling.py with
small steps."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, binaries
from launchers import run
from test_emulated_gpu import emulator


@pytest.mark.skipif(not os.path.exists(f"{emulator()}/libcublasLt.so.13"),
                    reason="no emulated device was built; it needs the CUDA toolkit")
def test_collectives_of_a_gpu_are_right():
    ran = subprocess.run([binaries() / "shard-bench", "--only=collectives", "--target=cuda:sm_90", "--ranks=3",
                          "--largest-bytes=65536", "--seconds=1"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"WEFT_CUDA_LIBRARIES": emulator()})
    assert ran.returncode == 0, ran.stderr
    title, _, _, *rows = ran.stdout.strip().splitlines()
    assert title == "collectives, 3 ranks on one GPU; size, count and busbw as in nccl-tests, sums"
    assert [row.split()[0] for row in rows] == 3 * ["all_reduce"] + 3 * ["all_gather"] + 3 * [
        "reduce_scatter"] + 3 * ["all_to_all"]
    assert all(re.fullmatch(r"\w+ +3 +\d+ +\d+ +f32( +[\d.]+){5} +0", row) for row in rows)


@pytest.mark.parametrize("ranks", [2, 4])
def test_collectives_between_processes(mpirun, ranks):
    """Beside the library's own, where each process has one rank."""
    ran = run([*mpirun, "-n", 2, binaries() / "shard-bench", "--only=collectives", "--seconds=1", f"--ranks={ranks}",
               "--largest-bytes=65536"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    title = next(i for i, line in enumerate(lines) if line.startswith("collectives, "))
    assert re.fullmatch(rf"collectives, (Open MPI|MPICH) .*, 2 processes, {ranks} ranks; size, count and busbw as in "
                        "nccl-tests, sums", lines[title])
    rows = [line for line in lines[title + 3:] if re.match(r"all_|reduce_|permute", line)]
    assert [row.split()[2] for row in rows] == 7 * ["1024", "4096", "16384", "65536"]
    own = r" +[\d.]+ +\d+\.\d\d" if ranks == 2 else ""
    for row in rows:
        has_own = " f32 " in row and not row.startswith("permute")
        assert re.fullmatch(rf"\w+ +{ranks} +\d+ +\d+ +\w+( +[\d.]+){{5}} +0{own if has_own else ''}", row), row


def test_what_processes_do_not_measure(mpirun):
    bench = [*mpirun, "-n", 2, binaries() / "shard-bench"]
    ran = run(bench)
    assert ran.returncode != 0
    assert "error: several processes measure collectives: add --only=collectives" in ran.stderr + ran.stdout
    ran = run([*bench, "--only=collectives", "--ranks=3"])
    assert ran.returncode != 0
    assert "error: --ranks must be a multiple of the 2 processes, got 3" in ran.stderr + ran.stdout


def test_scaling_is_measured_and_predicted():
    if not shutil.which("mpirun.openmpi"):
        pytest.skip("mpirun.openmpi is not installed (scripts/setup.sh)")
    package = binaries().parent / "python"
    ran = subprocess.run([sys.executable, ROOT / "benchmarks/scaling.py", "--ranks", "1", "2", "--rounds=1", "--steps=1",
                          "--layers=1", "--batch=2", "--hidden=32", "--sequence=16", "--bin", binaries(),
                          "--cluster", ROOT / "clusters/cpu-2core.toml"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": str(package)})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [line for line in ran.stdout.splitlines() if re.match(r"\| \d", line)]
    assert [row.split(" | ")[:2] for row in rows] == 2 * [["| 1", "thread"], ["| 2", "2 threads"], ["| 2", "2 processes"]]
    assert all(re.fullmatch(r"\| \d \| [\w ]+( \| \d+\.\d ms \| \d+\.\d\d){3} \|", row) for row in rows), rows
    assert rows[0].count("| 1.00 |") == 3


def test_bubbles_are_measured_and_predicted():
    ran = subprocess.run([sys.executable, ROOT / "benchmarks/pipeline_bubble.py", "--schedules", "gpipe", "zb-h1",
                          "--microbatches=2", "--layers=2", "--width=16", "--context=8", "--steps=2"],
                         capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": str(binaries().parent / "python")})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [line.split() for line in ran.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == ["gpipe", "zb-h1"]
    assert all(0 < float(share) < 100 for row in rows for share in row[2:4]), rows


def test_steps_are_predicted_and_run(tmp_path: pathlib.Path):
    package = binaries().parent / "python"
    command = [sys.executable, ROOT / "benchmarks/predict_cpu.py", "--simulator", binaries() / "shard-sim",
               "--cluster", ROOT / "clusters/cpu-2core.toml", "--seconds=0", "--keep", tmp_path]
    ran = subprocess.run([*command, "--only", "MLP, data 2"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": str(package)})
    assert ran.returncode == 0, ran.stderr
    _, _, _, first, second, order, quiet = ran.stdout.splitlines()
    ms, ratio = r"\d+ ms", r"\d+\.\d\d"
    assert re.fullmatch(rf"\| MLP \| data 2 \| {ms} \| ({ms} \| {ratio}|- \| -) \| {ms} \| {ms} \| {ratio} \|", first)
    assert second.startswith("| MLP | data 2 x tensor 2 |")
    assert re.fullmatch(r"MLP: Kendall's tau over 2 layouts ([+-]\d\.\d\d by the clock, )?[+-]\d\.\d\d by CPU time", order)
    assert re.fullmatch(r"quiet: [0-2] of 2 steps, load \S+ on \d+ cores at the end", quiet)
    assert (tmp_path / "mlp-data-2.plan").exists() and (tmp_path / "mlp-data-2.json").exists()
    ran = subprocess.run([*command, "--only", "none"], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": str(package)})
    assert (ran.returncode, ran.stderr) == (1, "error: no case has such a name\n")
