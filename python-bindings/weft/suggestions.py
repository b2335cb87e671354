# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to annotate otherwise, tried: each candidate is compiled, and kept if the step is predicted to be shorter.

Candidates are the edits of the reasons of all collectives, and of every argument whose annotation stands behind
one, its spec with an axis along another dimension.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .diagnostics import CompileError
from .edit import Edit
from .errors import size_text
from .records import Records
from .session import Plan
from .simulation import simulate
from .spec import PartitionSpec
from .units import seconds_text

if TYPE_CHECKING:
    from .compiled import Compiled

_INDEX = re.compile(r"(?<=\[)\d+(?=\])")
_ANNOTATED = re.compile(r'"(?P<name>[^"]*)" \(argument \d+\) annotated as P\(.*?\)(?: \((?P<line>[^()\s]+:\d+)\))?(?=[,;]|$)')
_NO_PROGRAM = "a plan that was loaded has no program to edit: compile the function"
# Suggestions that take more memory than so many times that of the plan come behind the others.
_MOST_MEMORY = 1.25
# How much longer a step may be predicted that sends fewer bytes.
_SAME_TIME = 1.05


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """An edit, and the plan with it. Bytes are those of a rank in a call."""

    edit: Edit
    seconds: float
    """The predicted time of a call."""
    seconds_before: float
    bytes_sent: int
    bytes_sent_before: int
    memory: int
    """The arena."""
    memory_before: int
    compiled: Compiled

    def __str__(self) -> str:
        return (f"{self.edit}: {seconds_text(self.seconds_before)} -> {seconds_text(self.seconds)}, "
                f"{size_text(self.bytes_sent_before)} -> {size_text(self.bytes_sent)} sent, "
                f"{size_text(self.memory_before)} -> {size_text(self.memory)} of memory")


def suggest(compiled: Compiled, cluster: str = "") -> list[Suggestion]:
    """See `Compiled.suggest`."""
    if compiled._source is None:
        raise ValueError(_NO_PROGRAM)
    before = _numbers(compiled, cluster)
    found = []
    for edit in candidates(compiled):
        try:
            edited = recompiled(compiled, edit.apply(compiled._source.text))
        except (CompileError, ValueError):  # what the program cannot have
            continue
        after = _numbers(edited, cluster)
        if after[:2] < before[:2] or (after[1] < before[1] and after[0] <= _SAME_TIME * before[0]):
            found.append(Suggestion(edit, after[0], before[0], after[1], before[1], after[2], before[2], edited))
    return sorted(found, key=lambda each: (each.memory > _MOST_MEMORY * each.memory_before, each.seconds,
                                           each.bytes_sent, each.edit.text))


def recompiled(compiled: Compiled, text: str) -> Compiled:
    """The plan of another text of its program, without machine code. Raises `CompileError`."""
    from .compiled import Compiled

    source = dataclasses.replace(compiled._source, text=text)
    options = {**compiled._options, "target": "none"}
    return Compiled(Plan(source.compile(**options)), compiled.signature, compiled.entry.name, source=source, options=options)


def _numbers(compiled: Compiled, cluster: str) -> tuple[float, int, int]:
    """Predicted seconds, bytes that a rank sends, and those of the arena."""
    step = simulate(compiled, cluster or compiled.cluster or "")
    return step["step_seconds"], compiled.cost().wire_bytes, compiled.memory().arena


def candidates(compiled: Compiled) -> list[Edit]:
    """Edits that may help, in program order, of layers that are alike once."""
    records = Records.of(compiled.plan, compiled.entry)
    specs = {info.name: (info.sharding.spec, len(info.shape)) for info in compiled.entry.inputs}
    found: dict[tuple, Edit] = {}

    def add(edit: Edit) -> None:
        found.setdefault((edit.target, _INDEX.sub("*", edit.name), edit.location, edit.spec, edit.before), edit)

    for each in compiled.collectives():
        for _, cause in each.parts:
            reason = records.reason_of(cause)
            if reason is None:
                continue
            if reason.edit:
                add(reason.edit)
            for _, text in reason.chain:
                for match in _ANNOTATED.finditer(text):
                    name, line = match["name"], match["line"] or ""
                    for spec in _moved(*specs[name]) if name in specs else ():
                        where = f" ({line})" if line else ""
                        add(Edit("argument", name, line, spec, None, f'annotate "{name}"{where} as {spec!r}'))
    return list(found.values())


def _moved(spec: PartitionSpec, rank: int) -> Iterable[PartitionSpec]:
    """The spec with the axes of a dimension along another one, which has none."""
    entries = [*spec, *[None] * (rank - len(spec))]
    for source, axes in enumerate(entries):
        for target, other in enumerate(entries):
            if isinstance(axes, (str, tuple)) and other is None:
                moved = [*entries]
                moved[source], moved[target] = None, axes
                yield PartitionSpec(*moved)
