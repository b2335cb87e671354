# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A job of several processes: how they meet, and which one this is.

    weft.distributed.initialize()      # does nothing where a program runs alone
    if weft.process_index() == 0:
        print(...)

Started with `mpirun -n 2 python train.py`, each process has half of the ranks of every plan that
has several; a plan of one rank runs in each. All processes make the same calls in the same order,
and come to the end of the program together: one that ends while others wait for it is a failure.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from typing import Any

_job = None
_is_initialized = False


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    initialization_timeout: float = 300,
    heartbeat: float = 3,
) -> None:
    """Meets the other processes of the job, and returns when all have come.

    Without arguments the environment says who they are: that of mpirun (Open MPI, MPICH) or srun.
    `coordinator_address` is ``host:port`` of process 0. Fails after `initialization_timeout` seconds
    with the processes that did not come. Later, a process that has been stopped for `heartbeat`
    seconds is a failure for the others, however long their sessions wait for one that computes;
    0 turns that off. Call it once, before anything runs.
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
    # An attempt that Ctrl-C ends may still meet the others: there is no second one.
    _is_initialized = True
    try:
        _job = _interruptible(lambda: _runtime.Bootstrap.connect(
            address, num_processes, process_id, initialization_timeout, heartbeat))
    except Exception:
        _is_initialized = False
        raise


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
    each, rest = divmod(ranks, process_count())
    if rest:
        raise ValueError(f"{ranks} ranks cannot be shared equally by {process_count()} processes; take a mesh whose size "
                         "they divide, or start another number of processes")
    return range(process_index() * each, (process_index() + 1) * each)


def job():
    """The processes of the job, as the runtime knows them; None if this one is alone."""
    return _job


def job_of(ranks: int):
    """What a session of a plan with so many ranks shares with other processes."""
    return _job if ranks > 1 else None


def process_allgather(tree: Any) -> Any:
    """A tree of `weft.Array`s as whole NumPy arrays, in every process. All processes of the job call
    it with the same tree."""
    from . import tree as trees
    from .arrays import gathered

    return trees.map(gathered, tree)


class PreemptionHandler:
    """Lets a loop of steps end early, after the same step in all processes of the job, so that
    they can save a checkpoint when a scheduler wants the machines back:

        with weft.distributed.PreemptionHandler() as preemption:
            for step in range(first, steps):
                session.run("train_step")
                if preemption.reached_sync_point(step + 1):
                    session.save("run", step=step + 1).wait()
                    sys.exit(3)

    Inside of the block the first of `signals` (SIGTERM and SIGUSR1 if none are given), in any process, asks
    all of them to stop; the same signal again does what it did before. `deadline` is how many seconds a
    process waits for the others to say which step they are in. All processes make one, in the main
    thread.
    """

    def __init__(self, signals: Iterable[int] = (signal.SIGTERM, signal.SIGUSR1), *, deadline: float = 30.0):
        self._signals, self._deadline = tuple(signals), deadline
        self._preemption: Any = None
        self._before: dict[int, Any] = {}
        self._is_reached = False

    def __enter__(self) -> PreemptionHandler:
        from . import _runtime

        self._preemption = _runtime.Preemption.create(_job, self._deadline)
        self._before = {number: signal.signal(number, self._ask) for number in self._signals}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._preemption = None

    def _ask(self, number: int, frame: Any) -> None:
        self.request()
        signal.signal(number, self._before[number])

    def request(self) -> None:
        """Asks all processes to stop, as a signal does."""
        self._preemption.request()

    def reached_sync_point(self, step: int) -> bool:
        """Whether the loop ends now that it has made `step` steps. To be called after every step in
        all processes; it becomes true after the same one in all, the next after they have agreed on it, which
        takes some tenths of a second, and costs nothing before."""
        self._is_reached = self._preemption.reached_sync_point(step)
        return self._is_reached

    @property
    def is_reached(self) -> bool:
        """Whether the loop was told to end."""
        return self._is_reached


def _interruptible(function: Callable[[], Any]) -> Any:
    """What `function` returns or raises, called in a thread: signals are handled while it waits."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.extend((function(), None))
        except Exception as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    result, error = outcome
    if error is not None:
        raise error
    return result
