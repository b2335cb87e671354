# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which specs a mesh and a shape allow, and the legal ones nearest to one they do not."""

from __future__ import annotations

import difflib
import functools
import heapq
import itertools
import math
from collections.abc import Iterator, Sequence

from .errors import DuplicateSpecError, IndivisibleError, Violation, count, listing
from .mesh import AbstractMesh, AxisType
from .spec import UNCONSTRAINED, Axis, PartitionSpec

# After this many combinations, the search for a legal spec drops all axes.
_SEARCH_LIMIT = 3000


def violations(
    spec: PartitionSpec, mesh: AbstractMesh, shape: Sequence[int] | None = None
) -> list[Violation]:
    """All that is wrong with a spec on a mesh and, if given, for a shape."""
    return list(_violations(spec, mesh.abstract_mesh, None if shape is None else tuple(shape)))


@functools.lru_cache(maxsize=1024)
def _violations(
    spec: PartitionSpec, mesh: AbstractMesh, shape: tuple[int, ...] | None
) -> list[Violation]:
    """Layers have equal specs of equal shapes, and a step checks them again and again."""
    found = _unknown_axes(spec, mesh)
    if found:
        return found + _rank(spec, shape)
    found = _sub_axes(spec, mesh) or _duplicates(spec) or _misfits(spec)
    found += _axis_types(spec, mesh) + _rank(spec, shape)
    if shape is not None and not found:
        found = _indivisible(spec, mesh, shape)
    return found


def describe_axes(axes: Sequence[Axis], mesh: AbstractMesh) -> str:
    """``'data' (2) and 'model' (4)``."""
    return listing([f"'{axis}' ({axis.size_in(mesh)})" for axis in axes])


def close_axis(name: str, mesh: AbstractMesh) -> str | None:
    """The axis of the mesh that `name` is probably a misspelling of."""
    close = difflib.get_close_matches(name.lower(), [n.lower() for n in mesh.axis_names], 1, 0.6)
    return next((n for n in mesh.axis_names if close and n.lower() == close[0]), None)


def _mentioned(spec: PartitionSpec) -> list[Axis]:
    """Every axis of a spec, those of dimensions first."""
    sets = sorted(spec.unreduced) + sorted(spec.reduced)
    return [a for axes in spec.dim_axes() for a in axes] + [Axis.parse(name) for name in sets]


def _unknown_axes(spec: PartitionSpec, mesh: AbstractMesh) -> list[Violation]:
    has = ", ".join(f"'{n}' ({s})" for n, s in mesh.shape_tuple) or "none"
    found = []
    for name in dict.fromkeys(axis.name for axis in _mentioned(spec)):
        if name not in mesh.axis_names:
            close = close_axis(name, mesh)
            hint = f"; did you mean '{close}'?" if close else ""
            found.append(Violation(f"axis '{name}' is not in the mesh, whose axes are {has}{hint}"))
    return found


def _sub_axes(spec: PartitionSpec, mesh: AbstractMesh) -> list[Violation]:
    found = []
    for axis in _mentioned(spec):
        whole = mesh.shape[axis.name]
        if axis.size and (axis.size < 2 or axis.size >= whole or whole % (axis.pre * axis.size)):
            found.append(
                Violation(
                    f"'{axis}' is not a sub-axis of '{axis.name}' of size {whole}: the product of its "
                    "two numbers must divide the axis, and the second be neither 1 nor all of it"
                )
            )
    for axes in spec.dim_axes():
        for major, minor in itertools.pairwise(axes):
            if major.size and minor.name == major.name and major.pre * major.size == minor.pre:
                joined = Axis(major.name, major.pre, major.size * minor.size)
                whole = joined.size == mesh.shape[major.name]
                found.append(
                    Violation(
                        f"'{major}' and '{minor}' in succession are one sub-axis: write "
                        f"'{Axis(major.name) if whole else joined}'"
                    )
                )
    return found


def _duplicates(spec: PartitionSpec) -> list[Violation]:
    axes = _mentioned(spec)
    twice = [str(a) for i, a in enumerate(axes) if any(a.overlaps(b) for b in axes[:i])]
    if not twice:
        return []
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(twice))
    return [
        Violation(
            f"{spec} has duplicate entries for {names}: an axis can split at most one dimension",
            DuplicateSpecError,
        )
    ]


def _misfits(spec: PartitionSpec) -> list[Violation]:
    pairs = itertools.combinations(_mentioned(spec), 2)
    return [
        Violation(f"no division of '{a.name}' has both '{a}' and '{b}' as parts")
        for a, b in pairs if not a.fits_beside(b)
    ]


def _axis_types(spec: PartitionSpec, mesh: AbstractMesh) -> list[Violation]:
    found = []
    is_open = any(spec.is_open(dim) for dim in range(len(spec)))
    if is_open and mesh.axis_names and not mesh.auto_axes:
        found.append(
            Violation(
                f"{spec} cannot contain P.UNCONSTRAINED when no axis of the mesh is Auto: "
                f"axis_types are {mesh.axis_types}"
            )
        )
    for keyword, axes in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        names = sorted({Axis.parse(axis).name for axis in axes})
        wrong = [n for n in names if mesh.axis_type(n) is not AxisType.Explicit]
        if wrong:
            types = listing([f"'{n}' is {mesh.axis_type(n).name}" for n in wrong])
            found.append(
                Violation(
                    f"{keyword} axes can only be axes of type Explicit, but {types}: leave them out, "
                    "or give the mesh axis_types"
                )
            )
    return found


def _rank(spec: PartitionSpec, shape: Sequence[int] | None) -> list[Violation]:
    if shape is None or len(spec) <= len(shape):
        return []
    scalar = "; for scalars the spec is P()" if not shape else ""
    return [
        Violation(
            f"{spec} has {count(len(spec), 'entry').replace('entrys', 'entries')}, but the array "
            f"has {count(len(shape), 'dimension')}{scalar}"
        )
    ]


def _indivisible(
    spec: PartitionSpec, mesh: AbstractMesh, shape: Sequence[int]
) -> list[Violation]:
    """Dimensions of which some device would hold nothing. Others that their axes do not divide
    are padded."""
    found = []
    for dim, axes in enumerate(spec.dim_axes()):
        ways = math.prod(axis.size_in(mesh) for axis in axes)
        if not _can_split(shape[dim], ways):
            found.append(
                Violation(
                    f"dimension {dim} of size {shape[dim]} is split {ways} ways by "
                    f"{describe_axes(axes, mesh)}: some devices would hold nothing of it",
                    IndivisibleError,
                )
            )
    return found


def _can_split(size: int, ways: int) -> bool:
    """Whether every one of the shards has an element, or there are none at all."""
    return size >= ways or size == 0


def padding(spec: PartitionSpec, mesh: AbstractMesh, shape: Sequence[int]) -> dict[int, int]:
    """The padded sizes of dimensions that their axes do not divide."""
    wanted = {}
    for dim, axes in enumerate(spec.dim_axes()):
        ways = math.prod(axis.size_in(mesh) for axis in axes)
        if shape[dim] % ways:
            wanted[dim] = -(-shape[dim] // ways) * ways
    return wanted


def shard_shape(
    spec: PartitionSpec, mesh: AbstractMesh, shape: Sequence[int]
) -> tuple[int, ...]:
    """The shape of a device's part, padding included; the spec is legal for the shape."""
    axes = spec.dim_axes() + [()] * (len(shape) - len(spec))
    return tuple(
        -(-size // math.prod(axis.size_in(mesh) for axis in split))
        for size, split in zip(shape, axes)
    )


@functools.lru_cache(maxsize=1024)
def _nearest(
    spec: PartitionSpec, mesh: AbstractMesh, shape: tuple[int, ...] | None, closed: bool
) -> tuple[PartitionSpec, ...]:
    """All legal specs with the fewest changes, those that leave a device less first."""
    rank = len(spec) if shape is None else len(shape)
    sets = _legal_sets(spec, mesh)
    fewest, found = math.inf, []
    for order, (changes, dims) in enumerate(_edits(spec, mesh, rank)):
        if changes > fewest:
            break
        if not _fits(dims, mesh, shape):
            continue
        candidate = _rebuilt(spec, dims, sets, closed or not mesh.auto_axes)
        if not violations(candidate, mesh, shape):
            fewest = changes
            split = math.prod(axis.size_in(mesh) for axes in dims for axis in axes)
            found.append((-split, order, candidate))
    found.sort(key=lambda entry: entry[:2])
    return tuple(dict.fromkeys(candidate for *_, candidate in found))


def nearest(
    spec: PartitionSpec,
    mesh: AbstractMesh,
    shape: Sequence[int] | None = None,
    *,
    closed: bool = False,
    limit: int = 2,
) -> list[PartitionSpec]:
    """The legal specs that the fewest changes make of an illegal one, those that leave a
    device less first. A change corrects an axis's name, moves an axis to another
    dimension or drops it; `closed` specs have no unconstrained dimensions."""
    shape = None if shape is None else tuple(shape)
    return list(_nearest(spec, mesh, shape, closed)[:limit])


def _legal_sets(spec: PartitionSpec, mesh: AbstractMesh) -> dict[str, frozenset[str]]:
    """The unreduced and reduced axes that may stay."""

    def legal(name: str) -> bool:
        axis = Axis.parse(name).name
        return axis in mesh.axis_names and mesh.axis_type(axis) is AxisType.Explicit

    return {
        "unreduced": frozenset(filter(legal, spec.unreduced)),
        "reduced": frozenset(filter(legal, spec.reduced)),
    }


def _choices(use: tuple[int, Axis], mesh: AbstractMesh, rank: int) -> list[tuple]:
    """What can become of a use of an axis: (changes, dimension or None, axis, moved)."""
    dim, axis = use
    if axis.name not in mesh.axis_names:
        close = close_axis(axis.name, mesh)
        names = [axis._replace(name=close)] if close else []
    else:
        names = [axis]
    changes = 0 if names == [axis] else 0.5
    kept = [(changes, dim, a, False) for a in names if dim < rank]
    moved = [(changes + 1, d, a, True) for a in names for d in range(rank) if d != dim]
    return kept + moved + [(1.0, None, axis, False)]


def _edits(
    spec: PartitionSpec, mesh: AbstractMesh, rank: int
) -> Iterator[tuple[float, list[list[Axis]]]]:
    """(number of changes, axes of each dimension) of specs that can be made of `spec`, in
    ascending number of changes."""
    uses = [(dim, axis) for dim, axes in enumerate(spec.dim_axes()) for axis in axes]
    choices = [sorted(_choices(use, mesh, rank), key=lambda c: c[0]) for use in uses]

    def changes(picks: tuple[int, ...]) -> float:
        return sum(options[pick][0] for options, pick in zip(choices, picks))

    first = (0,) * len(uses)
    waiting, seen = [(changes(first), first)], {first}
    for _ in range(_SEARCH_LIMIT):
        if not waiting:
            return
        cost, picks = heapq.heappop(waiting)
        yield cost, _placed([options[pick] for options, pick in zip(choices, picks)], rank)
        for at, options in enumerate(choices):
            following = (*picks[:at], picks[at] + 1, *picks[at + 1 :])
            if following[at] < len(options) and following not in seen:
                seen.add(following)
                heapq.heappush(waiting, (changes(following), following))
    yield math.inf, [[] for _ in range(rank)]


def _fits(
    dims: list[list[Axis]], mesh: AbstractMesh, shape: tuple[int, ...] | None
) -> bool:
    """Whether axes do not overlap and can split their dimensions; quick, as most do not."""
    axes = [axis for split in dims for axis in split]
    if any(a.overlaps(b) or not a.fits_beside(b) for a, b in itertools.combinations(axes, 2)):
        return False
    return shape is None or all(
        _can_split(size, math.prod(axis.size_in(mesh) for axis in split))
        for size, split in zip(shape, dims)
    )


def _placed(chosen: Sequence[tuple], rank: int) -> list[list[Axis]]:
    """The axes of each dimension: those that stay, then those that were moved to it."""
    dims: list[list[Axis]] = [[] for _ in range(rank)]
    for wants_moved in (False, True):
        for _, dim, axis, moved in chosen:
            if dim is not None and moved == wants_moved:
                dims[dim].append(axis)
    return dims


def _rebuilt(
    spec: PartitionSpec, dims: list[list[Axis]], sets: dict[str, frozenset[str]], closed: bool
) -> PartitionSpec:
    """A spec of the given axes, as long as `spec` if it fits and open where `spec` is."""
    entries = []
    for dim, axes in enumerate(dims):
        is_open = spec.is_open(dim) and not closed
        names = tuple(map(str, axes))
        entries.append((*names, UNCONSTRAINED) if is_open else names)
    while len(entries) > len(spec) and not entries[-1]:
        entries.pop()
    used = {str(axis) for axes in dims for axis in axes}
    return PartitionSpec(*entries, **{keyword: axes - used for keyword, axes in sets.items()})
