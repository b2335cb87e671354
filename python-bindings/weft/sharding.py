# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`NamedSharding`: a spec on a mesh, what it gives each device, and its MLIR text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .errors import IndivisibleError, Offender, SpecError, Violation, listing, size_text, spec_error
from .legality import nearest, padding, shard_shape, violations
from .mesh import AbstractMesh, Mesh, listed_devices
from .spec import Axis, PartitionSpec

Index = tuple[slice, ...]


class NamedSharding:
    """How an array is laid out: a mesh, and a spec over its axes.

        >>> import weft
        >>> sharding = weft.NamedSharding(weft.Mesh((2, 4), ("data", "model")), weft.P("model"))
        >>> sharding.shard_shape((8, 6))
        (2, 6)
    """

    __slots__ = ("mesh", "spec", "memory_kind")

    mesh: AbstractMesh
    spec: PartitionSpec
    memory_kind: str | None

    def __init__(
        self, mesh: AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ):
        if not isinstance(mesh, AbstractMesh):
            raise TypeError(
                f"the mesh of a NamedSharding must be a weft.Mesh or weft.AbstractMesh, got {mesh!r}"
            )
        if not isinstance(spec, PartitionSpec):
            hint = f"; write P({spec!r})" if isinstance(spec, str) else ""
            raise TypeError(
                f"the spec of a NamedSharding must be a PartitionSpec, got {spec!r}{hint}"
            )
        if memory_kind not in (None, "device"):
            raise ValueError(
                f"memory_kind must be 'device' or None: arrays of a plan live in the memory of its "
                f"devices, got {memory_kind!r}"
            )
        object.__setattr__(self, "mesh", mesh)
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "memory_kind", memory_kind)
        _raise_if(violations(spec, mesh), self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a NamedSharding cannot be changed; use .update({name}=...)")

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        axes = [a for dim in self.spec.dim_axes() for a in dim]
        axes += [Axis.parse(name) for name in self.spec.unreduced]
        return all(axis.size_in(self.mesh) == 1 for axis in axes)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a device's part of an array. Of a dimension that its axes do not divide,
        the parts at its end are padded."""
        _raise_if(violations(self.spec, self.mesh, global_shape), self, global_shape)
        return shard_shape(self.spec, self.mesh, global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[int, Index]:
        """The part of an array that each device holds, without padding."""
        if not isinstance(self.mesh, Mesh):
            raise ValueError(
                "devices_indices_map needs the devices of a weft.Mesh; this sharding is on "
                f"{self.mesh!r}"
            )
        if self.spec.unreduced:
            raise NotImplementedError(
                f"devices_indices_map of {self.spec}: devices hold partial sums, not shards"
            )
        local = self.shard_shape(global_shape)
        positions = itertools.product(*map(range, self.mesh.axis_sizes))
        return {
            int(device): self._index(dict(zip(self.mesh.axis_names, position)), global_shape, local)
            for device, position in zip(self.mesh.devices.flat, positions)
        }

    def _index(self, position: dict[str, int], shape: Sequence[int], local: Sequence[int]) -> Index:
        """The slices of the device at a position of the mesh."""
        slices = []
        axes = self.spec.dim_axes() + [()] * (len(shape) - len(self.spec))
        for size, part, split in zip(shape, local, axes):
            at = 0
            for axis in split:
                whole = self.mesh.shape[axis.name]
                minor = whole // (axis.pre * axis.size) if axis.size else 1
                at = at * axis.size_in(self.mesh) + position[axis.name] // minor % axis.size_in(self.mesh)
            whole_dim = math.prod(axis.size_in(self.mesh) for axis in split) == 1
            ends = (min(size, at * part), min(size, (at + 1) * part))
            slices.append(slice(None) if whole_dim else slice(*ends))
        return tuple(slices)

    def is_equivalent_to(self, other: NamedSharding, ndim: int) -> bool:
        """Whether both give every device the same part of any array of rank `ndim`."""
        both_concrete = isinstance(self.mesh, Mesh) or isinstance(other.mesh, Mesh)
        if both_concrete and self._devices() != other._devices():
            return False
        return self.layout(ndim) == other.layout(ndim)

    def _devices(self) -> tuple[int, ...] | None:
        return tuple(self.mesh.devices.flat) if isinstance(self.mesh, Mesh) else None

    def layout(self, ndim: int) -> tuple:
        """Which digits of a device's position choose its part, whatever the axes are called."""
        check_rank(self, (1,) * ndim)
        dims = self.spec.dim_axes() + [()] * (ndim - len(self.spec))
        unreduced = sorted(
            (Axis.parse(name) for name in self.spec.unreduced),
            key=lambda axis: (self.mesh.axis_names.index(axis.name), axis.pre),
        )
        return tuple(self._digits(axes) for axes in (*dims, unreduced))

    def _digits(self, axes: Sequence[Axis]) -> tuple[tuple[int, int], ...]:
        """(stride, size) of axes in the numbering of positions, neighbours joined."""
        digits: list[tuple[int, int]] = []
        for axis in axes:
            at = self.mesh.axis_names.index(axis.name)
            size = axis.size_in(self.mesh)
            minor = self.mesh.axis_sizes[at] // (axis.pre * axis.size) if axis.size else 1
            stride = math.prod(self.mesh.axis_sizes[at + 1 :]) * minor
            if size == 1:
                continue
            if digits and digits[-1][0] == stride * size:
                digits[-1] = (stride, digits[-1][1] * size)
            else:
                digits.append((stride, size))
        return tuple(digits)

    def update(self, **changes: Any) -> NamedSharding:
        """A sharding with its mesh or spec replaced."""
        unknown = sorted(set(changes) - {"mesh", "spec", "memory_kind"})
        if unknown:
            raise TypeError(f"a NamedSharding has no {', '.join(unknown)}")
        spec = changes.get("spec", self.spec)
        if not isinstance(spec, PartitionSpec):
            spec = PartitionSpec(*spec)
        kind = changes.get("memory_kind", self.memory_kind)
        return NamedSharding(changes.get("mesh", self.mesh), spec, memory_kind=kind)

    def _key(self) -> tuple:
        return (self.mesh, self.spec, self.memory_kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        kind = f", memory_kind={self.memory_kind}" if self.memory_kind else ""
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"

    def __reduce__(self):
        return _rebuild, self._key()


def _rebuild(mesh, spec, memory_kind) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


def remedy(
    spec: PartitionSpec,
    mesh: AbstractMesh,
    shape: Sequence[int] | None = None,
    itemsize: int | None = None,
    *,
    closed: bool = False,
) -> str:
    """The legal specs nearest to an illegal one, with the bytes a device holds under each.
    Nothing if the spec is legal and what is wrong is not the spec."""
    texts = []
    for candidate in nearest(spec, mesh, shape, closed=closed):
        if candidate == spec:
            return ""
        texts.append(str(candidate))
        if shape is not None and itemsize is not None:
            local = math.prod(shard_shape(candidate, mesh, shape)) * itemsize
            texts[-1] += f" ({size_text(local)} a device)"
    parts = [f"nearest legal: {listing(texts, 'or')}"] if texts else []
    found = [] if shape is None else violations(spec, mesh, shape)
    if found and all(violation.kind is IndivisibleError for violation in found):
        pads = [f"dimension {dim} to {size}" for dim, size in padding(spec, mesh, shape).items()]
        parts.append(f"or pad {listing(pads)}")
    return "; ".join(parts)


def _raise_if(
    found: list[Violation], sharding: NamedSharding, shape: Sequence[int] | None = None
) -> None:
    if not found:
        return
    spec, mesh = sharding.spec, sharding.mesh
    subject = str(spec) if shape is None else f"{spec} for shape {tuple(shape)}"
    offender = Offender("", tuple(found), remedy(spec, mesh, shape))
    raise spec_error(f"{subject} is not legal on {mesh!s}", [offender])


def check_rank(sharding: NamedSharding | PartitionSpec, shape: Sequence[int]) -> None:
    """Raises if a spec has more entries than the shape has dimensions."""
    spec = sharding if isinstance(sharding, PartitionSpec) else sharding.spec
    if len(spec) > len(shape):
        scalar = "; for scalars the spec is P()" if not shape else ""
        raise SpecError(
            f"{sharding} is only valid for values of rank at least {len(spec)}, but was applied to "
            f"a value of rank {len(shape)}{scalar}"
        )


def mesh_to_mlir(symbol: str, mesh: AbstractMesh) -> str:
    """The op that declares a mesh: ``weft.mesh @mesh = <["data"=2, "model"=4]>``."""
    axes = ", ".join(f'"{name}"={size}' for name, size in mesh.shape_tuple)
    devices = ", ".join(map(str, listed_devices(mesh)))
    return (f"weft.mesh @{symbol} = <[{axes}]>"
            + (f" {{weft.devices = array<i64: {devices}>}}" if devices else ""))


def to_mlir(mesh_symbol: str, mesh: AbstractMesh, spec: PartitionSpec, rank: int) -> str:
    """The text of a sharding, ``<@mesh, [{"data"}, {}]>``: all of it for `weft.constraint`,
    and after ``#weft.sharding`` an attribute."""
    check_rank(spec, (1,) * rank)
    if spec.reduced:
        raise NotImplementedError(
            f"{spec}: `reduced` axes are not supported. They defer the reduction of a gradient, "
            "which the compiler does of itself where that is cheaper: leave `reduced` out"
        )
    order = {name: at for at, name in enumerate(mesh.axis_names)}
    unreduced = sorted(
        (Axis.parse(name) for name in spec.unreduced), key=lambda a: (order[a.name], a.pre)
    )
    terms = f", unreduced={{{', '.join(map(_axis_text, unreduced))}}}" if unreduced else ""
    return f"<@{mesh_symbol}, {dims_to_mlir(spec, rank)}{terms}>"


def dims_to_mlir(spec: PartitionSpec, rank: int) -> str:
    """The axes of the dimensions alone, ``[{"data"}, {}]``."""
    dims = []
    axes = spec.dim_axes() + [()] * (rank - len(spec))
    for dim, split in enumerate(axes):
        parts = [_axis_text(axis) for axis in split] + ["?"] * spec.is_open(dim)
        dims.append("{" + ", ".join(parts) + "}")
    return f"[{', '.join(dims)}]"


def _axis_text(axis: Axis) -> str:
    return f'"{axis.name}":({axis.pre}){axis.size}' if axis.size else f'"{axis.name}"'
