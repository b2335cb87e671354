# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`auto`: how the devices of a cluster should share a program that nobody has annotated.

    found = weft.auto(train_step, state, batch, devices=64, cluster="dgx-h100", donate_argnums=0)
    print(found)
    compiled = found.best.compile("cuda:sm_90")
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import count, size_text
from ..lowered import Lowered, Source
from ..simulation import checked_cluster, simulate
from ..units import parse_bytes
from ..variants import checkpoint_names, mesh_of
from .answer import AutoPlan
from .choices import Choice, Structure
from .confirmation import Confirmation
from .dimensions import find_dimensions
from .planner import Planner
from .program import FunctionProgram, Program, Size, TextProgram, read_arguments
from .ranking import Ranking
from .search import Estimate, Search
from .table import print_auto
from .whole import WholeSearch

# Plans that are listed.
_LISTED = 10
# Plans that are compiled whole, and of how many layers only one is.
_CONFIRMED, _MANY_LAYERS = 3, 64


@dataclasses.dataclass(frozen=True, repr=False)
class Auto:
    """The best plans that were found, the fastest first."""

    cluster: str
    devices: int
    memory_limit: int
    """Bytes that a rank may take."""
    plans: tuple[AutoPlan, ...]
    """Those that were compiled whole come first."""
    rejected: tuple[tuple[str, int], ...]
    """Reasons, with the numbers of choices that each is of."""
    looked_at: int
    """Choices."""
    compiled: int
    """Programs, small ones included."""

    @property
    def best(self) -> AutoPlan:
        return self.plans[0]

    def __str__(self) -> str:
        return print_auto(self)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"cluster": self.cluster, "devices": self.devices, "memory_limit": self.memory_limit,
                "looked_at": self.looked_at, "compiled": self.compiled, "plans": [each.as_dict() for each in self.plans],
                "rejected": [{"reason": reason, "number": number} for reason, number in self.rejected]}


def auto(program: Callable | Lowered, *arguments: Any, devices: int, cluster: str | os.PathLike[str] = "dgx-h100",
         memory_limit: int | str | None = None, donate_argnums: int | Iterable[int] = (), confirm: int | None = None) -> Auto:
    """Looks for the mesh, the specs of parameters, states and batch, the micro-batches, the recomputation and the
    pipeline with which a step is predicted to take the least time on so many devices of a cluster.

    `program` is a function of `weft.numpy` without any annotation, with the shapes of its arguments, or a lowered program,
    as of `weft.from_jax`. Arguments that results replace are donated. `memory_limit` is what a rank may take, by default what
    the device has without its reserves. The `confirm` best plans are compiled whole and predicted by the simulator: by
    default three, and one of a program of more than 64 layers, which takes long to compile. Others are estimated from small
    programs. Of a lowered program each choice is compiled whole, and micro-batches are those of its pipeline.

    Raises `ValueError` if nothing fits, with the least number of devices on which something does."""
    name = _checked(cluster, devices)
    if confirm is not None and (isinstance(confirm, bool) or not isinstance(confirm, int) or confirm < 1):
        raise ValueError(f"auto: confirm must be a number of at least 1, got {confirm!r}")
    if isinstance(program, Lowered):
        if mesh_of(program.as_text("graph")) is not None:
            raise ValueError("auto: the program has a mesh already; lower it without one")
        return _search_text(Source(program.as_text("graph", locations=True), program.source.name), name, devices, memory_limit)
    if not callable(program):
        raise TypeError(f"auto needs a function or a lowered program, got {program!r} of type {type(program).__name__}")
    made = FunctionProgram(program, arguments, donate_argnums)
    planner, limit = _prepare(made, name, devices, memory_limit)
    search = Search(planner, limit, made.layers or 1)
    return _search(search, name, devices, limit, confirm or (_CONFIRMED if made.layers <= _MANY_LAYERS else 1))


def auto_text(source: Source, *, devices: int, cluster: str, memory_limit: int | str | None = None) -> Auto:
    """Of a graph in text."""
    _checked(cluster, devices)
    if mesh_of(source.text) is not None:
        raise ValueError(f"auto: {source.name} has a mesh already, and is not without annotation")
    return _search_text(source, cluster, devices, memory_limit)


def _checked(cluster: str | os.PathLike[str], devices: int) -> str:
    name = checked_cluster(cluster)
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        raise ValueError(f"auto: devices must be a number of at least 1, got {devices!r}")
    return name


def _search_text(source: Source, cluster: str, devices: int, memory_limit: int | str | None) -> Auto:
    planner, limit = _prepare(TextProgram(source), cluster, devices, memory_limit)
    return _search(WholeSearch(planner, limit), cluster, devices, limit, _LISTED)


def _prepare(program: Program, cluster: str, devices: int, memory_limit: int | str | None) -> tuple[Planner, int]:
    """What is known before any choice: the structure of the program, and the memory of a device."""
    small = _small(program)
    arguments = read_arguments(small.text)
    structure = Structure.of(arguments, find_dimensions(small, arguments))
    if isinstance(program, FunctionProgram):
        program.set_batch(structure.batch.members)
        structure = dataclasses.replace(structure, arguments=program.all_arguments(arguments))
    planner = Planner(program, structure, cluster)
    step = simulate(planner.compile(Choice(), min(1, program.layers)), cluster)
    if devices > step["cluster_devices"]:
        raise ValueError(f"auto: the cluster {step['cluster']} has {step['cluster_devices']} devices, not {devices}")
    usable = int(step["memory"]["usable_bytes"])
    limit = usable if memory_limit is None else min(usable, parse_bytes(memory_limit))
    planner.cluster_devices = step["cluster_devices"]
    return planner, limit


def _small(program: Program) -> Source:
    """Of two layers, if it can have fewer than it has."""
    return program.source(Size(layers=min(2, program.layers)))


def _search(search: Search | WholeSearch, cluster: str, devices: int, limit: int, confirm: int) -> Auto:
    planner = search.planner
    named = checkpoint_names(_small(planner.program).text)
    search.prepare(devices, [name for name, rank in named.items() if rank > 2])
    ranking = Ranking(search, devices)
    confirmation = Confirmation(search, [], limit, ranking)
    confirmation.run(confirm)
    impossible = [*ranking.impossible, *confirmation.impossible]
    confirmation.try_recomputing(impossible)
    if not confirmation.plans:
        raise ValueError(_nothing_fits(search, devices, limit, impossible))
    confirmation.left += ranking.estimated(_LISTED, _LISTED - len(confirmation.plans) - len(confirmation.left))
    plans = sorted(confirmation.plans, key=lambda each: each.step_seconds)
    plans += [AutoPlan(planner, each, None, limit if each.dropped else None)
              for each in sorted(confirmation.left, key=lambda each: each.seconds)]
    found = {plan.choice for plan in plans}
    reasons = Counter(_short(each.reason) for each in impossible if each.choice not in found)
    reasons.update(map(_short, confirmation.failed))
    if slower := max(len(plans) - _LISTED, 0) + ranking.left:
        reasons["not among the best"] += slower
    return Auto(cluster, devices, limit, tuple(plans[:_LISTED]), tuple(reasons.most_common()), ranking.looked_at, planner.compiled)


def _short(reason: str) -> str:
    """Without numbers that differ from choice to choice."""
    if reason.startswith(("needs ", "states ")) or "does not fit the memory limit" in reason:
        return "takes more memory than a device has"
    return reason


def _nothing_fits(search: Search | WholeSearch, devices: int, limit: int, estimates: list[Estimate]) -> str:
    least = min(estimates, key=lambda each: each.memory, default=None)
    if least is None:
        return (f"auto: no mesh of {count(devices, 'device')} for the program: its batch has "
                f"{count(search.planner.structure.rows(), 'member')}, and no other dimension is split that far; take a number "
                "of devices that divides the batch, or fewer")
    text = f"auto: no plan for {count(devices, 'device')} fits into {size_text(limit)} a device"
    if least.reason:
        text += f"; the smallest, {least.choice}, {least.reason}"
    more = devices * 2
    while more <= search.planner.cluster_devices:
        thrifty = sorted(search.choices(more), key=lambda choice: search.planner.structure.state_bytes(choice) / choice.pipeline)
        if any(not search.estimate(choice).reason for choice in thrifty):
            return f"{text}; the least number that does, of {devices} times powers of two, is {more}"
        more *= 2
    if devices * 2 <= search.planner.cluster_devices:
        text += f"; by the same estimates none does for up to {search.planner.cluster_devices} devices either"
    return text
