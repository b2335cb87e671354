# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of one process of a job: all processes end within seconds, and say whose fault it is.

Processes that are killed or stopped are in test_mpi.py, disks and checkpoints in test_resume.py.
"""

import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import time

import numpy as np
import pytest

from conftest import EXAMPLE, tool
from launchers import ENVIRONMENT, run
from test_mpi import Job, command, plan  # noqa: F401

# Runs what its two arguments say in process 0 and in process 1.
CHOICE = """#!/bin/bash
if [ "${PMIX_RANK:-$PMI_RANK}" = 0 ]; then eval "exec $1"; else eval "exec $2"; fi
"""


class Ended:
    """A job of two processes with different command lines, once it has ended."""

    def __init__(self, mpirun, folder, first, second):
        script, begin = folder / "choice.sh", time.monotonic()
        script.write_text(CHOICE)
        script.chmod(0o755)
        lines = [shlex.join(map(str, [*words])) + f" > {folder}/out{i} 2>&1" for i, words in enumerate((first, second))]
        result = subprocess.run([*mpirun, "-n", "2", str(script), *lines], env=os.environ | ENVIRONMENT,
                                capture_output=True, text=True, timeout=60)
        self.status, self.seconds = result.returncode, time.monotonic() - begin
        self.texts = [path.read_text() if (path := folder / f"out{i}").exists() else "" for i in range(2)]


def limited(words, kilobytes):
    """With so much address space; mimalloc, where tests have it, would take more than that at once."""
    return ["bash", "-c", f'unset LD_PRELOAD; ulimit -v {kilobytes}; exec "$@"', "bash", *words]


def replaced(words, old, new):
    return [str(word).replace(str(old), str(new)) for word in words]


def test_another_plan(mpirun, plan, tmp_path):  # noqa: F811
    assert tool("shard-compile", EXAMPLE / "mlp_lm.mlir", "--mesh", "data=4", "-o",
                tmp_path / "other.plan").returncode == 0
    words = command(plan, 3)
    job = Ended(mpirun, tmp_path, words, replaced(words, plan / "mlp.plan", tmp_path / "other.plan"))
    assert job.status != 0 and job.seconds < 20
    assert any(re.search(r"error: the ranks differ in what they run: rank 0 has plan \w+, rank 1 has plan \w+", text)
               for text in job.texts), job.texts


@pytest.mark.parametrize("process", [0, 1])
def test_an_input_of_another_type(mpirun, plan, process, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", np.load(plan / "x.npy").astype(np.float32))
    words = command(plan, 3)
    both = [words, words]
    both[process] = replaced(words, f"x={plan / 'x.npy'}", f"x={tmp_path / 'x.npy'}")
    job = Ended(mpirun, tmp_path, *both)
    assert job.status != 0 and job.seconds < 20
    problem = f"--input x: {tmp_path / 'x.npy'} holds f32[256x16], the plan wants i32[256x16]"
    assert f"error: {problem}" in job.texts[process]
    assert job.status == 2, "MPICH joins the bits of all codes, and 3 is that of a signal"
    # Open MPI may end the other one first.
    other = job.texts[1 - process]
    assert f"process {process}: {problem}" in other or "openmpi" in mpirun[0] and "error" not in other, other


def test_another_number_of_steps(mpirun, plan, tmp_path):  # noqa: F811
    job = Ended(mpirun, tmp_path, command(plan, 30, "--deadline", "60"), command(plan, 2, "--deadline", "60"))
    assert job.status != 0 and job.seconds < 20
    assert re.search("error: step .* will not arrive.* in process 1, which has come to the end of its program",
                     job.texts[0]), job.texts


def test_a_folder_that_only_one_sees(mpirun, plan, tmp_path):  # noqa: F811
    """A checkpoint is found by one process and not by the other."""
    words = command(plan, 2, "--checkpoint", tmp_path / "here", "--resume")
    assert subprocess.run([*map(str, words)], capture_output=True).returncode == 0
    words = command(plan, 3, "--checkpoint", tmp_path / "here", "--resume")
    job = Ended(mpirun, tmp_path, words, replaced(words, tmp_path / "here", tmp_path / "there"))
    assert job.status != 0 and job.seconds < 20
    assert any("process 0 finds step 2 to resume from, process 1 no checkpoint; --checkpoint must be on a file "
               "system that all processes share" in text for text in job.texts), job.texts


def test_an_unwritable_folder(mpirun, plan, tmp_path):  # noqa: F811
    """Process 0 writes the files, and the other one learns why it cannot."""
    words = command(plan, 2, "--save", tmp_path / "none" / "end.safetensors")
    job = Ended(mpirun, tmp_path, words, words)
    assert job.status != 0 and job.seconds < 20
    problem = f"--save: cannot write {tmp_path}/none/end.safetensors: folder {tmp_path}/none: No such file"
    assert f"error: {problem}" in job.texts[0]


limits_addresses = pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="sanitizers take terabytes of address space")


def compile_large(folder):
    """A plan whose ranks take 469 MiB each."""
    (folder / "large.mlir").write_text((EXAMPLE / "mlp_lm.mlir").read_text().replace("512", "8192"))
    result = tool("shard-compile", folder / "large.mlir", "--mesh", "data=2,model=2", "-o", folder / "large.plan")
    assert result.returncode == 0, result.stderr
    return folder / "large.plan"


@limits_addresses
@pytest.mark.parametrize("process", [0, 1])
def test_a_process_without_memory_for_its_ranks(mpirun, plan, process, tmp_path):  # noqa: F811
    words = replaced(command(plan, 3), plan / "mlp.plan", compile_large(tmp_path))
    both = [words, words]
    both[process] = limited(words, 1000000)
    job = Ended(mpirun, tmp_path, *both)
    assert job.status != 0 and job.seconds < 20
    problem = r"cannot allocate an arena of \d+ bytes: Cannot allocate memory"
    assert re.search(f"error: {problem}", job.texts[process]), job.texts
    # The launcher may end the other one first.
    other = job.texts[1 - process]
    assert re.search(f"error: process {process}: {problem}", other) or "error" not in other, other


@contextlib.contextmanager
def without_memory(process):
    """The kernel kills the process, which is in a control group of version 1 or 2 with one that wants more memory."""
    root = pathlib.Path("/sys/fs/cgroup")
    for parent, limit in (root / "memory", "memory.limit_in_bytes"), (root, "memory.max"):
        group = parent / f"weft-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            if (group / limit).exists():
                (group / limit).write_text(str(8 << 20))
                break
            group.rmdir()
    else:
        pytest.skip("needs root and the memory controller of control groups")
    (group / "cgroup.procs").write_text(str(process))
    # Of the two the kernel kills the larger one first.
    wants = subprocess.Popen(["bash", "-c", f"echo $$ > {group}/cgroup.procs; head -c 100M /dev/zero | tail -c 100M"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        counts = [path.read_text() for name in ("memory.oom_control", "memory.events") if (path := group / name).exists()]
        assert re.search(r"^oom_kill [1-9]", counts[0], re.M), counts
    finally:
        wants.kill()
        wants.wait()
        deadline = time.monotonic() + 10
        while group.exists():
            assert time.monotonic() < deadline
            with contextlib.suppress(OSError):  # a process is still ending
                group.rmdir()
            time.sleep(0.01)


@pytest.mark.parametrize("process", [0, 1])
def test_a_process_that_the_kernel_kills_for_its_memory(mpirun, plan, process, tmp_path):  # noqa: F811
    with Job(mpirun, plan, tmp_path, deadline=90) as job:
        job.wait()
        with without_memory(job.processes()[process]):
            begin = time.monotonic()
            text, status = job.end()
        assert status != 0 and time.monotonic() - begin < 30
    # Who started the processes may end the other one before it can say so.
    # UCX may end the other one first, which reads the memory of the killed one at this moment.
    assert re.search(rf"process {process} \(ranks \d, \d\) (ended|has ended)|ignal 9|returned -1: No such process", text), text


@limits_addresses
def test_any_limit_of_memory_is_reported(plan, tmp_path):  # noqa: F811
    """As one message, whatever it is that finds none; or by a library itself, or who loads it."""
    found = set()
    for kilobytes in range(100000, 460000, 12000):
        result = run(limited(command(plan, 2, "--checkpoint", tmp_path / str(kilobytes), "--every", "1"), kilobytes))
        # OpenMP, which oneDNN uses, ends a process by exit() beside threads that still run.
        if result.returncode not in (0, 127) and "libgomp: Out of memory" not in result.stderr:
            said = re.match(r"shard-run: error: (cannot allocate an arena|cannot start \d+ threads|cannot start the thread|"
                            r"no memory|out of memory|checkpoint of step \d).*\n$", result.stderr)
            assert result.returncode == 1 and said, (kilobytes, result.returncode, result.stderr)
            found.add(said[1])
    assert "cannot allocate an arena" in found
