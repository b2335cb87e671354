# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is alive when the most memory is in use, and what each of it costs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .columns import WIDTH
from .errors import size_text
from .records import Tensor

if TYPE_CHECKING:
    from .compiled import Compiled

MOST_ROWS = 12


@dataclasses.dataclass(frozen=True)
class WhyMemory:
    """Of a pipeline, the rank that takes the most."""

    location: str
    """The line of the model at which the most memory is in use."""
    segment: str
    """Of a pipeline the pass, else empty."""
    arena: int
    """What a rank allocates, in bytes; what nothing needs at the peak is `free`."""
    free: int
    tensors: tuple[Tensor, ...]
    """The largest saving first. `Tensor.saved_bytes` is by how much the most that is in use at one time would be
    less if the tensor took nothing; savings of several do not add up where another moment is as high."""

    def __str__(self) -> str:
        """At most so many tensors, the rest in one line; 80 columns."""
        where = ", ".join(part for part in (self.location, self.segment) if part)
        lines = [f"{size_text(self.arena)} in use{f' at {where}' if where else ''}, {size_text(self.free)} of it free",
                 f"{'saves':>10}  {'takes':>10}  what"]
        for each in self.tensors[:MOST_ROWS]:
            slots = f", {each.slots} x" if each.slots > 1 else ""
            text = f"{each.type} {each.purpose}: {each.name or 'unnamed'}{slots}".lstrip()
            line = f"{size_text(each.saved_bytes):>10}  {size_text(each.bytes):>10}  {text}"
            lines.append(line if len(line) <= WIDTH else line[:WIDTH - 3] + "...")
        if rest := self.tensors[MOST_ROWS:]:
            lines.append(f"{'':>10}  {size_text(sum(each.bytes for each in rest)):>10}  {len(rest)} more")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def why_memory(compiled: Compiled) -> WhyMemory:
    """See `Compiled.why_memory`."""
    memory = compiled.memory()
    tensors = sorted(memory.peak, key=lambda each: (-each.saved_bytes, -each.bytes))
    return WhyMemory(memory.peak_location, memory.peak_segment, memory.arena, memory.free, tuple(tensors))
