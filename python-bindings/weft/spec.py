# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PartitionSpec` (short: `P`): which mesh axes split each dimension of an array.

    >>> import weft
    >>> P = weft.P
    >>> P("data", None, ("x", "y"))        # y is the minor axis of dimension 2
    P('data', None, ('x', 'y'))
    >>> P("data", P.UNCONSTRAINED)         # dimension 1 is propagation's to choose
    P('data', UNCONSTRAINED)
    >>> P(unreduced={"model"})             # devices along model hold partial sums
    P(unreduced={'model'})

Beyond JAX: a tuple that ends in `P.UNCONSTRAINED` is open to more axes, and
``"x:(2)4"`` is the part of axis x of size 4 after a major part of size 2:

    >>> P(("data", P.UNCONSTRAINED), "x:(2)4")
    P(('data', UNCONSTRAINED), 'x:(2)4')
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from .frames import user_frame


class _Unconstrained:
    """The type of `UNCONSTRAINED`."""

    _only: _Unconstrained | None = None

    def __new__(cls):
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self):
        return _Unconstrained, ()


UNCONSTRAINED = _Unconstrained()

Entry = None | str | tuple | _Unconstrained

_AXIS = re.compile(r"(?P<name>[^:]+)(:\((?P<pre>\d+)\)(?P<size>\d+))?")


class Axis(NamedTuple):
    """A mention of a mesh axis, or of a part of one (`size` is 0 for all of it)."""

    name: str
    pre: int = 1
    size: int = 0

    @staticmethod
    @functools.lru_cache(maxsize=1024)
    def parse(text: str) -> Axis:
        """The axis that ``"x"`` or ``"x:(2)4"`` mentions."""
        match = _AXIS.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an axis: expected 'name', or 'name:(pre)size' for a part of one")
        return Axis(match["name"], int(match["pre"] or 1), int(match["size"] or 0))

    def __str__(self) -> str:
        return f"{self.name}:({self.pre}){self.size}" if self.size else self.name

    def size_in(self, mesh) -> int:
        """How many ways it splits, on a mesh that has it."""
        return self.size or mesh.shape[self.name]

    def overlaps(self, other: Axis) -> bool:
        """Whether both mention a common part of an axis."""
        if self.name != other.name:
            return False
        if not self.size or not other.size:
            return True
        return self.pre < other.pre * other.size and other.pre < self.pre * self.size

    def fits_beside(self, other: Axis) -> bool:
        """Whether the axis can be split so that both are parts of it, if they do not overlap."""
        major, minor = sorted((self, other), key=lambda axis: axis.pre)
        return self.name != other.name or minor.pre % (major.pre * major.size) == 0


def _canonical(entry: Any, position: int) -> Entry:
    """An entry as it is kept: a tuple of one axis is that axis, an empty one is None."""
    if entry is None or entry is UNCONSTRAINED:
        return entry
    if isinstance(entry, str):
        Axis.parse(entry)
        return entry
    if not isinstance(entry, (tuple, list)):
        raise TypeError(
            f"entry {position} of a PartitionSpec is {entry!r}, a {type(entry).__name__}; expected an "
            "axis name, a tuple of axis names, None or P.UNCONSTRAINED"
        )
    parts = tuple(entry)
    for at, part in enumerate(parts):
        if isinstance(part, str):
            Axis.parse(part)
        elif part is not UNCONSTRAINED or at != len(parts) - 1:
            raise TypeError(
                f"entry {position} of a PartitionSpec is {parts!r}; expected axis names in a tuple "
                "(and P.UNCONSTRAINED after the last, to leave the dimension open)"
            )
    return None if not parts else parts[0] if len(parts) == 1 else parts


def _axis_set(axes: Any, keyword: str) -> frozenset[str]:
    if not isinstance(axes, Set):
        raise TypeError(
            f"{keyword} of a PartitionSpec must be a set of axis names, got {axes!r}, "
            f"a {type(axes).__name__}; write {keyword}={{'x'}}"
        )
    if None in axes:
        raise ValueError(
            f"{keyword} cannot contain None: all its elements should refer to mesh axes"
        )
    for axis in axes:
        if not isinstance(axis, str):
            raise TypeError(f"{keyword} must contain axis names, got {axis!r}")
        Axis.parse(axis)
    return frozenset(axes)


def _set_text(axes: frozenset[str]) -> str:
    return "{" + ", ".join(map(repr, sorted(axes))) + "}"


class PartitionSpec:
    """How to partition an array over a mesh: one entry a dimension.

    An entry is ``None`` (not split, and propagation may not split it), an axis name, a tuple
    of axis names (major to minor) or `P.UNCONSTRAINED` (propagation may choose). Dimensions
    that are left out at the end count as ``None``. `unreduced` names axes along which
    devices hold partial sums; `reduced` axes along which the value is a copy
    whose gradient is unreduced. Immutable, hashable; no tuple, so a leaf of a tree.

    `position` is the file and line that wrote it, for explanations; it does not count in comparisons.
    """

    __slots__ = ("_partitions", "unreduced", "reduced", "position")

    UNCONSTRAINED = UNCONSTRAINED

    _partitions: tuple[Entry, ...]
    unreduced: frozenset[str]
    reduced: frozenset[str]
    position: tuple[str, int] | None

    def __init__(
        self,
        *partitions: Entry | list,
        unreduced: Set[str] = frozenset(),
        reduced: Set[str] = frozenset(),
    ):
        entries = tuple(_canonical(entry, i) for i, entry in enumerate(partitions))
        object.__setattr__(self, "_partitions", entries)
        object.__setattr__(self, "unreduced", _axis_set(unreduced, "unreduced"))
        object.__setattr__(self, "reduced", _axis_set(reduced, "reduced"))
        frame, _ = user_frame()
        object.__setattr__(self, "position", frame and (frame.f_code.co_filename, frame.f_lineno))
        self._check_disjoint()

    def _check_disjoint(self) -> None:
        both = self.unreduced & self.reduced
        if both:
            raise ValueError(
                "`unreduced` and `reduced` of a PartitionSpec cannot overlap: "
                f"{_set_text(both)} is in unreduced={_set_text(self.unreduced)} and in "
                f"reduced={_set_text(self.reduced)}"
            )
        for keyword, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            split = {str(axis) for axes_of_dim in self.dim_axes() for axis in axes_of_dim}
            if split & axes:
                raise ValueError(
                    f"partitions cannot overlap with {keyword} axes: {_set_text(split & axes)} "
                    f"splits a dimension in {self._partitions} and is in "
                    f"{keyword}={_set_text(axes)}; an axis has one of the two uses"
                )

    def __init_subclass__(cls, **kwargs):
        raise TypeError("PartitionSpec cannot be subclassed")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a PartitionSpec cannot be changed; use .update()")

    @property
    def partitions(self) -> tuple[Entry, ...]:
        return self._partitions

    def dim_axes(self) -> list[tuple[Axis, ...]]:
        """The axes of each entry, major to minor."""
        return [_entry_axes(entry) for entry in self._partitions]

    def is_open(self, dim: int) -> bool:
        """Whether propagation may add axes to a dimension."""
        entry = self._partitions[dim] if dim < len(self._partitions) else None
        return entry is UNCONSTRAINED or (isinstance(entry, tuple) and entry[-1] is UNCONSTRAINED)

    def __repr__(self) -> str:
        entries = repr(self._partitions)[1:-1]
        sets = [
            f"{keyword}={_set_text(axes)}"
            for keyword, axes in (("unreduced", self.unreduced), ("reduced", self.reduced))
            if axes
        ]
        if not sets:
            return f"P({entries})"
        separator = "" if not entries else " " if entries.endswith(",") else ", "
        return f"P({entries}{separator}{', '.join(sets)})"

    def _key(self) -> tuple:
        return (self._partitions, self.unreduced, self.reduced)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self):
        return _rebuild, self._key()

    def _only_partitions(self, use: str) -> tuple[Entry, ...]:
        if self.unreduced or self.reduced:
            raise ValueError(
                f"{use} of {self} would lose its unreduced and reduced axes; use .partitions"
            )
        return self._partitions

    def __getitem__(self, i):
        return self._only_partitions("indexing")[i]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._only_partitions("iteration"))

    def __len__(self) -> int:
        return len(self._partitions)

    def __add__(self, other: PartitionSpec | tuple) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self._partitions,
                *other._partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if isinstance(other, tuple):
            return PartitionSpec(*self._only_partitions("the sum with a tuple"), *other)
        return NotImplemented

    def __radd__(self, other: tuple) -> PartitionSpec:
        if isinstance(other, tuple):
            return PartitionSpec(*other, *self._only_partitions("the sum with a tuple"))
        return NotImplemented

    def index(self, value: Entry) -> int:
        return self._partitions.index(_canonical(value, 0))

    def count(self, value: Entry) -> int:
        return self._partitions.count(_canonical(value, 0))

    def update(self, partitions=None, unreduced=None, reduced=None) -> PartitionSpec:
        """A spec with some of its parts replaced."""
        return PartitionSpec(
            *(self._partitions if partitions is None else partitions),
            unreduced=self.unreduced if unreduced is None else unreduced,
            reduced=self.reduced if reduced is None else reduced,
        )


@functools.lru_cache(maxsize=1024)
def _entry_axes(entry: Entry) -> tuple[Axis, ...]:
    if entry is None or entry is UNCONSTRAINED:
        return ()
    names = (entry,) if isinstance(entry, str) else entry
    return tuple(Axis.parse(name) for name in names if name is not UNCONSTRAINED)


def _rebuild(partitions, unreduced, reduced) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


P = PartitionSpec
