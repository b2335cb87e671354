# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.microbatches`: the gradient of a large batch, of parts that are computed one after
another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import tree as trees
from .autodiff import laid_out
from .tracing.graph import as_tracer, current_graph, type_text
from .tracing.locations import user_line
from .tracing.tracer import Tracer


def microbatches(value_and_grad_fn: Callable, n: int, *, dtype: Any = None) -> Callable:
    """The function `(params, *batch) -> (value, gradients)` as the mean over `n` micro-batches.

    `batch` are trees of arrays with one number of rows; row r is in micro-batch r % n, so that
    every part of a batch that is split over devices has as many rows of each. Micro-batches
    follow one another: the activations of one are gone before those of the next are there.
    Values and gradients are added in order, in `dtype` if it is given and in their own types
    otherwise, then divided by n; integers are added only. Devices add up what they have of
    gradients before they exchange it: there is one reduction of them a step.
    """
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"microbatches needs a number of at least 1, got {n!r}")

    @functools.wraps(value_and_grad_fn)
    def accumulated(params: Any, *batch: Any) -> Any:
        _check_rows(batch, n)
        total = None
        for i in range(n):
            if total is not None:
                params, batch = _after((params, batch), total)
            part = trees.map(lambda leaf: _rows(as_tracer(leaf), i, n), batch)
            result = trees.map(lambda leaf: _widened(as_tracer(leaf), dtype),
                               value_and_grad_fn(params, *part))
            total = result if total is None else trees.map(lambda a, b: a + b, total, result)
        value, gradients = trees.map(lambda x: x / n if x.element.kind == "f" else x, total)
        return value, laid_out(gradients)

    return accumulated


def _check_rows(batch: Any, n: int) -> None:
    leaves = trees.flatten_with_paths(batch, "batch")[0]
    wrong = [f"{path} of shape {list(leaf.shape)}" for path, leaf in leaves
             if not leaf.shape or leaf.shape[0] % n]
    if wrong:
        raise ValueError(f"{user_line()}: the rows of a batch must be a multiple of the {n} "
                         f"micro-batches, but are not in {', '.join(wrong)}")


def _rows(x: Tracer, i: int, n: int) -> Tracer:
    """Rows i, i + n, i + 2 n..."""
    rows, *rest = x.shape
    return x.reshape(rows // n, n, *rest)[:, i]


def _widened(x: Tracer, dtype: Any) -> Tracer:
    return x if dtype is None or x.element.kind != "f" else x.astype(dtype)


def _after(tree: Any, others: Any) -> Any:
    """The tree, no tensor of which is to be used before all of `others` are there."""
    graph = current_graph()
    waited = [leaf for leaf in trees.leaves(others) if leaf.splat is None]

    def later(leaf: Any) -> Tracer:
        x = as_tracer(leaf)
        if x.splat is not None or not waited:
            return x
        names = ", ".join(graph.refer(other) for other in waited)
        types = ", ".join(type_text(other.shape, other.element) for other in waited)
        y = graph.add(f"weft.barrier {graph.refer(x)} after {names} : "
                      f"{type_text(x.shape, x.element)} after {types}", x.shape, x.element, x.weak)
        y.used_as = x.used_as
        return y

    return trees.map(later, tree)
