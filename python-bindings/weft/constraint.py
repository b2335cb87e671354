# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`with_sharding_constraint`: the sharding of a value in the middle of a function."""

from typing import Any

from . import tree as trees
from .resolve import resolve_constraints
from .sharding import to_mlir
from .tracing.graph import as_tracer, current_graph, type_text
from .tracing.program import MESH_SYMBOL
from .tracing.tracer import Tracer


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """x, a tensor or a tree of them, sharded as `shardings`, a prefix tree of specs and
    named shardings, says. A spec is on the mesh given to weft.jit."""
    graph = current_graph()
    leaves, treedef = trees.flatten(x)
    values = [as_tracer(leaf) for leaf in leaves]
    module = graph.module
    resolved = resolve_constraints(treedef.unflatten(values), shardings, module.mesh)
    if module.mesh is None and resolved:
        module.mesh = resolved[0].mesh
    return treedef.unflatten(_constrained(value, s) for value, s in zip(values, resolved))


def _constrained(x: Tracer, sharding: Any) -> Tracer:
    graph = current_graph()
    text = to_mlir(MESH_SYMBOL, sharding.mesh, sharding.spec, len(x.shape))
    return graph.add(f"weft.constraint {graph.use(x)} {text} : {type_text(x.shape, x.element)}",
                     x.shape, x.element, x.weak)
