# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Slurm of this one host, for tests of srun: its daemons, without systemd, cgroups and accounting. Several may run
at once: numbers of jobs, by which processes find each other, begin at one of its own.

Debian has it as slurmctld, slurmd, slurm-client and munge.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

# What srun starts processes of either MPI with.
COMMANDS = {"srun-openmpi": ["srun", "-K", "--mpi=pmix"], "srun-mpich": ["srun", "-K", "--mpi=pmi2"]}
DAEMONS = ("munged", "slurmctld", "slurmd")
CONFIGURATION = """
ClusterName=weft
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
FirstJobId={ports[0]}000
AuthInfo=socket={folder}/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def path(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def is_installed():
    return os.getuid() == 0 and all(map(path, [*DAEMONS, "srun"]))


@contextlib.contextmanager
def one_node(folder):
    """While it lasts, srun works with the variables that this yields. The folder must have a short name, as a socket
    lies in it, and be one that only this user writes to."""
    folder = pathlib.Path(folder)
    (folder / "state").mkdir()
    (folder / "key").write_bytes(os.urandom(64))
    (folder / "key").chmod(0o600)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    (folder / "slurm.conf").write_text(CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=ports))
    variables = {"SLURM_CONF": str(folder / "slurm.conf")}
    commands = {
        "munged": ["--foreground", "--force", f"--socket={folder}/munge", f"--key-file={folder}/key", f"--pid-file={folder}/munged.pid",
                   f"--seed-file={folder}/seed", f"--log-file={folder}/munged.log"],
        "slurmctld": ["-D"], "slurmd": ["-D"]}
    daemons = []
    try:
        for name, words in commands.items():
            with open(folder / f"{name}.out", "w") as out:
                daemons.append(subprocess.Popen([path(name), *words], env=os.environ | variables, stdin=subprocess.DEVNULL,
                                                stdout=out, stderr=out))
            if name == "munged":
                deadline = time.monotonic() + 20
                while not (folder / "munge").exists() and time.monotonic() < deadline:
                    time.sleep(0.05)
        deadline = time.monotonic() + 60
        while subprocess.run(["sinfo", "-h", "-o", "%t"], env=os.environ | variables, capture_output=True,
                             text=True).stdout.strip() != "idle":
            logs = "\n".join((folder / f"{name}.out").read_text()[-2000:] for name in DAEMONS)
            assert time.monotonic() < deadline, logs
            time.sleep(0.2)
        yield variables
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
