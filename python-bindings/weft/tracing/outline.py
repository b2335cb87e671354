# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the module besides the entry, and the ops that mention them."""

import dataclasses
import functools
import re
from typing import Any, Callable, Sequence

from .. import tree as trees
from .batching import in_place_of, written
from .graph import Graph, current_graph, type_text
from .tracer import Tracer


def symbol_of(fn: Callable, otherwise: str) -> str:
    """The name of a function, as far as MLIR takes it; `otherwise` for a lambda."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = re.sub(r"\W", "_", getattr(fn, "__name__", type(fn).__name__), flags=re.ASCII)
    return otherwise if name.startswith("_lambda") else name


@dataclasses.dataclass(frozen=True)
class Outlined:
    """A private function, and the tree of what it returned, in which tensors of the
    function stand for results of a call."""

    symbol: str
    captured: Sequence[Tracer]
    leaves: list[Any]
    treedef: Any

    def call(self, op: str, attributes: str, operands: Sequence[Tracer],
             more: Sequence[Tracer] = ()) -> tuple[Any, list[Tracer]]:
        """Appends `op`, which mentions the function. Returns the tree of its results, and
        results that the op has besides, of the types of `more`."""
        graph = current_graph()
        passed = [leaf for leaf in self.leaves if _is_passed(leaf)]
        if not passed and not more:
            return self.treedef.unflatten(self.leaves), []
        every = [*map(written, operands), *self.captured]
        names = ", ".join(graph.refer(value) for value in every)
        types = ", ".join(_type(value) for value in every)
        results = [*passed, *more]
        made = [*map(written, results)]
        out = ", ".join(_type(value) for value in made)
        values = graph.add_multiple(f"{op} @{self.symbol}({names}){attributes} : ({types}) -> ({out})", made)
        rest = iter([in_place_of(like, value) for like, value in zip(results, values)])
        return self.treedef.unflatten(
            [next(rest) if _is_passed(leaf) else leaf for leaf in self.leaves]), list(rest)


def _type(value: Tracer) -> str:
    return type_text(value.shape, value.element)


def _is_passed(leaf: Any) -> bool:
    """Whether a result comes out of the function: numbers and other things pass by it."""
    return isinstance(leaf, Tracer) and leaf.splat is None


def outline(fn: Callable, otherwise: str, body: Callable, operands: Sequence[Tracer]) -> Outlined:
    """Traces body(arguments), arguments of the types of the operands, into a private
    function that is named after `fn`. Values of the caller become further arguments."""
    outer = current_graph()
    with Graph(outer.module, outer) as inner:
        arguments = [in_place_of(v, inner.argument(w.shape, w.element, w.weak, w.used_as))
                     for v, w in zip(operands, map(written, operands))]
        leaves, treedef = trees.flatten(body(arguments))
        symbol = outer.module.symbol(symbol_of(fn, otherwise))
        text = inner.finish(symbol, [written(leaf) for leaf in leaves if _is_passed(leaf)],
                            outer.module.locations.here())
    outer.module.functions.append(text)
    return Outlined(symbol, inner.captured, leaves, treedef)
