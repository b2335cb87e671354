# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the threads of a benchmark run ahead of other processes, on machines that have something else to do.

Ranks meet at every collective. On a busy machine one that wakes up waits until the slice of another process is over,
some milliseconds, which is longer than the collective. With the least niceness and slices of 0.1 ms, Linux lets it
run at once, and its threads take turns as they would alone; caches and memory are shared all the same. Needs root.
"""

import ctypes
import os
import struct

# Of x86-64; the C library has no function for it.
SCHED_SETATTR = 314
LEAST_NICENESS, SLICE_NANOSECONDS = -20, 100_000


def run_ahead():
    """Of this thread and those that it starts. OSError says why not."""
    # struct sched_attr: size, policy, flags, niceness, priority, runtime, deadline, period.
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, LEAST_NICENESS, 0, SLICE_NANOSECONDS, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(SCHED_SETATTR, 0, ctypes.create_string_buffer(attributes), 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def add_argument(parser):
    parser.add_argument("--ahead", action="store_true", help="run ahead of other processes (run_ahead.py; needs root)")
