# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sharding of values in the middle of a function."""

from typing import Any

from . import tree as trees
from .resolve import given_specs, resolve_constraints, resolve_shardings
from .tracing.graph import as_tracer, current_graph
from .tracing.tracer import Batched, Tracer


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """x, a tensor or a tree of them, sharded as `shardings`, a prefix tree of specs and
    named shardings, says. A spec is on the mesh given to weft.jit."""
    return constrain(x, shardings, "with_sharding_constraint")


def constrain(x: Any, shardings: Any, what: str) -> Any:
    """As with_sharding_constraint; `what` says who asks for it."""
    values, treedef, resolved = _resolved(x, shardings, what)
    graph = current_graph()
    return treedef.unflatten(graph.constrain(value, s) for value, s in zip(values, resolved))


def constrain_some(x: Any, shardings: Any, what: str, mesh: Any, root: trees.Root) -> Any:
    """As constrain, of a tree called `root`, some leaves of which may have None for a sharding and
    stay as they are; `mesh` is where specs are if the program has no mesh yet."""
    module = current_graph().module
    mesh = mesh if module.mesh is None else module.mesh
    leaves, treedef = trees.flatten(x, root=root)
    values = [as_tracer(leaf) for leaf in leaves]
    tree = treedef.unflatten(values)
    given = given_specs(shardings, tree, what)
    resolved = resolve_shardings(what, tree, shardings, mesh, root=root, allow_unconstrained=True)
    if module.mesh is None:
        module.mesh = next((s.mesh for s in resolved if s is not None), None)
    graph = current_graph()
    return treedef.unflatten(
        leaf if spec is None else graph.constrain(value, sharding)
        for leaf, value, (_, spec), sharding in zip(leaves, values, given, resolved))


def compute_with(x: Any, shardings: Any, *, what: str = "compute_with") -> Any:
    """x, a tensor or a tree of them, which every function that computes with it takes in the
    sharding that `shardings` says, as with_sharding_constraint at its first use there.

    Functions are the traced one, one to be differentiated and one under weft.checkpoint: a
    parameter that rests in shards is gathered in each, and again in the backward pass of a
    checkpoint. One that is converted to a narrower type is gathered in that type.
    """
    values, treedef, resolved = _resolved(x, shardings, what)
    return treedef.unflatten(_used_as(value, s) for value, s in zip(values, resolved))


def _resolved(x: Any, shardings: Any, what: str) -> tuple[list[Tracer], Any, list[Any]]:
    """The tensors of x, its structure, and their shardings."""
    module = current_graph().module
    leaves, treedef = trees.flatten(x)
    values = [as_tracer(leaf) for leaf in leaves]
    resolved = resolve_constraints(treedef.unflatten(values), shardings, module.mesh, what)
    if module.mesh is None and resolved:
        module.mesh = resolved[0].mesh
    return values, treedef, resolved


def _used_as(x: Tracer, sharding: Any) -> Tracer:
    if isinstance(x, Batched):
        return x.level.example(_used_as(x.whole, x.level.sharding_of_whole(sharding)))
    return Tracer(x.graph, x.name, x.shape, x.element, x.weak, x.splat, sharding)
