# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a plan sends, computes and stores, as records.

Numbers are those of one rank in one call; `Cost` holds estimates of the compiler. With a pipeline,
collectives and costs are summed over the ranks along its axis, of each of which `Memory.roles` has
the memory.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .edit import Edit
from .errors import size_text
from .names import escape
from .pipeline import Schedule
from .wording import as_python

if TYPE_CHECKING:
    from .session import EntryInfo, Plan

_INDEX = re.compile(r"(?<=\[)\d+(?=\])")
_MEMBER = re.compile(r"([\d.]+ [KMGTP]?i?B): (.*)")


@dataclasses.dataclass(frozen=True)
class Collective:
    """Collectives of a plan that are alike in everything but their number."""

    kind: str
    """``all_reduce``, ``all_gather``, ``reduce_scatter``, ``all_to_all``, ``permute`` or
    ``exchange``."""
    axes: tuple[str, ...]
    """Mesh axes of the group, major to minor; ``x:(2)4`` is a part of axis x."""
    bytes: int
    """What one rank sends, in each of them."""
    count: int
    cause: str
    """Why it is there, in words."""
    file: str
    """The line of the model that it serves: file without folder, and line (0: unknown)."""
    line: int
    reduction: str = ""
    """``sum``, ``max`` or ``min``; empty for what only moves data."""

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.count

    @property
    def location(self) -> str:
        """``mlp.py:6``; empty if it is unknown."""
        return f"{self.file}:{self.line}" if self.file else ""

    @property
    def call(self) -> str:
        """``all_reduce over data``."""
        return f"{self.kind} over {', '.join(self.axes)}"

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What one rank sends, ``8.00 MiB``, and the cause: one pair, or one for each of the
        collectives that it stands for."""
        first, *members = self.cause.split("\n")
        return [match.groups() for line in members if (match := _MEMBER.fullmatch(line))] or [(size_text(self.bytes), first)]


@dataclasses.dataclass(frozen=True)
class Alternative:
    """What was weighed in place of a collective."""

    text: str
    bytes: int
    """What one rank sends for it."""
    seconds: float
    """Its predicted time, with nothing beside it."""


@dataclasses.dataclass(frozen=True)
class Reason:
    """What stands behind the cause of collectives."""

    cause: str
    chain: tuple[tuple[str, str], ...]
    """For each axis that an end has elsewhere: what it ends at (``annotation``, ``default``,
    ``choice`` or ``operation``), and how it came from there."""
    alternatives: tuple[Alternative, ...]
    """The first is what the plan does."""
    edit: Edit | None
    """What to write so that it is not needed, or smaller; None if no single edit is known."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor that is alive when the most memory is in use."""

    name: str
    """Of an argument, result or state its path, else where it comes from."""
    purpose: str
    type: str
    """The part of a rank: ``f32[4x8]``."""
    bytes: int
    slots: int = 1
    """Of how many micro-batches there is one; `bytes` are those of all."""
    saved_bytes: int = 0
    """By how much less would be in use at the then highest moment without it: less than `bytes` where nearly
    as much is in use at another one."""


@dataclasses.dataclass(frozen=True, repr=False)
class Memory:
    """Bytes of one rank, of a pipeline the one that takes the most. Single numbers are the most
    that there is at one time."""

    arena: int
    """The one allocation of a rank. The runtime allocates exactly this."""
    at_peak: dict[str, int]
    """By purpose, when the most memory is in use; with `free` they sum up to the arena.
    The purposes are those of docs/Memory.md, in its order."""
    highest: dict[str, int]
    """By purpose, the most that there is of it at one time."""
    peak: tuple[Tensor, ...]
    """What is alive at the peak, the largest first."""
    peak_location: str
    """Where in the model the peak is: file without folder, and line."""
    call: int
    """What is laid out for one call: all but states and constants."""
    liveness_bound: int
    """The most bytes alive at one time in a call: a lower bound of `call`."""
    peak_segment: str = ""
    """Of a pipeline: which pass the peak is in, ``step.0B`` for example."""
    roles: tuple[Memory, ...] = ()
    """Of a pipeline: the memory of each rank along its axis."""

    @staticmethod
    def of(record) -> Memory:
        """From the record of the runtime's module."""
        return Memory(
            record.arena_bytes,
            {r.purpose: r.peak_bytes for r in record.purposes},
            {r.purpose: r.highest_bytes for r in record.purposes},
            tuple(Tensor(t.name, t.purpose, t.type, t.bytes, t.slots, t.saved_bytes) for t in record.peak),
            record.peak_location,
            record.call_bytes,
            record.liveness_bytes,
            record.peak_segment,
        )

    def __repr__(self) -> str:
        parts = {name: size for name, size in self.at_peak.items() if size}
        parts |= {"free": self.free, "arena": self.arena}
        which = f", largest of {len(self.roles)} ranks" if self.roles else ""
        return f"Memory({', '.join(f'{name} {size}' for name, size in parts.items())}{which})"

    @property
    def free(self) -> int:
        """What nothing needs at the peak."""
        return self.arena - sum(self.at_peak.values())

    @property
    def parameters(self) -> int:
        """States that the program differentiates by."""
        return self.highest["parameters"]

    @property
    def gradients(self) -> int:
        return self.highest["gradients"]

    @property
    def optimizer_state(self) -> int:
        """The other states of a program with parameters."""
        return self.highest["optimizer state"]

    @property
    def states(self) -> int:
        """All that lives from call to call: what is donated."""
        return sum(self.highest[name] for name in ("parameters", "optimizer state", "states"))

    @property
    def activations(self) -> int:
        """What the forward pass leaves to the backward pass."""
        return self.highest["activations"]

    @property
    def communication_buffers(self) -> int:
        return self.highest["communication buffers"]

    @property
    def constants(self) -> int:
        return self.highest["constants"]

    @property
    def temporaries(self) -> int:
        return self.highest["temporaries"]


@dataclasses.dataclass(frozen=True)
class Cost:
    """Estimates of the compiler."""

    flops: int
    recomputed_flops: int
    """Those of them that are recomputation, which keeps less for the backward pass."""
    memory_traffic: int
    """Bytes that instructions read and write."""
    wire_bytes: int
    """Bytes sent to other ranks."""
    gemms: int
    convolutions: int
    """Those that are one instruction; others are GEMMs or kernels."""
    kernels: int
    """Launches of compiled kernels."""
    copies: int
    collectives: int


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage of a pipeline, as one rank of it executes it."""

    stage: int
    rank: int
    """Of its ranks the coordinate along the axis of the pipeline."""
    parameters: int
    """Bytes of those that the stage uses."""
    forward_flops: int
    """Of a micro-batch."""
    backward_flops: int
    """Of a micro-batch, input and weight gradients together."""
    input_gradient_flops: int
    """Of a micro-batch, if the schedule runs them apart from weight gradients; else 0."""
    weight_gradient_flops: int
    once_flops: int
    """Before and behind the micro-batches, such as the update; at the first stage of a rank."""
    once_seconds: float
    """The time of that, as the compiler estimates it."""
    sent_bytes: int
    """To other stages in a call."""
    collective_bytes: int
    """Sent in collectives in a call."""


@dataclasses.dataclass(frozen=True)
class Message:
    """What a rank of one stage sends to a rank of another."""

    label: str
    """``activations of stage 0 for stage 1``."""
    bytes: int
    count: int
    """How often in a call: once for each micro-batch, or once."""
    queue: int
    """Messages of one queue arrive in the order in which they are sent."""

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.count


@dataclasses.dataclass(frozen=True)
class Padding:
    """A dimension of an argument or result that its shards do not divide."""

    name: str
    """The path of the argument or result."""
    dim: int
    size: int
    shards: int
    local_size: int
    """Elements of the dimension in each shard, padding included."""
    bytes: int
    """What the padding takes on all ranks that hold one copy of the tensor."""

    @property
    def padded_size(self) -> int:
        return self.local_size * self.shards


@dataclasses.dataclass(frozen=True)
class Records:
    """All of them for one entry of a plan."""

    collectives: tuple[Collective, ...]
    memory: Memory
    cost: Cost
    padding: tuple[Padding, ...]
    reasons: dict[str, Reason]
    """By cause, in which numbers of layers are ``[*]``."""
    stages: tuple[Stage, ...] = ()
    messages: tuple[Message, ...] = ()
    schedule: Schedule | None = None
    pipeline_axis: str = ""

    def reason_of(self, cause: str) -> Reason | None:
        """What stands behind a cause; None if the plan does not say."""
        return self.reasons.get(_INDEX.sub("*", cause))

    @staticmethod
    def of(plan: Plan, entry: EntryInfo) -> Records:
        """What the runtime's module reports of a plan."""
        plan_report = plan.handle.report()
        found = next(e for e in plan_report.entries if e.name == entry.name)
        read_cause = cause_reader(entry)
        collectives = tuple(
            Collective(
                r.kind, tuple(r.axes), r.bytes, r.count, read_cause(r.cause), r.file, r.line,
                r.reduction,
            )
            for r in found.collectives
        )
        memories = tuple(Memory.of(r) for r in found.memory)
        memory = memories[found.largest_role]
        cost = Cost(
            found.flops,
            found.recomputed_flops,
            found.memory_traffic,
            found.wire_bytes,
            found.gemms,
            found.convolutions,
            found.launches,
            found.copies,
            sum(c.count for c in collectives),
        )
        bound = {escape(path): path for path in _paths(entry)}
        padding = tuple(
            Padding(bound[r.name], r.dim, r.size, r.shards, r.local_size, r.bytes)
            for r in plan_report.padding
            if r.name in bound
        )
        reasons = {reason.cause: reason for reason in
                   (_reason(r, read_cause) for r in plan_report.reasons)}
        pipeline = found.pipeline
        if pipeline is None:
            return Records(collectives, memory, cost, padding, reasons)
        memory = dataclasses.replace(memory, roles=memories)
        stages = tuple(
            Stage(
                r.stage, r.role, r.parameter_bytes, r.forward_flops, r.backward_flops,
                r.input_gradient_flops, r.weight_gradient_flops, r.once_flops, r.once_seconds,
                r.sent_bytes, r.collective_bytes,
            )
            for r in pipeline.stages
        )
        messages = tuple(Message(r.label, r.bytes, r.count, r.queue) for r in pipeline.messages)
        schedule = pipeline.schedule and Schedule(pipeline.schedule)
        return Records(collectives, memory, cost, padding, reasons, stages, messages, schedule, pipeline.axis)


def _reason(record, read: Callable[[str], str]) -> Reason:
    return Reason(
        read(record.cause),
        tuple((line.end, read(line.text)) for line in record.chain),
        tuple(Alternative(read(a.text), a.bytes, a.seconds) for a in record.alternatives),
        Edit.parse(record.edit),
    )


def _paths(entry: EntryInfo) -> list[str]:
    return [value.name for value in (*entry.inputs, *entry.outputs)]


def cause_reader(entry: EntryInfo) -> Callable[[str], str]:
    """Puts causes of a plan in the words of Python, with the paths of the inputs and outputs of an
    entry in place of the names that the plan has for them."""
    names = {escape(path): path for path in _paths(entry) if escape(path) != path}

    def read(cause: str) -> str:
        cause = as_python(cause)
        for name, path in names.items():
            cause = cause.replace(f'"{name}"', f'"{path}"')
        return cause

    return read
