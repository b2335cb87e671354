# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops on windows, one function each, as those of ops.py."""

import dataclasses

from .elements import ElementType
from .graph import current_graph, type_text
from .ops import _list, _type
from .tracer import Tracer


def dilated(size: int, dilation: int) -> int:
    """Elements of `size` with dilation - 1 others between neighbours."""
    return (size - 1) * dilation + 1


@dataclasses.dataclass(frozen=True)
class Window:
    """A number for each spatial dimension."""

    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]

    def counts(self, lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows of sizes rhs there are in lhs."""
        return tuple(
            max((dilated(size, spread) + low + high - dilated(kernel, dilation)) // stride + 1, 0)
            for size, kernel, stride, low, high, spread, dilation in zip(
                lhs, rhs, self.strides, self.low, self.high, self.lhs_dilation, self.rhs_dilation))


def convolution(x: Tracer, w: Tracer, window: Window, groups: int, element: ElementType) -> Tracer:
    """x: [batch, spatial.., features], w: [spatial.., features of a group, result's features]."""
    shape = (x.shape[0], *window.counts(x.shape[1:-1], w.shape[:-2]), w.shape[-1])
    graph = current_graph()
    fields = " ".join(f"{name} = {_list(numbers)}" for name, numbers in dataclasses.asdict(window).items())
    return graph.add(
        f"weft.convolution {graph.use(x)}, {graph.use(w)} {fields} groups = {groups} : "
        f"({_type(x)}, {_type(w)}) -> {type_text(shape, element)}", shape, element, x.weak and w.weak)


def reduce_window(kind: str, x: Tracer, dim: int, size: int, stride: int, dilation: int) -> Tracer:
    """`kind` is sum, max or min."""
    if size == stride == 1:
        return x
    count = max((x.shape[dim] - dilated(size, dilation)) // stride + 1, 0)
    shape = (*x.shape[:dim], count, *x.shape[dim + 1:])
    graph = current_graph()
    return graph.add(
        f"weft.reduce_window {kind} {graph.use(x)} dim = {dim} size = {size} stride = {stride} "
        f"dilation = {dilation} : {_type(x)} -> {type_text(shape, x.element)}", shape, x.element, x.weak)
