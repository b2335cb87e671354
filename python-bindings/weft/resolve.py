# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a prefix tree of specs to the sharding of every array, with all errors at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import tree as trees
from .errors import Offender, SpecError, Violation, count, spec_error
from .legality import violations
from .mesh import AbstractMesh
from .path_groups import group_paths
from .sharding import NamedSharding, remedy
from .spec import PartitionSpec

Sharding = NamedSharding | PartitionSpec | None


@dataclasses.dataclass(frozen=True)
class Leaf:
    """An array that a spec was given for: its path in the tree, shape and item size."""

    path: str
    array: Any
    sharding: Sharding

    @property
    def spec(self) -> PartitionSpec:
        return self.sharding.spec if isinstance(self.sharding, NamedSharding) else self.sharding


def as_array(leaf: Any) -> Any:
    """A leaf itself if it has a shape and a dtype, else the NumPy array that it makes."""
    return leaf if hasattr(leaf, "shape") and hasattr(leaf, "dtype") else np.asarray(leaf)


def array_text(array: Any) -> str:
    """``float32[8, 4]``."""
    return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"


def resolve_shardings(
    what: str,
    tree: Any,
    shardings: Any,
    mesh: AbstractMesh | None,
    *,
    root: str | Sequence[str] = "",
    allow_unconstrained: bool = False,
) -> list[NamedSharding | None]:
    """The sharding of every leaf of `tree`, an array or `ShapeDtypeStruct`, in order.

    `shardings` is a prefix tree of specs, named shardings and ``None`` (not specified: the
    leaf's own sharding, or none). `what` is the argument they were passed as and `root` the name
    of the tree, or the names of its elements if it is a tuple of arguments.
    """
    arrays = _named_leaves(tree, root)
    name = root if isinstance(root, str) else ""
    given = trees.broadcast_prefix_with_keys(
        shardings, tree, lambda node: node is None, name=what, root=name
    )
    _check_types(what, given)
    leaves = [Leaf(path, array, sharding) for (path, array), (_, sharding) in zip(arrays, given)]

    def problems(leaf: Leaf) -> list[Violation]:
        return _leaf_violations(leaf, mesh, what, allow_unconstrained)

    report(what, leaves, problems, mesh, closed=not allow_unconstrained)
    return [_on_mesh(leaf, mesh) for leaf in leaves]


def report(
    what: str,
    leaves: Sequence[Leaf],
    problems: Callable[[Leaf], list[Violation]],
    mesh: AbstractMesh | None,
    *,
    closed: bool = False,
) -> None:
    """Raises one error for all leaves that have problems."""
    wrong = {
        leaf.path: (array_text(leaf.array), leaf.spec, tuple(found), _remedy(leaf, mesh, closed))
        for leaf in leaves
        if leaf.sharding is not None and (found := problems(leaf))
    }
    if not wrong:
        return
    offenders = []
    for group in group_paths(wrong, wrong.get):
        array, spec, found, legal = wrong[group.paths[0]]
        offenders.append(Offender(f"{str(group) or 'the array'}: {array}, {spec}", found, legal))
    number = f"{len(wrong)} of {count(len(leaves), 'array')}"
    raise spec_error(f"{what}: {number} cannot be sharded as written", offenders)


def _remedy(leaf: Leaf, mesh: AbstractMesh | None, closed: bool) -> str:
    mesh = leaf.sharding.mesh if isinstance(leaf.sharding, NamedSharding) else mesh
    if mesh is None:
        return ""
    return remedy(leaf.spec, mesh, leaf.array.shape, leaf.array.dtype.itemsize, closed=closed)


def _named_leaves(tree: Any, root: str | Sequence[str]) -> list[tuple[str, Any]]:
    if isinstance(root, str):
        leaves = trees.flatten_with_paths(tree, root)[0]
        return [(path, as_array(leaf)) for path, leaf in leaves]
    return [
        leaf
        for name, element in zip(root, tree, strict=True)
        for leaf in _named_leaves(element, name)
    ]


def _check_types(what: str, given: list[tuple[trees.Path, Any]]) -> None:
    """Raises for every leaf of the prefix tree that is no sharding."""
    wrong: dict[str, str] = {}
    for path, leaf in given:
        if leaf is not None and not isinstance(leaf, (NamedSharding, PartitionSpec)):
            hint = f"; write P({leaf!r})" if isinstance(leaf, str) else ""
            wrong[trees.keystr(path)] = f"{leaf!r} of type {type(leaf).__name__}{hint}"
    if wrong:
        lines = [f"\n  {what}{path} is {text}" for path, text in wrong.items()]
        raise TypeError(
            f"{what} must be a tree of NamedSharding, PartitionSpec and None, but{''.join(lines)}"
        )


def _leaf_violations(
    leaf: Leaf, mesh: AbstractMesh | None, what: str, allow_unconstrained: bool
) -> list[Violation]:
    on = leaf.sharding.mesh if isinstance(leaf.sharding, NamedSharding) else mesh
    if on is None:
        return [Violation("a spec needs a mesh: pass mesh=, or a NamedSharding instead of a spec")]
    if mesh is not None and on.shape_tuple != mesh.shape_tuple:
        return [Violation(f"it is on {on!s}, but the program is on {mesh!s}: use one mesh")]
    found = violations(leaf.spec, on, leaf.array.shape)
    found += _forbidden(leaf.spec, on, what, allow_unconstrained)
    return found or _disagreement(leaf, on)


def _forbidden(
    spec: PartitionSpec, mesh: AbstractMesh, what: str, allow_unconstrained: bool
) -> list[Violation]:
    """What is legal on a mesh, but not where the spec is used."""
    found = []
    if not allow_unconstrained and any(spec.is_open(dim) for dim in range(len(spec))):
        found.append(
            Violation(
                f"unconstrained dimensions are not allowed in {what}: {spec}; say how they are "
                "split, or leave the whole sharding out with None"
            )
        )
    used = {axis.name for axes in spec.dim_axes() for axis in axes}
    manual = [name for name in mesh.manual_axes if name in used]
    if manual:
        found.append(
            Violation(
                f"{spec} contains Manual axes {', '.join(map(repr, manual))} of the mesh, along "
                "which the program itself moves data: use Auto or Explicit axes"
            )
        )
    return found


def _disagreement(leaf: Leaf, mesh: AbstractMesh) -> list[Violation]:
    """The array has a sharding of its own and it is another one."""
    own = getattr(leaf.array, "sharding", None)
    if not isinstance(own, NamedSharding) or not leaf.path:
        return []
    given = NamedSharding(mesh, leaf.spec)
    ndim = len(leaf.array.shape)
    if own.mesh.shape_tuple == mesh.shape_tuple and NamedSharding(
        mesh, own.spec
    ).is_equivalent_to(given, ndim):
        return []
    return [
        Violation(
            f"the array has the sharding {own.spec} on {own.mesh!s}: pass it as that, or give None "
            "to take the array's"
        )
    ]


def _on_mesh(leaf: Leaf, mesh: AbstractMesh | None) -> NamedSharding | None:
    if leaf.sharding is None:
        own = getattr(leaf.array, "sharding", None)
        if isinstance(own, PartitionSpec) and mesh is not None:
            return NamedSharding(mesh, own)
        return own if isinstance(own, NamedSharding) else None
    return leaf.sharding if isinstance(leaf.sharding, NamedSharding) else NamedSharding(mesh, leaf.sharding)


def resolve_constraints(
    tree: Any, shardings: Any, mesh: AbstractMesh | None
) -> list[NamedSharding]:
    """The shardings that `with_sharding_constraint` asks for, for every leaf of `tree`.

    As at the boundary of a program, the axes must divide the dimensions: nothing is replicated
    in silence.
    """
    what = "with_sharding_constraint"
    given = trees.broadcast_prefix_with_keys(
        shardings, tree, lambda node: node is None, name=f"{what} shardings"
    )
    missing = [trees.keystr(path) or "the value" for path, leaf in given if leaf is None]
    if missing:
        raise SpecError(
            f"{what}: no sharding for {', '.join(dict.fromkeys(missing))}; to leave a dimension "
            "open write P.UNCONSTRAINED"
        )
    _check_explicit(given, mesh)
    return resolve_shardings(what, tree, shardings, mesh, allow_unconstrained=True)


def _check_explicit(given: list[tuple[trees.Path, Any]], mesh: AbstractMesh | None) -> None:
    """On a mesh of Auto and Explicit axes, a constraint is about the Auto ones."""
    found = {}
    for path, leaf in given:
        if not isinstance(leaf, (NamedSharding, PartitionSpec)):
            continue
        on, spec = (leaf.mesh, leaf.spec) if isinstance(leaf, NamedSharding) else (mesh, leaf)
        used = {axis.name for axes in spec.dim_axes() for axis in axes}
        explicit = [n for n in on.explicit_axes if n in used] if on and on.auto_axes else []
        if explicit:
            found[f"{trees.keystr(path)}{spec}"] = f"{spec} names {', '.join(map(repr, explicit))}"
    if found:
        raise SpecError(
            "the spec passed to with_sharding_constraint can only refer to Auto axes of a mesh that "
            "has some:\n  " + "\n  ".join(found.values()) + "\n  leave these axes out, or make all of the mesh Explicit"
        )
