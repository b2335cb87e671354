# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardings as values: printed for both compilers, read from what they print."""

from __future__ import annotations

import re
from typing import NamedTuple


class Axis(NamedTuple):
    """The part of a mesh axis of size `size` after a major part of size `pre`."""

    name: str
    pre: int
    size: int

    def text(self, mesh):
        whole = self.pre == 1 and self.size == mesh[self.name]
        return f'"{self.name}"' if whole else f'"{self.name}":({self.pre}){self.size}'

    @staticmethod
    def merge(axes):
        """A list in which successive parts of one axis are one."""
        merged = []
        for axis in axes:
            last = merged[-1] if merged else None
            if last and last.name == axis.name and last.pre * last.size == axis.pre:
                merged[-1] = Axis(axis.name, last.pre, last.size * axis.size)
            else:
                merged.append(axis)
        return tuple(merged)


class Dim(NamedTuple):
    axes: tuple[Axis, ...]
    is_open: bool = False
    priority: int | None = None

    def text(self, mesh):
        parts = [axis.text(mesh) for axis in self.axes] + ["?"] * self.is_open
        priority = "" if self.priority is None else f"p{self.priority}"
        return "{" + ", ".join(parts) + "}" + priority


class Sharding(NamedTuple):
    dims: tuple[Dim, ...]
    replicated: tuple[Axis, ...] = ()

    def text(self, mesh):
        dims = ", ".join(dim.text(mesh) for dim in self.dims)
        axes = ", ".join(axis.text(mesh) for axis in self.replicated)
        return f"<@mesh, [{dims}]{f', replicated={{{axes}}}' if axes else ''}>"


_AXIS = re.compile(r'"(\w+)"(?::\((\d+)\)(\d+))?')
SHARDING = re.compile(r"<@\w+, \[([^\]]*)\][^>]*>")


def split_of(text, mesh):
    """The axes of each dimension of a sharding, as `Sharding.text` prints it."""
    return tuple(
        tuple(
            Axis(name, int(pre or 1), int(size or mesh[name]))
            for name, pre, size in _AXIS.findall(dim)
        )
        for dim in re.findall(r"\{([^}]*)\}", SHARDING.search(text)[1])
    )


def split_text(split, mesh):
    """Axes of dimensions as both compilers print them, for messages."""
    return Sharding(tuple(Dim(axes) for axes in split)).text(mesh)
