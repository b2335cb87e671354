# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a program: checkpoints come to disk, and the processes of a job wait for each other.

Python's exit status does not know of what fails then; here it becomes 1.
"""

import atexit
import os
import sys
import time

from . import checkpoints, distributed
from .diagnostics import ExecutionError


@atexit.register
def _end() -> None:
    job, error = distributed.job(), getattr(sys, "last_value", None)
    if job and error is not None:
        # The others learn at once of an exception that nobody caught.
        job.fail(f"process {job.process}: {type(error).__name__}: {error}")
    problems = checkpoints.finish()
    if job and error is None:
        problems += _await_others(job)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems and error is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _await_others(job) -> list[Exception]:
    """Until all have come to their ends; what failed meanwhile."""
    try:
        while not job.end():
            time.sleep(0.02)
    except ExecutionError as error:
        return [error]
    return []
