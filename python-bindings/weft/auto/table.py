# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was found, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..columns import aligned, percent, reasons_text, wrapped
from ..errors import count, size_text
from ..units import seconds_text

if TYPE_CHECKING:
    from . import Auto
    from .answer import AutoPlan


def print_auto(found: Auto) -> str:
    """The ranked table, why others were left out, and what to write for the best."""
    text = (f"{count(len(found.plans), 'plan')} of {count(found.looked_at, 'choice')} for {count(found.devices, 'device')} of "
            f"{found.cluster}, {size_text(found.memory_limit)} each; {count(found.compiled, 'program')} compiled")
    text = "\n".join(wrapped(text, "", "  ")) + "\n"
    rows = [["", "", "step time", "kernels", "exposed", "bubble", "memory", ""]]
    rows += [_row(number, each) for number, each in enumerate(found.plans, 1)]
    text += aligned(rows, left=(1,))
    if found.rejected:
        text += reasons_text(f"{reason}: {count(number, 'choice')}" for reason, number in found.rejected)
    return text + "the first, to be pasted\n" + "".join(f"  {line}\n" for line in found.best.as_python().splitlines())


def _row(number: int, plan: AutoPlan) -> list[str]:
    start = [str(number), str(plan.choice), seconds_text(plan.step_seconds)]
    if plan.predicted is None:
        return [*start, "", "", "", size_text(plan.memory), "estimated"]
    found = plan.predicted
    parts = [percent(part / found.step) for part in (found.kernels, found.exposed, found.bubble)]
    return [*start, *parts, size_text(plan.memory), "recomputed" if plan.memory_limit else ""]
