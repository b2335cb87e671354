# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes: grids of devices whose axes have names.

A mesh is abstract: planning needs no devices. Devices are numbers, those of the ranks, node by
node. Without a list of them they have JAX's order (the first axis is the major one).

    >>> import weft
    >>> weft.Mesh((2, 4), ("data", "model"))
    Mesh(axis_sizes=(2, 4), axis_names=('data', 'model'), axis_types=(Auto, Auto))
"""

from __future__ import annotations

import collections
import enum
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import listing


# Characters that the names of axes in programs and reports leave to others: `"x":(2)4`.
_RESERVED = re.compile("[:\"\\\\\x00-\x1f\x7f]")


class AxisType(enum.Enum):
    """Who decides what is sharded over an axis: propagation (`Auto`), the user's types
    (`Explicit`), or the user's collectives (`Manual`)."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


def _axis_names(names: str | Sequence[str], where: str) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(names)
    wrong = [n for n in names if not isinstance(n, str) or not n or _RESERVED.search(n)]
    if wrong:
        raise ValueError(
            f"{where} axis names must be strings without ':', quotes, backslashes and line breaks, "
            f"got {', '.join(map(repr, wrong))} in {names}"
        )
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"{where} axis names must differ, got {', '.join(twice)} twice in {names}")
    return names


def _axis_sizes(sizes: Sequence[int], where: str) -> tuple[int, ...]:
    try:
        result = tuple(int(s) for s in sizes)
    except (TypeError, ValueError):
        raise ValueError(f"{where} axis sizes must be a sequence of ints, got {sizes!r}") from None
    if any(size < 1 for size in result):
        raise ValueError(f"{where} axis sizes must be at least 1, got {result}")
    return result


def _axis_types(types: Any, names: tuple[str, ...], default: AxisType) -> tuple[AxisType, ...]:
    if types is None:
        return (default,) * len(names)
    types = (types,) if isinstance(types, AxisType) else tuple(types)
    if not all(isinstance(t, AxisType) for t in types):
        raise TypeError(f"axis_types must be of type weft.AxisType, got {types}")
    if len(types) != len(names):
        raise ValueError(
            f"number of axis names should match the number of axis_types: got axis_names={names} "
            f"and axis_types={types}"
        )
    return types


class AbstractMesh:
    """Names, sizes and types of axes, with no devices at all."""

    __slots__ = ("axis_sizes", "axis_names", "axis_types")

    axis_sizes: tuple[int, ...]
    axis_names: tuple[str, ...]
    axis_types: tuple[AxisType, ...]

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: str | Sequence[str],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ):
        where = type(self).__name__
        names = _axis_names(axis_names, where)
        sizes = _axis_sizes(axis_sizes, where)
        if len(sizes) != len(names):
            raise ValueError(
                f"{where} needs as many axis sizes as axis names, got axis_sizes={sizes} and "
                f"axis_names={names}"
            )
        object.__setattr__(self, "axis_sizes", sizes)
        object.__setattr__(self, "axis_names", names)
        object.__setattr__(self, "axis_types", _axis_types(axis_types, names, AxisType.Auto))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed; use .update({name}=...)")

    @property
    def shape(self) -> collections.OrderedDict[str, int]:
        """Size of each axis, by name, major axis first."""
        return collections.OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        """Number of devices; 0 for a mesh without axes."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return self.size == 0

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def axis_type(self, name: str) -> AxisType:
        return self.axis_types[self.axis_names.index(name)]

    def _axes_of_type(self, wanted: AxisType) -> tuple[str, ...]:
        return tuple(n for n, t in zip(self.axis_names, self.axis_types) if t is wanted)

    @property
    def auto_axes(self) -> tuple[str, ...]:
        return self._axes_of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        return self._axes_of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[str, ...]:
        return self._axes_of_type(AxisType.Manual)

    def update(self, axis_sizes=None, axis_names=None, axis_types=None) -> AbstractMesh:
        """A mesh with some of its properties replaced."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def _key(self) -> tuple:
        return (self.axis_sizes, self.axis_names, self.axis_types)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _axes_text(self) -> str:
        axes = ", ".join(f"'{n}': {s}" for n, s in self.shape_tuple) or "()"
        return f"{axes}, axis_types={self.axis_types}"

    def __repr__(self) -> str:
        return f"AbstractMesh({self._axes_text()})"

    def __reduce__(self):
        return type(self), self._key()


class Mesh(AbstractMesh):
    """A mesh whose positions have device numbers.

    `devices` is the shape of the grid, as a tuple (devices are then numbered in order), or an
    array or nested list of the numbers 0 to n - 1, with one dimension for each name. Objects with
    an ``id``, as JAX's devices, count as that number. Rank i of a run is device i, and ranks are
    numbered node by node: so the list says which axes lie within nodes, and costs are those of
    this place. `devices_indices_map` and friends speak of device numbers.
    """

    __slots__ = ("devices",)

    devices: np.ndarray

    def __init__(
        self,
        devices: tuple[int, ...] | np.ndarray | Sequence,
        axis_names: str | Sequence[str],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ):
        names = _axis_names(axis_names, "Mesh")
        grid = _device_grid(devices)
        if grid.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {grid.ndim} (shape "
                f"{grid.shape}) and axis_names == {names}{_fitting_shapes(grid.size, len(names))}"
            )
        if len(set(grid.flat)) != grid.size:
            raise ValueError(f"the devices of a Mesh must differ, got {grid.tolist()}")
        wrong = [str(number) for number in grid.flat if not 0 <= number < grid.size]
        if wrong:
            raise ValueError(f"the devices of a Mesh of {grid.size} are 0 to {grid.size - 1}, in any "
                             f"order, got {listing(wrong)}")
        super().__init__(grid.shape, names, axis_types)
        grid.flags.writeable = False
        object.__setattr__(self, "devices", grid)

    @property
    def device_ids(self) -> np.ndarray:
        return self.devices

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def local_mesh(self) -> Mesh:
        return self

    def update(self, devices=None, axis_names=None, axis_types=None) -> Mesh:
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def _key(self) -> tuple:
        return (*super()._key(), tuple(self.devices.flat))

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names!r}, "
            f"axis_types={self.axis_types})"
        )

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._axes_text()})"

    def __reduce__(self):
        return Mesh, (np.array(self.devices), self.axis_names, self.axis_types)


def listed_devices(mesh: AbstractMesh | None) -> list[int]:
    """The device of each position; none where it is the position."""
    numbers = mesh.devices.ravel().tolist() if isinstance(mesh, Mesh) else []
    return [] if numbers == list(range(len(numbers))) else numbers


def _device_grid(devices: Any) -> np.ndarray:
    """The device numbers that the first argument of `Mesh` stands for."""
    if isinstance(devices, tuple) and all(isinstance(d, (int, np.integer)) for d in devices):
        sizes = _axis_sizes(devices, "Mesh")
        return np.arange(math.prod(sizes)).reshape(sizes)
    grid = np.array(devices)
    if grid.size == 0:
        raise ValueError("Mesh needs at least one device, got none")
    numbers = [getattr(device, "id", device) for device in grid.flat]
    if not all(isinstance(n, (int, np.integer)) for n in numbers):
        wrong = next(n for n in numbers if not isinstance(n, (int, np.integer)))
        raise TypeError(f"the devices of a Mesh must be device numbers, got {str(wrong)!r}")
    return np.array([int(n) for n in numbers]).reshape(grid.shape)


def _factorizations(number: int, count: int) -> list[tuple[int, ...]]:
    """The ways to write a number as a product of `count` factors above 1."""
    if count == 1:
        return [(number,)] if number > 1 else []
    return [
        (first, *rest)
        for first in range(2, number // 2 + 1)
        if number % first == 0
        for rest in _factorizations(number // first, count - 1)
    ]


def _fitting_shapes(devices: int, axes: int, limit: int = 4) -> str:
    """`; shapes of 8 devices: (2, 4), (4, 2)`, the most even ones first."""
    shapes = _factorizations(devices, axes) if 0 < axes and devices <= 1 << 20 else []
    if not shapes:
        return ""
    shapes.sort(key=lambda shape: (max(shape) - min(shape), shape))
    return f"; shapes of {devices} devices: {', '.join(map(str, shapes[:limit]))}"


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: str | Sequence[str],
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of the given shape. As in JAX, axes are `Explicit` unless `axis_types` says
    otherwise, and of more `devices` than needed the first ones are taken. They are in the order
    given, without `devices` from 0: planning needs none."""
    sizes = _axis_sizes(axis_shapes, "make_mesh")
    names = _axis_names(axis_names, "make_mesh")
    wanted = math.prod(sizes)
    numbers = range(wanted) if devices is None else list(devices)
    if len(numbers) < wanted:
        raise ValueError(
            f"number of devices {len(numbers)} must be >= the product of mesh_shape {sizes}, "
            f"which is {wanted}{_fitting_shapes(len(numbers), len(sizes))}"
        )
    types = _axis_types(axis_types, names, AxisType.Explicit)
    grid = np.empty(wanted, dtype=object)
    grid[:] = list(numbers)[:wanted]
    return Mesh(grid.reshape(sizes), names, types)


# Meshes as text. A plan has names and sizes of axes; this is the rest.

METADATA_KEY = "python.mesh"


def write(mesh: AbstractMesh) -> str:
    """Types of axes and numbers of devices, if it has any."""
    devices = mesh.devices.tolist() if isinstance(mesh, Mesh) else None
    return json.dumps({"types": [kind.name for kind in mesh.axis_types], "devices": devices})


def read(text: str, axis_sizes: Sequence[int], axis_names: Sequence[str]) -> AbstractMesh | None:
    """The mesh that was written, if it has these axes."""
    stored = json.loads(text)
    types = tuple(AxisType[name] for name in stored["types"])
    if len(types) != len(axis_names):
        return None
    if stored["devices"] is None:
        return AbstractMesh(axis_sizes, axis_names, types)
    devices = np.array(stored["devices"])
    return Mesh(devices, axis_names, types) if devices.shape == tuple(axis_sizes) else None
