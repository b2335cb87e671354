# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a prefix tree of specs to the sharding of every array, with all errors at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import tree as trees
from .arrays import Array
from .errors import SpecError, Violation
from .legality import violations
from .mesh import AbstractMesh
from .offenders import Leaf, as_array, report
from .rules import Rules
from .sharding import NamedSharding
from .spec import PartitionSpec


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

    `shardings` is a prefix tree of specs, named shardings, `Rules` for what is below their place
    and ``None`` (not specified: the leaf's own sharding, or none). `what` is the argument they were passed as and `root` the name
    of the tree, or the names of its elements if it is a tuple of arguments.
    """
    arrays = _named_leaves(tree, root)
    name = root if isinstance(root, str) else ""
    given = given_specs(shardings, tree, what, name)
    _check_types(what, given)
    leaves = [
        Leaf(path, array, _own(array) if sharding is None else sharding)
        for (path, array), (_, sharding) in zip(arrays, given)
    ]

    def problems(leaf: Leaf) -> list[Violation]:
        return _leaf_violations(leaf, mesh, what, allow_unconstrained)

    report(what, leaves, problems, mesh, closed=not allow_unconstrained)
    return [_on_mesh(leaf, mesh) for leaf in leaves]


def given_specs(
    shardings: Any, tree: Any, what: str, root: str = ""
) -> list[tuple[trees.Path, Any]]:
    """What was given for each leaf of `tree`, with its path in `shardings`."""

    def spread(leaf: Any, subtree: Any) -> list[Any] | None:
        return [rule.spec for rule in leaf.match(subtree)] if isinstance(leaf, Rules) else None

    return trees.broadcast_prefix_with_keys(
        shardings, tree, lambda node: node is None, name=what, root=root, spread=spread
    )


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
            of_jax = type(leaf).__module__.split(".")[0] == "jax"
            hint = f"; write P({leaf!r})" if isinstance(leaf, str) else ""
            hint = "; it is JAX's, use that of weft" if of_jax else hint
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
    # In the middle of a program, another sharding than the value has is a reshard.
    return found if found or allow_unconstrained else _disagreement(leaf, on)


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
    own, ndim = _own(leaf.array), len(leaf.array.shape)
    if not isinstance(own, NamedSharding):
        return []
    same_mesh = own.mesh.shape_tuple == mesh.shape_tuple
    if same_mesh and own.layout(ndim) == NamedSharding(mesh, leaf.spec).layout(ndim):
        return []
    return [
        Violation(
            f"the array has the sharding {own.spec} on {own.mesh!s}: pass it as that, or give None "
            "to take the array's"
        )
    ]


def _own(array: Any) -> NamedSharding | PartitionSpec | None:
    """The sharding that a description of an array brings. One that calls have left on the ranks brings none: the
    next call would be compiled again for it."""
    if isinstance(array, Array):
        return None
    sharding = getattr(array, "sharding", None)
    return sharding if isinstance(sharding, (NamedSharding, PartitionSpec)) else None


def _on_mesh(leaf: Leaf, mesh: AbstractMesh | None) -> NamedSharding | None:
    if leaf.sharding is None or isinstance(leaf.sharding, NamedSharding):
        return leaf.sharding
    return NamedSharding(mesh, leaf.sharding)


def resolve_constraints(
    tree: Any, shardings: Any, mesh: AbstractMesh | None, what: str = "with_sharding_constraint"
) -> list[NamedSharding]:
    """The shardings that `what` asks for, in the middle of a function, for every leaf of `tree`.

    As at the boundary of a program, the axes must divide the dimensions: nothing is replicated
    in silence.
    """
    given = given_specs(shardings, tree, f"{what} shardings")
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
