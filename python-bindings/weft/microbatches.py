# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.microbatches`: the gradient of a large batch, of micro-batches that are computed one after
another."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable
from typing import Any

from . import tree as trees
from .autodiff import gathered_once, laid_out
from .tracing.graph import as_tracer, current_graph, type_text
from .tracing.locations import user_line
from .tracing.tracer import Tracer


def microbatches(value_and_grad_fn: Callable, n: int, *, dtype: Any = None) -> Callable:
    """The function `(params, *batch) -> (value, gradients)` as the mean over `n` micro-batches.

    `batch` are trees of arrays with one number of rows; row r is in micro-batch r % n, so that
    every shard of a batch has as many rows of each. Micro-batches are a loop of the plan, which
    does not grow with `n`: the activations of one are gone before those of the next are there.
    Values and gradients are added in order, in `dtype` if it is given and in their own types
    otherwise, then divided by n; integers are added only. Devices add up what they have of
    gradients before they exchange it: there is one reduction of them a step, as long as they fit.
    """
    if not isinstance(n, numbers.Integral) or n < 1:
        raise ValueError(f"microbatches needs a number of at least 1, got {n!r}")
    n = int(n)

    @functools.wraps(value_and_grad_fn)
    def accumulated(params: Any, *batch: Any) -> Any:
        module = current_graph().module
        asked, module.microbatches = module.microbatches, None
        if asked not in (None, n):
            of = "the pipeline has" if module.is_pipeline else "weft.jit is given microbatches ="
            raise ValueError(f"{user_line()}: there are {n} micro-batches here, but {of} {asked}; say it once")
        try:
            return mean_over(params, *batch)
        finally:
            module.microbatches = asked

    def mean_over(params: Any, *batch: Any) -> Any:
        _check_rows(batch, n)
        # The stages of a pipeline need a loop, even if it is of one.
        if n == 1 and not current_graph().module.is_pipeline:
            value, gradients = trees.map(lambda leaf: _widened(as_tracer(leaf), dtype),
                                         value_and_grad_fn(params, *batch))
            return value, gradients
        params = gathered_once(params)
        loop = current_graph().new_microbatches(n)
        result = value_and_grad_fn(trees.map(lambda leaf: _used(leaf, loop), params),
                                   *trees.map(lambda leaf: _rows(as_tracer(leaf), loop, n), batch))
        _check_sums(result)
        total = trees.map(lambda leaf: _sum(_widened(as_tracer(leaf), dtype), loop), result)
        value, gradients = trees.map(lambda x: x / n if x.element.kind == "f" else x, total)
        return value, laid_out(gradients)

    return accumulated


def split_as_asked(value_and_grad_fn: Callable, argnums: Any, args: tuple, kwargs: dict) -> Any:
    """What a gradient of the function that is compiled is, if a `weft.Pipeline` or `weft.jit` says how many
    micro-batches it is of."""
    if argnums != 0 or kwargs:
        who = "a pipeline" if current_graph().module.is_pipeline else "microbatches= of weft.jit"
        raise TypeError(f"{user_line()}: {who} splits gradients by the first argument, of calls without "
                        "keywords, into micro-batches; use weft.microbatches for others")
    return microbatches(value_and_grad_fn, current_graph().module.microbatches)(*args)


def _check_rows(batch: Any, n: int) -> None:
    leaves = trees.flatten_with_paths(batch, "batch")[0]
    wrong = [f"{path} of shape {list(leaf.shape)}" for path, leaf in leaves
             if not leaf.shape or leaf.shape[0] % n]
    if wrong:
        rows = math.gcd(*(leaf.shape[0] for _, leaf in leaves if leaf.shape))
        others = [str(m) for counts in (range(n, 0, -1), range(n, rows + 1)) for m in _divisors(rows, counts)[:1]]
        raise ValueError(f"{user_line()}: the rows of a batch must be a multiple of the {n} "
                         f"micro-batches, but are not in {', '.join(wrong)}"
                         + (f"; {' and '.join(others)} would do" if others else ""))


def _divisors(number: int, candidates: range) -> list[int]:
    return [m for m in candidates if number and number % m == 0]


def _check_sums(result: Any) -> None:
    wrong = [path for path, leaf in trees.flatten_with_paths(result, "the result")[0]
             if as_tracer(leaf).element.kind == "b"]
    if wrong:
        raise TypeError(f"{user_line()}: what micro-batches return is added up, but {', '.join(wrong)} is bool; "
                        "convert it, for example to int32")


def _rows(x: Tracer, loop: str, n: int) -> Tracer:
    """Of micro-batch i the rows i, i + n, i + 2 n..."""
    rows, *rest = x.shape
    whole = x.reshape(rows // n, n, *rest)
    shape = (rows // n, *rest)
    graph = current_graph()
    return graph.add(f"weft.microbatch_slice {graph.refer(whole)} dim = 1 of {loop} : "
                     f"{type_text(whole.shape, x.element)} -> {type_text(shape, x.element)}",
                     shape, x.element, x.weak)


def _used(leaf: Any, loop: str) -> Tracer:
    x = as_tracer(leaf)
    return x if x.splat is not None else _border("use", x, loop)


def _sum(x: Tracer, loop: str) -> Tracer:
    return _border("sum", x, loop)


def _border(kind: str, x: Tracer, loop: str) -> Tracer:
    graph = current_graph()
    y = graph.add(f"weft.microbatch_{kind} {graph.refer(x)} of {loop} : "
                  f"{type_text(x.shape, x.element)}", x.shape, x.element, x.weak)
    y.used_as = x.used_as
    return y


def _widened(x: Tracer, dtype: Any) -> Tracer:
    return x if dtype is None or x.element.kind != "f" else x.astype(dtype)
