# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in processes of their own: one that runs out of memory takes no other with it, and what
each has allocated is free behind it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any


def run_each(
    tasks: Sequence[Callable[[], Any]], jobs: int, progress: Callable[[int, int], None] | None = None
) -> list[Any]:
    """What each of the tasks returns, or of one whose process ends without a result a text that says
    so. No more than `jobs` run at a time."""
    # Tasks are functions of the caller, which a fork has without pickling them.
    context = multiprocessing.get_context("fork")
    results: list[Any] = [None] * len(tasks)
    running: dict[Any, tuple[int, Any]] = {}
    waiting = iter(range(len(tasks)))
    done = 0
    try:
        while True:
            while len(running) < jobs and (number := next(waiting, None)) is not None:
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_run, args=(tasks[number], sender))
                process.start()
                sender.close()
                running[receiver] = number, process
            if not running:
                return results
            for receiver in connection.wait([*running]):
                number, process = running.pop(receiver)
                results[number] = _result(receiver, process)
                done += 1
                if progress:
                    progress(done, len(tasks))
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def _run(task: Callable[[], Any], sender: Any) -> None:
    sender.send(task())


def _result(receiver: Any, process: Any) -> Any:
    """Of a process that has sent it, or has ended."""
    try:
        result = receiver.recv()
        process.join()
    except EOFError:
        process.join()
        code = process.exitcode
        result = f"its process was ended by signal {-code}" if code < 0 else f"its process ended with status {code}"
    receiver.close()
    return result
