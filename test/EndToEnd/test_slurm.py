# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mpirun starts in other tests, started by srun in a Slurm of this host."""

import os
import subprocess
import sys
import tempfile
import time

import pytest

import slurm
from conftest import EXAMPLE, binaries, succeed
from launchers import run
from test_emulated_gpu import emulator
from test_mpi import (  # noqa: F401
    Job, command, outputs, plan, test_a_killed_process_ends_the_job, test_a_stopped_process_is_named_by_the_other_one,
    test_a_stopped_process_is_noticed_long_before_the_deadline, test_processes_have_the_bits_of_threads)
from test_resume import continues_from, saved_by_signal, test_a_resumed_run_has_the_bits_of_one_that_never_stopped, whole  # noqa: F401

pytestmark = pytest.mark.skipif(
    not slurm.is_installed(), reason="needs root, and the Debian packages slurmctld, slurmd, slurm-client and munge")


@pytest.fixture(scope="module")
def node():
    """The variables by which srun finds its daemons."""
    with tempfile.TemporaryDirectory() as folder, slurm.one_node(folder) as variables:
        yield variables


@pytest.fixture
def variables(node, monkeypatch):
    for name, value in node.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=slurm.COMMANDS)
def mpirun(request, variables):
    """In the place of the one of other tests."""
    library = request.param.removeprefix("srun-")
    if not (binaries() / f"libweft_mpi_{library}.so").exists():
        pytest.skip(f"{library} was not installed when Weft was built (scripts/setup.sh)")
    return slurm.COMMANDS[request.param]


def test_without_mpi(variables, plan):  # noqa: F811
    result = run(["srun", "-n", 2, "--mpi=none", *command(plan, 1)])
    assert result.returncode == 2
    assert ("but the variables of Slurm started 2 without it; start them with mpirun, srun --mpi=pmix (Open MPI) or "
            "srun --mpi=pmi2 (MPICH)") in result.stderr


def test_a_program_of_its_batch_script_is_alone(variables, plan, tmp_path):  # noqa: F811
    """Slurm says of it that it is a task of so many, as of those that srun starts."""
    out, deadline = tmp_path / "out", time.monotonic() + 60
    (tmp_path / "job.sh").write_text('#!/bin/bash\n"$@"\necho exit status $?\n')
    assert run(["sbatch", "-n", 2, "-o", out, tmp_path / "job.sh", *command(plan, 2)]).returncode == 0
    while not out.exists() or "exit status" not in out.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "2 steps in" in out.read_text() and "exit status 0" in out.read_text(), out.read_text()


def test_the_signal_of_scancel_ends_all_after_the_same_step(mpirun, plan, tmp_path):  # noqa: F811
    with Job(mpirun, plan, tmp_path, "--checkpoint", tmp_path / "run") as job:
        job.wait()
        number = run(["squeue", "-h", "-o", "%i"]).stdout.split()
        assert run(["scancel", "--signal=TERM", *number]).returncode == 0
        text, status = job.end()
    step = saved_by_signal(tmp_path, status, text)
    continues_from(plan, tmp_path, step, tmp_path / "never", [*mpirun, "-n", 2])


PROGRAM = """
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
total = weft.jit(lambda x: (x * x).sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=P("data"))
loss = float(total(np.random.default_rng(0).random((16, 8), np.float32)))
with open(f"{sys.argv[1]}/{weft.process_index()}", "w") as file:
    print("process", weft.process_index(), "of", weft.process_count(), [*weft.distributed.local_ranks(4)], loss.hex(), file=file)
"""


def test_python(mpirun, tmp_path):
    assert run([sys.executable, "-c", PROGRAM, tmp_path]).returncode == 0
    alone = (tmp_path / "0").read_text().partition("[0, 1, 2, 3]")[2]
    result = run([*mpirun, "-n", 2, sys.executable, "-c", PROGRAM, tmp_path])
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "0").read_text() == f"process 0 of 2 [0, 1]{alone}"
    assert (tmp_path / "1").read_text() == f"process 1 of 2 [2, 3]{alone}"


LEAVES = """
import os
import numpy as np
import weft

weft.distributed.initialize()
if weft.process_index() == 1:
    os._exit(0)
weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((2,), ("data",)), in_shardings=weft.P("data"))(np.ones(4, np.float32))
"""


def test_a_process_that_ends_before_mpi_begins(mpirun):
    """MPI waits for it for ever, and srun as well."""
    result = run([word for word in mpirun if word != "-K"] + ["-n", 2, sys.executable, "-c", LEAVES])
    assert result.returncode != 0
    assert "rank 1 ended without an error message; its own output may say why" in result.stderr


def test_gpus_need_no_mpi(variables, plan, tmp_path):  # noqa: F811
    nccl = binaries().parent / "emulator" / "nccl"
    if not (nccl / "libnccl.so.2").exists() or not os.path.exists(f"{emulator()}/libcublasLt.so.13"):
        pytest.skip("no emulated device or library in NCCL's place was built; they need the CUDA toolkit and NCCL's header")
    succeed("shard-compile", EXAMPLE / "mlp_lm.mlir", "--mesh", "data=2", "--target=cuda:sm_90", "--ptxas=none", "-o",
            tmp_path / "mlp.plan")
    both = []
    for launcher in ([], ["srun", "-K", "-n", "2", "--mpi=none"]):
        folder, files = outputs(tmp_path / str(len(both)))
        words = [*launcher, *command(plan, 2, *files)]
        words = [str(word).replace(str(plan / "mlp.plan"), str(tmp_path / "mlp.plan")) for word in words]
        settings = {"WEFT_CUDA_LIBRARIES": f"{emulator()}:{nccl}", "WEFT_CUDA_TUNE": "off", "TMPDIR": str(tmp_path)}
        result = subprocess.run(words, env=os.environ | settings, capture_output=True, text=True, timeout=100)
        assert result.returncode == 0, result.stdout + result.stderr
        both.append((folder / "metrics.csv").read_text())
    assert both[0] == both[1]
