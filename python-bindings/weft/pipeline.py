# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipeline schedules: their tables, their timing and pictures of them.

    weft.pipeline.schedule("zb-v", ranks=4, microbatches=8)

In a notebook the result shows its picture. Times are those of all stages of a rank for one
micro-batch; memory is in units of what one micro-batch keeps in all stages of a rank.
"""

from __future__ import annotations

import dataclasses
import numbers
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Action", "Pipeline", "Published", "Schedule", "load_table", "schedule", "schedule_names", "table"]

Times = str | Mapping[str, float | Sequence[float]] | None


class Action(NamedTuple):
    """An action of a rank with its time."""

    action: str
    """In PyTorch's notation: ``2F0`` is the forward pass of stage 2 on micro-batch 0."""
    start: float
    end: float


class Published(NamedTuple):
    """A published schedule that ``auto`` was measured against."""

    name: str
    chunks: int
    makespan: float
    peak: float


class Schedule:
    """A table of actions, one row a rank, and when each of them runs."""

    def __init__(self, timed):
        self._timed = timed
        self.name: str = timed.name
        self.ranks: int = timed.ranks
        self.microbatches: int = timed.microbatches
        self.chunks: int = timed.chunks
        """Stages per rank."""
        self.makespan: float = timed.makespan
        """The time of the step."""
        self.lower_bound: float = timed.lower_bound
        """What no table is faster than that has the same stages on the same ranks."""
        self.bubble_fraction: float = timed.bubble_fraction
        """Idle time of all ranks as a fraction of the time that they have, 0 to 1."""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The actions of each rank, in its order."""
        return tuple(tuple(row.split(",")) for row in self.to_csv().splitlines())

    @property
    def busy(self) -> tuple[float, ...]:
        """The time that each rank computes."""
        return tuple(self._timed.busy(rank) for rank in range(self.ranks))

    @property
    def bubble(self) -> tuple[float, ...]:
        """The time that each rank is idle."""
        return tuple(self.makespan - busy for busy in self.busy)

    @property
    def peaks(self) -> tuple[float, ...]:
        """The most activations that each rank keeps."""
        return tuple(self._timed.peak(rank) for rank in range(self.ranks))

    @property
    def actions(self) -> tuple[tuple[Action, ...], ...]:
        """The actions of each rank with their times. Both of an overlapped pair have its time."""
        return tuple(
            tuple(Action(*action) for action in self._timed.actions(rank))
            for rank in range(self.ranks)
        )

    @property
    def published(self) -> tuple[Published, ...]:
        """Of ``auto``: the published schedules that fit, the fastest first."""
        return tuple(Published(*one) for one in self._timed.published())

    def to_csv(self) -> str:
        """The table as PyTorch reads and writes it."""
        return self._timed.csv

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Writes the table to a CSV file."""
        pathlib.Path(path).write_text(self.to_csv())

    def draw(self, width: int = 120) -> str:
        """The timeline as text, of about as many columns."""
        return self._timed.draw_text(width)

    def _repr_svg_(self) -> str:
        return self._timed.draw_svg()

    def __repr__(self) -> str:
        return (
            f"<weft.pipeline.Schedule {self._timed.title}: makespan {self.makespan:.6g}, "
            f"bubble {100 * self.bubble_fraction:.1f} %, peak {max(self.peaks):.6g}>"
        )

    def __str__(self) -> str:
        return f"{self!r}\n{self.draw()}"


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """Stages along an axis of the mesh, for `weft.jit` and `weft.from_jax`.

    The model says with `weft.stage_boundary` where it is cut; each rank along `axis`, which
    shards nothing, has one of the stages, or `chunks` of them.
    """

    axis: str
    schedule: str | Schedule = "1f1b"
    """The name of a published schedule, the path of a CSV file with a table, or a table of
    `weft.pipeline`."""
    chunks: int | None = None
    """Stages of each rank; as the boundaries make if it is not given."""
    stages: str | None = None
    """``"auto"`` lets the compiler place the boundaries, of which the model then has none."""
    microbatches: int | None = None
    """Into how many micro-batches each `weft.value_and_grad` of the function that is compiled
    splits its batch, as `weft.microbatches` does, which may be used instead. In a function of JAX
    without a loop over micro-batches, and in one without gradients, the batch of the step: arguments
    that are not donated."""

    def __post_init__(self):
        for name in ("chunks", "microbatches"):
            number = getattr(self, name)
            if number is not None and (not _is_integer(number) or number < 1):
                raise ValueError(f"Pipeline {name} must be a number of at least 1, got {number!r}")
        if self.stages not in (None, "auto"):
            raise ValueError(f"Pipeline stages must be \"auto\" or left out, got {self.stages!r}")
        if not isinstance(self.axis, str) or not self.axis or " " in self.axis:
            raise ValueError(f"Pipeline axis must be the name of a mesh axis, got {self.axis!r}")
        if not isinstance(self.schedule, (str, os.PathLike, Schedule)):
            raise TypeError("Pipeline schedule must be a name, a file or a weft.pipeline.Schedule, got "
                            f"{self.schedule!r} of type {type(self.schedule).__name__}")

    def options(self, splits_batch: bool) -> dict[str, str]:
        """For the compiler, which splits the batch where the traced function has not done it."""
        text = f"axis={self.axis}" + (" stages=auto" if self.stages else "")
        if splits_batch and self.microbatches:
            text += f" microbatches={self.microbatches}"
        chunks = f" chunks={self.chunks}" if self.chunks else ""
        if isinstance(self.schedule, Schedule):
            return {"pipeline": text + chunks, "pipeline_table": self.schedule.to_csv(),
                    "pipeline_table_name": f"the schedule {self.schedule.name}"}
        name = os.fspath(self.schedule)
        if not name.endswith(".csv"):
            return {"pipeline": f"{text} schedule={name}{chunks}"}
        try:
            table = pathlib.Path(name).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"the schedule {name} is no text in UTF-8: {error}") from None
        if not table.strip(" ,\t\r\n"):
            raise ValueError(f"the schedule {name} has no actions")
        return {"pipeline": text + chunks, "pipeline_table": table, "pipeline_table_name": name}


def checked_pipeline(what: str, pipeline: Pipeline | None, mesh) -> Pipeline | None:
    """The pipeline, if it is one on the mesh."""
    if pipeline is None:
        return None
    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"{what}: pipeline must be a weft.Pipeline, got {pipeline!r} of type "
                        f"{type(pipeline).__name__}")
    if mesh is None or pipeline.axis not in mesh.axis_names:
        axes = "there is no mesh" if mesh is None else f"the axes of the mesh are {', '.join(mesh.axis_names)}"
        raise ValueError(f"{what}: the pipeline is along {pipeline.axis!r}, but {axes}")
    return pipeline


def schedule(
    name: str,
    ranks: int,
    microbatches: int,
    *,
    chunks: int | None = None,
    times: Times = None,
    transfer: float = 0.0,
    memory_limit: float | None = None,
) -> Schedule:
    """A published schedule (`schedule_names` lists them), or with ``auto`` the fastest table that a
    search finds within the memory limit.

    `times` are those of forward passes, input and weight gradients: ``{"F": 1, "I": 1, "W": 1}``, or a
    list of one for each rank; ``FB`` is that of a forward that overlaps a backward pass, and ``A`` the
    memory of activations. `transfer` passes between ranks. Raises `ValueError` with all that is wrong.
    """
    size = {"ranks": ranks, "microbatches": microbatches}
    if chunks is not None:
        size["chunks"] = chunks
    for what, value in size.items():
        if not _is_integer(value) or not 1 <= value < 2**31:
            raise ValueError(f"{what} must be an integer from 1 to 2147483647, got {value!r}")
    return _make(name=name, csv=None, file="", ranks=int(ranks), microbatches=int(microbatches),
                 chunks=int(chunks or 0), times=times, transfer=transfer, memory_limit=memory_limit)


def table(
    csv: str,
    *,
    times: Times = None,
    transfer: float = 0.0,
    memory_limit: float | None = None,
    name: str = "table",
) -> Schedule:
    """A table of one's own: CSV with a row for each rank, in PyTorch's notation."""
    return _make(name="", csv=csv, file=name, ranks=0, microbatches=0, chunks=0, times=times,
                 transfer=transfer, memory_limit=memory_limit)


def load_table(
    path: str | os.PathLike[str],
    *,
    times: Times = None,
    transfer: float = 0.0,
    memory_limit: float | None = None,
) -> Schedule:
    """The table in a CSV file, also one that PyTorch wrote."""
    text = pathlib.Path(path).read_text()
    return table(text, times=times, transfer=transfer, memory_limit=memory_limit, name=os.fspath(path))


def schedule_names() -> tuple[str, ...]:
    """The names of the published schedules."""
    from . import _runtime

    return tuple(_runtime.schedule_names())


def _is_integer(value) -> bool:
    """Of Python or of NumPy."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _make(*, times, transfer, memory_limit, **request) -> Schedule:
    from . import _runtime

    timed, errors = _runtime.make_schedule(
        times=_times_as_text(times), transfer=float(transfer),
        memory_limit=None if memory_limit is None else float(memory_limit), **request)
    if timed is None:
        raise ValueError("\n".join(errors))
    return Schedule(timed)


def _times_as_text(times: Times) -> str:
    if times is None:
        return ""
    if isinstance(times, str):
        return times
    entries = []
    for kind, value in times.items():
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        entries.append(f"{kind}:" + "/".join(repr(float(one)) for one in values))
    return ",".join(entries)
