# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A job of several processes: how they meet, and which one this is.

    weft.distributed.initialize()      # does nothing where a program runs alone
    if weft.process_index() == 0:
        print(...)

Started with `mpirun -n 2 python train.py`, each process has half of the ranks of every plan that
has several; a plan of one rank runs in each. All processes make the same calls in the same order.
"""

from __future__ import annotations

import atexit
import sys

_job = None
_is_initialized = False


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    initialization_timeout: float = 300,
) -> None:
    """Meets the other processes of the job, and returns when all have come.

    Without arguments the environment says who they are: that of mpirun (Open MPI, MPICH) or srun.
    `coordinator_address` is ``host:port`` of process 0. Fails after `initialization_timeout` seconds
    with the processes that did not come. Call it once, before anything runs.
    """
    from . import _runtime

    global _job, _is_initialized
    if _is_initialized:
        raise RuntimeError("weft.distributed.initialize() was called before; call it once")
    if coordinator_address is None and (num_processes is not None or process_id is not None):
        raise ValueError(
            f"weft.distributed.initialize() got num_processes={num_processes} and process_id={process_id} without "
            "coordinator_address; give it as host:port of process 0, or leave all three to mpirun or srun")
    address = "" if coordinator_address is None else f"tcp://{coordinator_address}"
    _job = _runtime.Bootstrap.connect(address, num_processes, process_id, initialization_timeout)
    _is_initialized = True
    if _job:
        atexit.register(_end)


def is_initialized() -> bool:
    """Whether `initialize` was called."""
    return _is_initialized


def process_index() -> int:
    """The number of this process in the job, from 0."""
    return _job.process if _job else 0


def process_count() -> int:
    """How many processes the job has."""
    return _job.processes if _job else 1


def local_ranks(ranks: int) -> range:
    """The ranks of a plan of `ranks` that are threads of this process."""
    if ranks == 1:
        return range(1)
    each = ranks // process_count()
    return range(process_index() * each, (process_index() + 1) * each)


def job():
    """The processes of the job, as the runtime knows them; None if this one is alone."""
    return _job


def job_of(ranks: int):
    """What a session of a plan with so many ranks shares with other processes."""
    return _job if ranks > 1 else None


def _end() -> None:
    """The other processes learn at once of an exception that nobody caught; else this one stays
    until all have come to their ends."""
    if (error := getattr(sys, "last_value", None)) is not None:
        _job.fail(f"process {process_index()}: {type(error).__name__}: {error}")
        return
    try:
        _job.barrier("the end of the program", 30)
    except Exception as error:
        print(f"error: {error}", file=sys.stderr)
