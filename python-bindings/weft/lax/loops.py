# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow without branches in the graph: loops with a number of steps that is known
are Python loops over the body, and of two functions both are computed."""

import operator
from typing import Any, Callable, Sequence

from .. import tree as trees
from ..numpy import elementwise, shapes
from ..tracing.graph import as_tracer, literal
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def _length(leaves: list[Any], length: int | None) -> int:
    sizes = {as_tracer(leaf).shape[:1] for leaf in leaves}
    if () in sizes or len(sizes) > 1:
        raise ValueError(f"{user_line()}: scan: the tensors to scan over must have first dimensions "
                         f"of one size, got {sorted(size[0] if size else 'none' for size in sizes)}")
    found = sizes.pop()[0] if sizes else length
    if found is None or length not in (None, found):
        raise ValueError(f"{user_line()}: scan: length is {length}, but the tensors to scan over have "
                         f"{found} slices; give either")
    if operator.index(found) < 0:
        raise ValueError(f"{user_line()}: scan: length must be at least 0, got {found}")
    return found


def _no_outputs(f: Callable, init: Any, xs: Any) -> Any:
    """The outputs of no step: of each tensor, none."""
    def none_of(leaf: Any) -> Any:
        y = as_tracer(leaf)
        return literal(0, (0, *y.shape), y.element, y.weak)

    def first_of(leaf: Any) -> Any:
        x = as_tracer(leaf)
        return literal(0, x.shape[1:], x.element, x.weak)

    return trees.map(none_of, f(init, trees.map(first_of, xs))[1])


def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1) -> tuple[Any, Any]:
    """carry, y = f(carry, x) for each slice x of xs; returns the last carry and the ys
    stacked. Always unrolled, whatever `unroll` says."""
    leaves, treedef = trees.flatten(xs)
    count = _length(leaves, length)
    slices = [shapes.unstack(leaf) for leaf in leaves]
    if count == 0:
        return init, _no_outputs(f, init, xs)
    carry, ys = init, []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, treedef.unflatten([parts[i] for parts in slices]))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, trees.map(lambda *parts: shapes.stack(parts), *ys)


def map(f: Callable, xs: Any) -> Any:  # noqa: A001
    """f of each slice of xs, stacked."""
    return scan(lambda carry, x: (carry, f(x)), None, xs)[1]


def fori_loop(lower: int, upper: int, body_fun: Callable, init_val: Any,
              unroll: int | bool | None = None) -> Any:
    """x = body_fun(i, x) for i from lower to upper - 1, Python integers; unrolled."""
    value = init_val
    for i in range(lower, upper):
        value = body_fun(i, value)
    return value


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """true_fun(*operands) where pred holds, else false_fun(*operands). Of a traced pred both
    are computed and one is chosen, of a Python bool only one is."""
    if not isinstance(pred, Tracer):
        return (true_fun if pred else false_fun)(*operands)
    return trees.map(lambda x, y: elementwise.where(pred, x, y),
                     true_fun(*operands), false_fun(*operands))


def switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
    """branches[index](*operands), with the index limited to those that there are. Of a traced index
    all are computed and one is chosen, of a Python integer only one is."""
    if not branches:
        raise ValueError(f"{user_line()}: switch takes at least one function")
    if not isinstance(index, Tracer):
        return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
    if index.shape or index.element.kind != "i":
        raise TypeError(f"{user_line()}: switch takes an index that is one integer, got {index!r}")
    result = branches[-1](*operands)
    for i in reversed(range(len(branches) - 1)):
        result = trees.map(lambda x, y, i=i: elementwise.where(elementwise.less_equal(index, i), x, y),
                           branches[i](*operands), result)
    return result
