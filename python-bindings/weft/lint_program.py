# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the program of a plan could leave out or order otherwise: found by compiling it so."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .diagnostics import CompileError
from .edit import constraints_of
from .errors import count
from .simulation import simulate
from .suggestions import recompiled
from .units import seconds_text

if TYPE_CHECKING:
    from .compiled import Compiled
    from .lint import Finding

_MESH = re.compile(r'^(?P<head> *weft\.mesh @\w+ = <\[)(?P<axes>"[^\]]*)(?P<behind>\]>)$', re.MULTILINE)
_AXIS = re.compile(r'"(?P<name>[^"]*)"=(?P<size>\d+)')
# Meshes of more axes than that have too many orders.
_MOST_AXES = 4


def no_effect(compiled: Compiled) -> Iterable[Finding]:
    """Constraints without which the plan is the same, of a line and a spec together."""
    from .lint import Finding

    plain = _essence(compiled)
    for constraint in constraints_of(compiled._source.text):
        without = _recompiled(compiled, constraint.left_out(compiled._source.text))
        if without and _essence(without) == plain:
            number = f" ({count(constraint.number, 'value')})" if constraint.number > 1 else ""
            yield Finding("no-effect", compiled.entry.name, constraint.location,
                          f"the constraint as {constraint.spec!r}{number} changes nothing: the plan without it is the same",
                          "leave it out, or say why it stays")


def axis_order(compiled: Compiled, cluster: str, least_gain: float) -> Iterable[Finding]:
    """Whether another order of the axes of the mesh keeps more of what is sent within a node."""
    from .lint import Finding

    text = compiled._source.text
    declared = _MESH.search(text)  # a mesh with a list of devices has its order from there
    if declared is None:
        return
    axes = [(match["name"], int(match["size"])) for match in _AXIS.finditer(declared["axes"])]
    if sum(size > 1 for _, size in axes) < 2 or len(axes) > _MOST_AXES:
        return
    before, best = _step(compiled, cluster), None
    for order in itertools.permutations(axes):
        if [axis for axis in order if axis[1] > 1] == [axis for axis in axes if axis[1] > 1]:
            continue
        mesh = ", ".join(f'"{name}"={size}' for name, size in order)
        other = _recompiled(compiled, f"{text[:declared.start('axes')]}{mesh}{text[declared.end('axes'):]}")
        if other and (best is None or _step(other, cluster) < best[0]):
            best = _step(other, cluster), order
    if best and best[0] < (1 - least_gain) * before:
        names, sizes = zip(*best[1])
        yield Finding("axis-order", compiled.entry.name, ", ".join(name for name, _ in axes),
                      f"in another order of the axes a step is predicted to take {seconds_text(best[0])} instead of "
                      f"{seconds_text(before)}: what is sent most stays on faster links",
                      f"a mesh of {sizes} with the axes {names}")


def _step(compiled: Compiled, cluster: str) -> float:
    return simulate(compiled, cluster or compiled.cluster or "")["step_seconds"]


def _essence(compiled: Compiled) -> tuple:
    """What makes two plans the same for whoever runs them."""
    sent = [(each.kind, each.axes, each.bytes, each.count) for each in compiled.collectives()]
    return sent, compiled.cost(), compiled.memory().arena, {i.name: i.sharding.spec for i in compiled.entry.inputs}


def _recompiled(compiled: Compiled, text: str) -> Compiled | None:
    """None where the program cannot be so."""
    try:
        return recompiled(compiled, text)
    except CompileError:
        return None
