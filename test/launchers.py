# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that tests start several processes with: mpirun of Open MPI and of MPICH."""

import os
import pathlib
import shutil
import subprocess

import pytest

COMMANDS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpirun.mpich"]}
# Of tests in a container, where root has fewer cores than processes.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def mpirun(library, folder):
    """The command that starts processes, without their number; `folder` has what they load."""
    command = COMMANDS[library]
    module = pathlib.Path(folder) / f"libweft_mpi_{library}.so"
    if not shutil.which(command[0]) or not module.exists():
        pytest.skip(f"{command[0]} is not installed, or was not when Weft was built (scripts/setup.sh)")
    return command


def run(words, **options):
    return subprocess.run([*map(str, words)], env=os.environ | ENVIRONMENT, capture_output=True, text=True,
                          timeout=100, **options)
