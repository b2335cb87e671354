# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a plan sends, computes and stores, as records.

Numbers are those of one rank in one call; `Cost` holds estimates of the compiler.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from .names import escape


@dataclasses.dataclass(frozen=True)
class Collective:
    """Collectives of a plan that are alike in everything but their number."""

    kind: str
    """``all_reduce``, ``all_gather``, ``reduce_scatter``, ``all_to_all`` or ``permute``."""
    axes: tuple[str, ...]
    """Mesh axes of the group, major to minor; ``x:(2)4`` is a part of axis x."""
    bytes: int
    """What one rank sends, in each of them."""
    count: int
    cause: str
    """Why it is there, in words."""
    file: str
    """The place in the model that it serves: file without folder, and line (0: unknown)."""
    line: int
    reduction: str = ""
    """``sum``, ``max`` or ``min``; empty for what only moves data."""

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.count


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of one rank."""

    states: int
    """Donated arguments: they live from call to call."""
    constants: int
    activations: int
    """All other values of a call, arguments and results included, as laid out."""
    liveness_bound: int
    """The largest sum of what is alive at one time: no layout takes less."""
    arena: int
    """The one allocation of a rank: all of the above."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """Estimates of the compiler."""

    flops: int
    memory_traffic: int
    """Bytes that instructions read and write."""
    wire_bytes: int
    """Bytes sent to other ranks."""
    gemms: int
    kernels: int
    """Launches of compiled kernels."""
    copies: int
    collectives: int


@dataclasses.dataclass(frozen=True)
class Report:
    """The three of them for one entry of a plan."""

    collectives: tuple[Collective, ...]
    memory: Memory
    cost: Cost

    @staticmethod
    def of(plan_report, entry: str, paths: Sequence[str] = ()) -> Report:
        """From the report that the runtime's module makes of a plan; `paths` are those of its
        inputs and outputs, by which causes name them."""
        found = next(e for e in plan_report.entries if e.name == entry)
        names = {escape(path): path for path in paths if escape(path) != path}
        collectives = tuple(
            Collective(
                r.kind, tuple(r.axes), r.bytes, r.count, _unescaped(r.cause, names), r.file, r.line,
                r.reduction,
            )
            for r in found.collectives
        )
        memory = Memory(
            plan_report.state_bytes,
            plan_report.constant_bytes,
            found.activation_bytes,
            found.liveness_bytes,
            plan_report.arena_bytes,
        )
        cost = Cost(
            found.flops,
            found.memory_traffic,
            found.wire_bytes,
            found.gemms,
            found.launches,
            found.copies,
            sum(c.count for c in collectives),
        )
        return Report(collectives, memory, cost)


def _unescaped(cause: str, names: Mapping[str, str]) -> str:
    """A cause with paths in place of the names that the plan has for them."""
    for name, path in names.items():
        cause = cause.replace(f'"{name}"', f'"{path}"')
    return cause
