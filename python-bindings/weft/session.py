# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans in memory and their execution: N ranks as threads of this process, or of the processes
of a job (`weft.distributed`).

Most programs need only what `weft.jit` and `weft.load` return. A `Session` is for
programs that keep states on the ranks between calls, or that run several entries:

    session = weft.Session(weft.Plan.load("mlp.plan"))
    session.run("init")
    session.set_input("train_step", "x", x)
    session.run("train_step")
    loss = session.output("loss")
"""

from __future__ import annotations

import dataclasses
import functools
import os
import threading
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import checkpoints, distributed
from . import mesh as meshes
from .arguments import Shards, Unfit, as_input, type_text
from .diagnostics import ExecutionError, MissingFileError
from .dtypes import as_tensor, dtype_named
from .legality import violations
from .mesh import AbstractMesh, AxisType
from .names import escape, unescape
from .shape import check_unmasked
from .sharding import NamedSharding
from .spec import PartitionSpec

@dataclasses.dataclass(frozen=True)
class ValueInfo:
    """An input or output of a plan."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    """Of the whole array, and of the part of one rank."""
    local_shape: tuple[int, ...]
    sharding: NamedSharding
    is_state: bool
    """Whether it lives from call to call: a donated argument and the result that replaces it."""

    @property
    def type(self) -> str:
        """``float32[8, 4]``"""
        return type_text(self.dtype, self.shape)


@dataclasses.dataclass(frozen=True)
class EntryInfo:
    """A function that a plan offers."""

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]


def _trimmed(dims: Sequence[tuple[str, ...]]) -> list:
    """Axes of each dimension as a spec has them."""
    entries = [None if not axes else axes[0] if len(axes) == 1 else axes for axes in dims]
    while entries and entries[-1] is None:
        entries.pop()
    return entries


class Plan:
    """A plan that was read and verified."""

    def __init__(self, contents: bytes):
        from . import _runtime

        self.contents = contents
        self.handle = _runtime.Plan.parse(contents)
        names, sizes = zip(*self.handle.mesh) if self.handle.mesh else ((), ())
        # What a plan says of an axis is final, also where values hold partial sums.
        self._explicit = AbstractMesh(sizes, names, (AxisType.Explicit,) * len(names))
        stored = self.metadata.get(meshes.METADATA_KEY)
        self.mesh = (stored and meshes.read(stored, sizes, names)) or self._explicit
        self._shardings: dict[tuple, NamedSharding] = {}

    @staticmethod
    def load(path: str | os.PathLike) -> Plan:
        """Reads a plan file."""
        from . import _runtime

        try:
            _runtime.Plan.load(os.fsdecode(path))  # whose messages name the path
        except ExecutionError as error:
            if not os.path.exists(path):
                raise MissingFileError(str(error), os.fspath(path)) from None
            raise
        with open(path, "rb") as file:
            return Plan(file.read())

    def save(self, path: str | os.PathLike) -> None:
        """Writes the plan file, whole or not at all; a link stays and its target is written. What is not a
        regular file, a device or a pipe, is written as it is."""
        path = os.path.realpath(path)
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(self.contents)
            return
        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(self.contents)
            os.replace(temporary, path)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)

    @property
    def ranks(self) -> int:
        return self.handle.ranks

    @property
    def metadata(self) -> dict[str, str]:
        """What the caller of the compiler stored with the plan."""
        return self.handle.metadata

    @property
    def has_machine_code(self) -> bool:
        return self.handle.target != "none"

    @functools.cached_property
    def entries(self) -> tuple[EntryInfo, ...]:
        return tuple(
            EntryInfo(name, tuple(map(self._info, inputs)), tuple(map(self._info, outputs)))
            for name, inputs, outputs in self.handle.entries
        )

    def _info(self, record: tuple) -> ValueInfo:
        name, dtype, shape, local, dims, unreduced, _, is_state = record
        sharding = self._sharding(dims, unreduced)
        dtype = dtype_named(dtype)
        return ValueInfo(unescape(name), dtype, shape, local, sharding, is_state)

    def _sharding(self, dims: tuple, unreduced: tuple) -> NamedSharding:
        """A plan has few of them, for many values."""
        known = self._shardings.get((dims, unreduced))
        if known is None:
            spec = PartitionSpec(*_trimmed(dims), unreduced=set(unreduced))
            mesh = self._explicit if violations(spec, self.mesh) else self.mesh
            known = self._shardings[dims, unreduced] = NamedSharding(mesh, spec)
        return known

    def as_text(self, section: str | None = None) -> str:
        """All of it, or "header", "groups", "states", "kernels" or an entry."""
        return self.handle.dump(section)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.contents == other.contents

    def __hash__(self) -> int:
        return hash(self.contents)

    def __reduce__(self):
        return Plan, (self.contents,)

    def __repr__(self) -> str:
        names = ", ".join(name for name, _, _ in self.handle.entries)
        return f"Plan({self.handle.hash:016x}: {names}; {self.ranks} ranks)"


class RunTimes(NamedTuple):
    """How long the host was busy with a run, in seconds."""

    total: float
    """From the call to the end of the last rank."""
    enqueue: float
    """Of that, until a GPU had been given all work, in the rank that took longest; 0 on CPUs."""


class RankUsage(NamedTuple):
    """What a rank did in a run, in seconds, and the memory that it has."""

    role: int
    """Its stage in a pipeline; 0 without one."""
    total: float
    """In its thread; on a GPU as `RunTimes.total`."""
    waited: float | None
    """Of that, in collectives and messages that it waited for: communication that nothing hides, and ranks that
    come late. None on a GPU, which the host does not see."""
    resident_bytes: int
    """Memory of the machine that its process has."""


class Session:
    """The ranks of a plan with their memory, alive until the object goes.

    `threads` is the number of threads that each rank computes with, `deadline` how many
    seconds a rank waits for the others in one collective (`math.inf`: as long as it takes; time
    in which the process is stopped does not count), `memory_limit` the bytes that all
    ranks may take together (0: those of the machine). The first `trace_runs` runs are recorded
    for `write_trace`. Calls from several threads take turns; other threads of Python run
    while a call does.

    For plans for GPUs: `device` is the one that the ranks are on, as the driver counts,
    `cuda_graphs` whether an entry runs as one graph from its third run on, and `deterministic`
    whether results have the same bits in every process: no algorithm is then chosen by how long
    it took. In a job of several processes all of them create the session and make the same calls.
    Fallbacks, for example when a library is missing, raise a `RuntimeWarning` with the reason.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        threads: int = 1,
        deadline: float = 30.0,
        memory_limit: int = 0,
        trace_runs: int = 0,
        device: int = 0,
        cuda_graphs: bool = True,
        deterministic: bool = False,
    ):
        from . import _runtime

        self.plan = plan
        self._handle = _runtime.Session.create(
            plan.handle,
            threads=threads,
            deadline_seconds=deadline,
            memory_limit=memory_limit,
            trace_runs=trace_runs,
            device=device,
            cuda_graphs=cuda_graphs,
            deterministic=deterministic,
            bootstrap=distributed.job_of(plan.ranks),
        )
        self._lock = threading.RLock()
        self._infos: dict[str, ValueInfo] = {}
        self._inputs: dict[tuple[str, str], ValueInfo] = {}
        # By the name of an entry its number and its outputs, and shapes and dtypes of these.
        self._calls = {
            entry.name: (i, {info.name: info for info in entry.outputs},
                         [(info.shape, info.dtype) for info in entry.outputs])
            for i, entry in enumerate(plan.entries)
        }
        for entry in plan.entries:
            self._inputs |= {(entry.name, info.name): info for info in entry.inputs}
            for info in (*entry.inputs, *entry.outputs):
                if info.is_state:
                    self._infos[info.name] = info
        self._states = dict(self._infos)

    def set_input(self, entry: str, name: str, value: np.ndarray | Shards) -> None:
        """An input for this and later runs of the entry; a state for all entries. Numbers and
        64-bit arrays are converted as those of a call."""
        info = self._inputs.get((entry, name))
        with self._lock:
            if isinstance(value, Shards):
                parts = [as_tensor(_converted(part, name, info)) for part in value]
                self._handle.set_input_shards(entry, escape(name), parts)
            else:
                self._handle.set_input(entry, escape(name), as_tensor(_converted(value, name, info)))

    def set_state(self, name: str, value: np.ndarray) -> None:
        """A state for all entries, converted as an input is."""
        value = _converted(value, name, self._states.get(name))
        with self._lock:
            self._handle.set_state(escape(name), as_tensor(value))

    @property
    def local_ranks(self) -> range:
        """The ranks that are threads of this process."""
        return distributed.local_ranks(self.plan.ranks)

    @property
    def arena_bytes(self) -> list[int]:
        """The memory that each rank of this process has allocated."""
        return self._handle.arena_bytes

    def unset_inputs(self, entry: str) -> list[str]:
        """Inputs of the entry, states among them, that nobody has set."""
        with self._lock:
            return [unescape(name) for name in self._handle.unset_inputs(entry)]

    def run(self, entry: str) -> None:
        """Runs the entry once on all ranks."""
        with self._lock:
            self._handle.run(entry)
            self._infos.update(self._calls[entry][1])

    def call(self, entry: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Sets all inputs of the entry, runs it and returns all its outputs: arrays of the dtypes
        and shapes of its `EntryInfo`, in order."""
        return self.call_some(entry, inputs)

    def call_some(
        self, entry: str, inputs: Sequence[np.ndarray | None], unread: Container[int] = ()
    ) -> list[np.ndarray | None]:
        """As `call`, but an input that is None keeps its value, and results whose numbers are in
        `unread` are not fetched and None."""
        number, outputs, types = self._calls[entry]
        inputs = [x if x is None or x.flags.c_contiguous else np.ascontiguousarray(x) for x in inputs]
        results = [None if i in unread else np.empty(*kind) for i, kind in enumerate(types)]
        with self._lock:
            self._handle.call(number, inputs, results)
            self._infos.update(outputs)
        return results

    def set_parts(self, entry: str, name: str, parts: Mapping[int, np.ndarray]) -> None:
        """An input or a state from what each rank of this process is to hold, by its number."""
        other = next(iter(parts.values()))  # of the ranks of other processes, which nobody reads
        tensors = {rank: as_tensor(part) for rank, part in parts.items()}
        with self._lock:
            self._handle.set_input_shards(entry, escape(name), [
                tensors.get(rank) or as_tensor(other) for rank in range(self.plan.ranks)])

    @property
    def last_run(self) -> RunTimes:
        """How long the host was busy with the last run."""
        with self._lock:
            return RunTimes(*self._handle.last_run_seconds())

    def rank_usage(self) -> list[RankUsage]:
        """What each rank did in the last run, those of other processes as well. All processes of a job call it
        alike. A rank that others wait for computes longer, and waits less, than they do."""
        with self._lock:
            return [RankUsage(*usage) for usage in self._handle.rank_usage()]

    def state(self, name: str) -> np.ndarray:
        """A state as a whole array; a copy."""
        with self._lock:
            return self._array(name, self._handle.state(escape(name)))

    def output(self, name: str) -> np.ndarray:
        """An output of the entry that ran last as a whole array; a copy."""
        with self._lock:
            return self._array(name, self._handle.output(escape(name)))

    def value(self, name: str) -> np.ndarray:
        """An output of the entry that ran last, or a state."""
        return (self.state if self._infos[name].is_state else self.output)(name)

    def shard(self, name: str, rank: int) -> np.ndarray:
        """What a rank of this process holds of an output of the entry that ran last, or of a state; a copy."""
        with self._lock:
            return self._array(name, self._handle.shard(escape(name), rank), local=True)

    def ranks_with(self, name: str) -> list[int]:
        """The ranks of this process that hold a state, or whose stage in a pipeline has ranks here
        that do."""
        if len(self.local_ranks) == self.plan.ranks:
            return [*self.local_ranks]
        return [rank for rank in self.local_ranks if self._is_here(name, rank)]

    def _is_here(self, name: str, rank: int) -> bool:
        try:
            self.shard(name, rank)
        except ExecutionError as error:
            if error.code != "invalid_argument":
                raise
            return False
        return True

    def shards(self, name: str) -> Shards:
        """An output of the entry that ran last, or a state, as the ranks hold it."""
        with self._lock:
            return Shards(self.shard(name, rank) for rank in range(self.plan.ranks))

    def save(
        self,
        directory: str | os.PathLike,
        *,
        step: int,
        keep: int | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> checkpoints.Saving:
        """Writes all states as a checkpoint, as `weft.save` does, straight from the ranks: each
        process writes what its ranks hold. Returns when the states are copied; runs go on meanwhile."""
        def write(writer):
            with self._lock:
                self._handle.save(writer, step, dict(metadata or {}))

        return checkpoints.begin(directory, step, keep, distributed.job_of(self.plan.ranks), write)

    def prepare_save(self, directory: str | os.PathLike, *, keep: int | None = None) -> None:
        """Gets the memory that `save` to the folder copies states to, while the program goes on: otherwise the
        first `save` does, and takes longer than later ones. To be called with the arguments of `save`."""
        writer = checkpoints.writer_of(directory, keep, distributed.job_of(self.plan.ranks))
        if writer is not None:
            with self._lock:
                self._handle.prepare_save(writer)

    def restore(
        self, directory: str | os.PathLike, *, step: int | None = None, skip_damaged: bool = False
    ) -> int:
        """Sets all states from the last checkpoint in a folder, or from that of a `step`: its step.
        It may be of another mesh and number of processes; each process reads what its ranks hold. Failures
        are those of `weft.restore`."""
        def read(step, path):
            with self._lock:
                self._handle.restore(path)
            return step

        return checkpoints.try_steps(directory, step, skip_damaged, read)

    def write_trace(self, path: str | os.PathLike) -> None:
        """Writes when each step of the recorded runs ran, on all ranks, as JSON for Perfetto. All processes of a
        job call it alike, and process 0 writes."""
        with self._lock:
            self._handle.write_trace(os.fspath(path))

    def __reduce__(self):
        raise TypeError(
            "a Session cannot be pickled or copied: its ranks are threads of this process; pickle "
            "its plan, and make a session of that"
        )

    def __repr__(self) -> str:
        return f"Session({self.plan!r})"

    def _array(self, name: str, data: np.ndarray, local: bool = False) -> np.ndarray:
        info = self._infos[name]
        return data.view(info.dtype).reshape(info.local_shape if local else info.shape)


def _converted(value: Any, name: str, info: ValueInfo | None) -> Any:
    """The value in the dtype of the input or state; the runtime refuses an unknown one."""
    check_unmasked(value, name)
    if info is None:
        return value
    try:
        return as_input(value, info.dtype)
    except Unfit as problem:
        raise TypeError(f"{name}: expected {info.type}, got {problem}") from None
