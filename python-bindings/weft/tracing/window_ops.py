# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops on windows, one function each, as those of ops.py."""

import dataclasses
import math

from .batching import Level, batched, to_front
from .elements import ElementType
from .graph import current_graph, literal, type_text
from .ops import _list, _type, reshape, transpose
from .tracer import Tracer


# What changes no reduction.
NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf}


def dilated(size: int, dilation: int) -> int:
    """Elements of `size` with dilation - 1 others between neighbours."""
    return (size - 1) * dilation + 1 if size else 0


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


def _beside_features(x: Tracer, groups: int) -> Tracer:
    """Examples, which come first, as further features of each of so many groups of them."""
    rank, features = len(x.shape), x.shape[-1]
    x = transpose(reshape(x, (*x.shape[:-1], groups, features // groups)),
                  [*range(1, rank - 1), rank - 1, 0, rank])
    return reshape(x, (*x.shape[:-3], x.shape[-3] * x.shape[-2] * x.shape[-1]))


def _convolutions(v: Level, x: Tracer, w: Tracer, window: Window, groups: int, element: ElementType) -> Tracer:
    """Examples of images are images of one batch; those of kernels have features or, if both are
    examples, groups of their own."""
    if not v.has(w):
        x = v.whole(x)
        y = convolution(reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])), w, window, groups, element)
        return reshape(y, (*x.shape[:2], *y.shape[1:]))
    if v.has(x):  # the groups of an example follow one another
        x, w = _beside_features(v.whole(x), 1), _beside_features(v.whole(w), 1)
        y = convolution(x, w, window, groups * v.size, element)
        return to_front(reshape(y, (*y.shape[:-1], v.size, y.shape[-1] // v.size)), len(y.shape) - 1)
    y = convolution(x, _beside_features(v.whole(w), groups), window, groups, element)
    each = y.shape[-1] // v.size
    y = reshape(y, (*y.shape[:-1], groups, v.size, each // groups))
    y = to_front(y, len(y.shape) - 2)
    return reshape(y, (*y.shape[:-2], each))


@batched(_convolutions)
def convolution(x: Tracer, w: Tracer, window: Window, groups: int, element: ElementType) -> Tracer:
    """x: [batch, spatial.., features], w: [spatial.., features of a group, result's features]."""
    shape = (x.shape[0], *window.counts(x.shape[1:-1], w.shape[:-2]), w.shape[-1])
    if 0 in x.shape or 0 in w.shape:
        return literal(0, shape, element, x.weak and w.weak)
    graph = current_graph()
    fields = " ".join(f"{name} = {_list(numbers)}" for name, numbers in dataclasses.asdict(window).items())
    return graph.add(
        f"weft.convolution {graph.use(x)}, {graph.use(w)} {fields} groups = {groups} : "
        f"({_type(x)}, {_type(w)}) -> {type_text(shape, element)}", shape, element, x.weak and w.weak)


@batched(lambda v, kind, x, dim, size, stride, dilation, around=(0, 0): reduce_window(
    kind, v.whole(x), dim + 1, size, stride, dilation, around))
def reduce_window(kind: str, x: Tracer, dim: int, size: int, stride: int, dilation: int,
                  around: tuple[int, int] = (0, 0)) -> Tracer:
    """`kind` is sum, max or min; `around`: how many elements to add at both ends."""
    low, high = around
    if size == stride == 1 and low == high == 0:
        return x
    count = max((x.shape[dim] + low + high - dilated(size, dilation)) // stride + 1, 0)
    shape = (*x.shape[:dim], count, *x.shape[dim + 1:])
    if 0 in x.shape:
        return literal(NEUTRAL[kind], shape, x.element, x.weak)
    graph = current_graph()
    padding = f" {{low = {low} : i64, high = {high} : i64}}" if low or high else ""
    return graph.add(
        f"weft.reduce_window {kind} {graph.use(x)} dim = {dim} size = {size} stride = {stride} "
        f"dilation = {dilation}{padding} : {_type(x)} -> {type_text(shape, x.element)}", shape, x.element, x.weak)
