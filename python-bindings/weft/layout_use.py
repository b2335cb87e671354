# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A `Layout` while a function is traced: every entry must be of use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import SpecError, listing
from .spec import PartitionSpec

if TYPE_CHECKING:
    from .layout import Layout


class LayoutUse:
    """Answers what the layout says, and keeps what was asked for."""

    def __init__(self, layout: Layout):
        self._layout = layout
        self._names: dict[str, None] = {}
        self._is_computed = False

    def activation(self, name: str) -> PartitionSpec | None:
        """The spec of a value that the model names."""
        self._names[name] = None
        return self._layout.activations.get(name)

    def compute(self) -> Any:
        """The table of parameters in computations."""
        self._is_computed = True
        return self._layout.compute

    def gathers_once(self) -> bool:
        """Whether that is where they are from the beginning of a step."""
        return self._layout.gather == "step"

    def gradients(self) -> Any:
        """The table of gradients."""
        return self._layout.gradients

    def check(self) -> None:
        """Raises for all that nobody asked for."""
        lines = [f'activations "{name}": no weft.checkpoint_name of the function has this name'
                 for name in self._layout.activations if name not in self._names]
        if lines:
            names = listing([f'"{name}"' for name in self._names]) or "none"
            lines.append(f"  names in the function: {names}")
        if self._layout.compute is not None and not self._is_computed:
            lines.append("compute: the function calls no weft.value_and_grad, whose parameters it "
                         "is for; leave it out, or call weft.compute_with(params, layout.compute)")
        if lines:
            raise SpecError("unused Layout entries\n  " + "\n  ".join(lines))
