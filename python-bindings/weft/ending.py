# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a program: checkpoints come to disk, and the processes of a job wait for each other.

Python's exit status does not know of what fails then; here it becomes 1, or 130 after Ctrl-C.
"""

import atexit
import os
import sys
import time

from . import checkpoints, distributed
from .diagnostics import ExecutionError

_process = os.getpid()


@atexit.register
def _end() -> None:
    if os.getpid() != _process:
        return  # a child that was forked: it is none of the job
    job, error = distributed.job(), getattr(sys, "last_value", None)
    problems: list[str] = []
    status = 0
    try:
        if job and error is not None:
            # The others learn at once of an exception that nobody caught.
            job.fail(f"process {job.process}: {type(error).__name__}: {error}")
        problems += map(str, checkpoints.finish())
        if job and error is None and not problems:
            problems += map(str, _await_others(job))
        status = 1 if problems else 0
    except KeyboardInterrupt:
        problems.append("interrupted at the end of the program, which waits for checkpoints and other processes")
        status = 130
        if job:
            job.fail(f"process {job.process}: KeyboardInterrupt")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if job and (status or error is not None):
        job.leave()
    if status and error is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _await_others(job) -> list[Exception]:
    """Until all have come to their ends; what failed meanwhile."""
    try:
        while not job.end():
            time.sleep(0.02)
    except ExecutionError as error:
        return [error]
    return []
