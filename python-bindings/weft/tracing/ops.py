# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of a graph, one function each, on tensors whose shapes and types fit.

What broadcasting, promotion and defaults mean is for weft.numpy to say. The only
cleverness here is to emit nothing for an op that does nothing, and to make a
literal of an op that moves the elements of one.

Under weft.vmap an op is one on the tensors of all examples: what stands before it
in `batched` gives their result, with the examples first.
"""

import math
from typing import Any, Sequence

from . import elements
from .batching import Level, batched, elementwise, shifted, to_front
from .elements import ElementType
from .graph import current_graph, literal, number_text, type_text
from .locations import user_line
from .tracer import Tracer

Shape = tuple[int, ...]


def _type(x: Tracer) -> str:
    return type_text(x.shape, x.element)


def _list(numbers: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, numbers)) + "]"


# ===----------------------------------------------------------------------===
# Elementwise
# ===----------------------------------------------------------------------===


@elementwise
def unary(op: str, x: Tracer, attributes: str = "") -> Tracer:
    graph = current_graph()
    return graph.add(f"{op} {graph.use(x)}{attributes} : {_type(x)}", x.shape, x.element, x.weak)


@elementwise
def binary(op: str, x: Tracer, y: Tracer, weak: bool = False) -> Tracer:
    graph = current_graph()
    return graph.add(f"{op} {graph.use(x)}, {graph.use(y)} : {_type(x)}", x.shape, x.element, weak)


@elementwise
def compare(predicate: str, x: Tracer, y: Tracer) -> Tracer:
    """`predicate` is one of arith.cmpf or arith.cmpi."""
    graph = current_graph()
    op = "arith.cmpf" if x.element.kind == "f" else "arith.cmpi"
    return graph.add(f"{op} {predicate}, {graph.use(x)}, {graph.use(y)} : {_type(x)}",
                     x.shape, elements.BOOL)


@elementwise
def select(condition: Tracer, x: Tracer, y: Tracer, weak: bool = False) -> Tracer:
    graph = current_graph()
    return graph.add(
        f"arith.select {graph.use(condition)}, {graph.use(x)}, {graph.use(y)} : "
        f"{_type(condition)}, {_type(x)}", x.shape, x.element, weak)


@elementwise
def clamp(low: Tracer, x: Tracer, high: Tracer) -> Tracer:
    """Floats limited to [low, high]."""
    graph = current_graph()
    return graph.add(
        f"math.clampf {graph.use(x)} to [{graph.use(low)}, {graph.use(high)}] : {_type(x)}",
        x.shape, x.element, x.weak)


@elementwise
def _cast(op: str, x: Tracer, element: ElementType) -> Tracer:
    graph = current_graph()
    result = type_text(x.shape, element)
    return graph.add(f"{op} {graph.use(x)} : {_type(x)} to {result}", x.shape, element)


def bitcast(x: Tracer, element: ElementType) -> Tracer:
    return _cast("arith.bitcast", x, element)


@elementwise
def convert(x: Tracer, element: ElementType, weak: bool = False) -> Tracer:
    """The numbers of x in another type; anything but zero is true."""
    source = x.element
    if source is element:
        if x.weak == weak:
            return x
        return Tracer(x.graph, x.name, x.shape, element, weak, x.splat, x.used_as)
    if x.splat is not None:
        # A Python number must fit; one that the user converts wraps around.
        fits = x.weak and source.kind == "i" and element.kind == "i"
        number = x.splat if fits else _convert_number(x.splat, element)
        return literal(number, x.shape, element, weak)
    if element.kind == "b":
        result = compare("une" if source.kind == "f" else "ne", x, zeros_like(x))
    elif source.kind == "f" and element.kind == "f":
        result = _convert_float(x, element)
    elif source.kind == "f":
        result = _cast("arith.fptosi", x, element)
    elif element.kind == "f":
        result = _cast("arith.uitofp" if source.kind == "b" else "arith.sitofp", x, element)
    elif source.kind == "b":
        result = _cast("arith.extui", x, element)
    else:
        result = _cast("arith.extsi" if source.bits < element.bits else "arith.trunci", x, element)
    result.weak = weak
    return result


def _convert_float(x: Tracer, element: ElementType) -> Tracer:
    if x.element.bits < element.bits:
        return _cast("arith.extf", x, element)
    if x.element.bits == element.bits:  # bfloat16 and float16
        x = _cast("arith.extf", x, elements.FLOAT32)
    if x.used_as is None:
        return _cast("arith.truncf", x, element)
    # Converted where it is: what moves is the narrower value.
    graph = current_graph()
    result = graph.add(f"arith.truncf {graph.refer(x)} : {_type(x)} to "
                       f"{type_text(x.shape, element)}", x.shape, element)
    result.used_as = x.used_as
    return result


def _convert_number(value: Any, element: ElementType) -> Any:
    """`value` in another type; integers wrap around as in a conversion of a tensor."""
    if element.kind == "b":
        return bool(value)
    if element.kind == "f":
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        value = 0 if value != value else math.copysign(2**63, value)
    if isinstance(value, float):  # saturates
        limit = 1 << (element.bits - 1)
        return min(max(int(value), -limit), limit - 1)
    half = 1 << (element.bits - 1)
    return (int(value) + half) % (2 * half) - half


# ===----------------------------------------------------------------------===
# Creation
# ===----------------------------------------------------------------------===


def full(value: Any, like: Tracer) -> Tracer:
    """A literal of the shape and type of another value."""
    return literal(value, like.shape, like.element)


def zeros_like(x: Tracer) -> Tracer:
    return full(0, x)


def iota(shape: Shape, element: ElementType, dim: int) -> Tracer:
    if shape[dim] == 1:
        return literal(0, shape, element)
    return current_graph().add(f"weft.iota dim = {dim} : {type_text(shape, element)}",
                               shape, element)


# ===----------------------------------------------------------------------===
# Shapes
# ===----------------------------------------------------------------------===


def _reshaped(x: Tracer, shape: Shape, op: str, attributes: str = "") -> Tracer:
    if x.splat is not None:
        return Tracer(None, None, shape, x.element, x.weak, x.splat)
    graph = current_graph()
    return graph.add(f"{op} {graph.use(x)}{attributes} : {_type(x)} -> "
                     f"{type_text(shape, x.element)}", shape, x.element, x.weak)


@batched(lambda v, x, shape: reshape(v.whole(x), (v.size, *shape)))
def reshape(x: Tracer, shape: Shape) -> Tracer:
    if shape == x.shape:
        return x
    return _reshaped(x, shape, "weft.reshape")


@batched(lambda v, x, shape, dims: broadcast_in_dim(v.whole(x), (v.size, *shape), [0, *shifted(dims)]))
def broadcast_in_dim(x: Tracer, shape: Shape, dims: Sequence[int]) -> Tracer:
    """Dimension i of x becomes dims[i] of the result; one of size 1 is repeated."""
    if shape == x.shape:
        return x
    return _reshaped(x, shape, "weft.broadcast", f" dims = {_list(dims)}")


@batched(lambda v, x, permutation: transpose(v.whole(x), [0, *shifted(permutation)]))
def transpose(x: Tracer, permutation: Sequence[int]) -> Tracer:
    if list(permutation) == list(range(len(x.shape))):
        return x
    shape = tuple(x.shape[dim] for dim in permutation)
    return _reshaped(x, shape, "weft.transpose", f" dims = {_list(permutation)}")


@batched(lambda v, x, starts, limits, strides: slice_in_dims(
    v.whole(x), [0, *starts], [v.size, *limits], [1, *strides]))
def slice_in_dims(x: Tracer, starts: Sequence[int], limits: Sequence[int],
                  strides: Sequence[int]) -> Tracer:
    shape = tuple(-((start - limit) // stride)
                  for start, limit, stride in zip(starts, limits, strides))
    if shape == x.shape:
        return x
    return _reshaped(x, shape, "weft.slice", f" starts = {_list(starts)} limits = {_list(limits)} "
                                             f"strides = {_list(strides)}")


@batched(lambda v, x, dim: reverse(v.whole(x), dim + 1))
def reverse(x: Tracer, dim: int) -> Tracer:
    """The elements of a dimension from the last to the first."""
    size = x.shape[dim]
    if size < 2:
        return x
    graph = current_graph()
    return graph.add(
        f"weft.rearrange {graph.use(x)} dim = {dim} "
        f"map <[{size}] to [{size}], {size - 1} to 0 for {size} by -1> : "
        f"({_type(x)}) -> {_type(x)}", x.shape, x.element, x.weak)


@batched(lambda v, parts, dim: concatenate([v.spread(part) for part in parts], dim + 1))
def concatenate(parts: Sequence[Tracer], dim: int) -> Tracer:
    first = parts[0]
    size = sum(part.shape[dim] for part in parts)
    shape = first.shape[:dim] + (size,) + first.shape[dim + 1:]
    if 0 not in shape:
        parts = [part for part in parts if 0 not in part.shape]
    if len(parts) == 1:
        return parts[0]
    graph = current_graph()
    operands = ", ".join(graph.use(part) for part in parts)
    types = ", ".join(_type(part) for part in parts)
    return graph.add(f"weft.concat {operands} dim = {dim} : ({types}) -> "
                     f"{type_text(shape, first.element)}", shape, first.element)


@batched(lambda v, x, value, low, high, interior: pad(
    v.whole(x), value, [0, *low], [0, *high], [0, *interior]))
def pad(x: Tracer, value: Any, low: Sequence[int], high: Sequence[int],
        interior: Sequence[int]) -> Tracer:
    """Puts `value` around the elements and between them; amounts are not negative."""
    shape = tuple(a + size + max(size - 1, 0) * i + b
                  for size, a, b, i in zip(x.shape, low, high, interior))
    if shape == x.shape:
        return x
    if 0 in x.shape:
        return literal(value, shape, x.element, x.weak)
    graph = current_graph()
    number = number_text(value, x.element)
    typed = number if x.element.kind == "b" else f"{number} : {x.element.mlir}"
    return graph.add(
        f"weft.pad {graph.use(x)} low = {_list(low)} high = {_list(high)} "
        f"interior = {_list(interior)} value = {typed} : {_type(x)} -> "
        f"{type_text(shape, x.element)}", shape, x.element, x.weak)


# ===----------------------------------------------------------------------===
# Reductions, products, gathers
# ===----------------------------------------------------------------------===


@batched(lambda v, kind, x, dims: reduce(kind, v.whole(x), shifted(dims)))
def reduce(kind: str, x: Tracer, dims: Sequence[int]) -> Tracer:
    """`kind` is sum, max or min."""
    if not dims:
        return x
    shape = tuple(size for dim, size in enumerate(x.shape) if dim not in dims)
    if 0 in x.shape and 0 not in shape:
        if kind != "sum":
            raise ValueError(f"{user_line()}: the {kind} of no elements: a tensor of shape {x.shape} has "
                             f"nothing along dimension {x.shape.index(0)}")
        return literal(0, shape, x.element, x.weak)
    graph = current_graph()
    return graph.add(
        f"weft.reduce {kind} {graph.use(x)} dims = {_list(sorted(dims))} : {_type(x)} -> "
        f"{type_text(shape, x.element)}", shape, x.element, x.weak)


def _pairs(name: str, lhs: Sequence[int], rhs: Sequence[int]) -> str:
    return f" {name} = {_list(lhs)} x {_list(rhs)}" if lhs else ""


def _dots(v: Level, x: Tracer, y: Tracer, contracting: tuple, batching: tuple,
          element: ElementType) -> Tracer:
    """Examples of one operand only are a dimension of it like others, so that they share a matmul."""
    (cx, cy), (bx, by) = contracting, batching
    if v.has(x) and v.has(y):
        return dot_general(v.whole(x), v.whole(y), (shifted(cx), shifted(cy)),
                           ([0, *shifted(bx)], [0, *shifted(by)]), element)
    if v.has(x):
        first, cx, bx = len(bx), shifted(cx), shifted(bx)
    else:
        first, cy, by = len(x.shape) - len(cx), shifted(cy), shifted(by)
    return to_front(dot_general(v.whole(x), v.whole(y), (cx, cy), (bx, by), element), first)


@batched(_dots)
def dot_general(x: Tracer, y: Tracer, contracting: tuple, batching: tuple,
                element: ElementType) -> Tracer:
    """`contracting` and `batching` are pairs of lists of dimensions."""
    taken_x = set(contracting[0]) | set(batching[0])
    taken_y = set(contracting[1]) | set(batching[1])
    shape = (tuple(x.shape[dim] for dim in batching[0])
             + tuple(size for dim, size in enumerate(x.shape) if dim not in taken_x)
             + tuple(size for dim, size in enumerate(y.shape) if dim not in taken_y))
    if 0 in x.shape or 0 in y.shape:
        return literal(0, shape, element, x.weak and y.weak)
    graph = current_graph()
    return graph.add(
        f"weft.dot_general {graph.use(x)}, {graph.use(y)}{_pairs('batching', *batching)}"
        f"{_pairs('contracting', *contracting)} : ({_type(x)}, {_type(y)}) -> "
        f"{type_text(shape, element)}", shape, element, x.weak and y.weak)


def _merged(x: Tracer) -> Tracer:
    """The first two dimensions as one."""
    return reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def _grouped_dots(v: Level, x: Tracer, y: Tracer, sizes: Tracer) -> Tracer:
    """Examples are batches; those with matrices of their own have as many groups more, of no rows
    in the batches of others."""
    rows, counts = v.spread(x), v.spread(sizes)
    if v.has(y):
        shape = (v.size, sizes.shape[0], v.size, sizes.shape[1])
        own = compare("eq", *(iota(shape, elements.INT32, dim) for dim in (0, 2)))
        counts = broadcast_in_dim(counts, shape, [0, 1, 3])
        counts = reshape(select(own, counts, zeros_like(counts)),
                         (*shape[:2], shape[2] * shape[3]))
        y = _merged(v.whole(y))
    result = grouped_dot(_merged(rows), y, _merged(counts))
    return reshape(result, (*rows.shape[:2], *result.shape[1:]))


@batched(_grouped_dots)
def grouped_dot(x: Tracer, y: Tracer, sizes: Tracer) -> Tracer:
    """Rows [batch, rows, k] in groups of sizes [batch, groups], each times its matrix of
    [groups, k, n]; 0 for rows behind the last group."""
    shape = (*x.shape[:2], y.shape[2])
    if 0 in x.shape or 0 in y.shape:
        return literal(0, shape, x.element)
    graph = current_graph()
    return graph.add(
        f"weft.grouped_dot {graph.use(x)}, {graph.use(y)} groups {graph.use(sizes)} : "
        f"({_type(x)}, {_type(y)}, {_type(sizes)}) -> {type_text(shape, x.element)}", shape, x.element)


def _attentions(v: Level, query: Tracer, key: Tracer, value: Tracer, causal: bool, scale: float) -> Tracer:
    merged = attention(*(_merged(v.spread(x)) for x in (query, key, value)), causal, scale)
    return reshape(merged, (v.size, *query.shape))


@batched(_attentions)
def attention(query: Tracer, key: Tracer, value: Tracer, causal: bool, scale: float) -> Tracer:
    """[batch, time, heads, size] of one type; keys and values may have fewer heads."""
    from .graph import number_text
    graph = current_graph()
    wide = elements.FLOAT64 if query.element is elements.FLOAT64 else elements.FLOAT32
    out, logsumexp = _type(query), type_text(query.shape[:3], wide)
    operands = (query, key, value)
    return graph.add_multiple(
        f"weft.attention {', '.join(map(graph.use, operands))}{' causal' if causal else ''} "
        f"scale = {number_text(scale, elements.FLOAT64)} : ({', '.join(map(_type, operands))}) -> ({out}, {logsumexp})",
        [query, Tracer(None, None, query.shape[:3], wide)])[0]


def _gathers(v: Level, x: Tracer, indices: Tracer, dim: int, batching: tuple = ((), ())) -> Tracer:
    of_x, of_indices = batching
    if not v.has(x):
        return to_front(gather(x, v.whole(indices), dim, (of_x, shifted(of_indices))), dim)
    if not v.has(indices):
        return gather(v.whole(x), indices, dim + 1, (shifted(of_x), of_indices))
    return gather(v.whole(x), v.whole(indices), dim + 1, ([0, *shifted(of_x)], [0, *shifted(of_indices)]))


@batched(_gathers)
def gather(x: Tracer, indices: Tracer, dim: int, batching: tuple = ((), ())) -> Tracer:
    """Elements of x along `dim`; indices outside are clamped. The dimensions of the
    indices that are not batching take the place of `dim`."""
    rest = tuple(size for i, size in enumerate(indices.shape) if i not in batching[1])
    shape = x.shape[:dim] + rest + x.shape[dim + 1:]
    if 0 in x.shape and 0 not in shape:
        raise ValueError(f"{user_line()}: a lookup in no elements: a tensor of shape {x.shape} has nothing "
                         f"along dimension {dim}")
    graph = current_graph()
    return graph.add(
        f"weft.gather {graph.use(x)}, {graph.use(indices)} dim = {dim}"
        f"{_pairs('batching', *batching)} : ({_type(x)}, {_type(indices)}) -> "
        f"{type_text(shape, x.element)}", shape, x.element, x.weak)


@batched(lambda v, x, dim, descending, count=None: argsort(v.whole(x), dim + 1, descending, count))
def argsort(x: Tracer, dim: int, descending: bool, count: int | None = None) -> Tracer:
    """The indices that sort x along `dim`, or the first `count` of them; equal elements keep their order."""
    shape = x.shape[:dim] + (x.shape[dim] if count is None else count,) + x.shape[dim + 1:]
    graph = current_graph()
    return graph.add(
        f"weft.argsort {graph.use(x)} dim = {dim}{' descending' if descending else ''} : {_type(x)} -> "
        f"{type_text(shape, elements.INT32)}", shape, elements.INT32)


@batched(lambda v, updates, indices, dim, shape, batching=((), ()): scatter_add(
    v.spread(updates), v.spread(indices), dim + 1, (v.size, *shape),
    ([0, *shifted(batching[0])], [0, *shifted(batching[1])])))
def scatter_add(updates: Tracer, indices: Tracer, dim: int, shape: Shape,
                batching: tuple = ((), ())) -> Tracer:
    """Zeros of this shape plus each update at its index: the transpose of gather."""
    if 0 in updates.shape:
        return literal(0, shape, updates.element)
    graph = current_graph()
    return graph.add(
        f"weft.scatter_add {graph.use(updates)}, {graph.use(indices)} dim = {dim}"
        f"{_pairs('batching', *batching)} : ({_type(updates)}, {_type(indices)}) -> "
        f"{type_text(shape, updates.element)}", shape, updates.element)


# ===----------------------------------------------------------------------===
# Composites
# ===----------------------------------------------------------------------===


@batched(lambda v, op, x, dims: along(op, v.whole(x), shifted(dims)))
def along(op: str, x: Tracer, dims: Sequence[int]) -> Tracer:
    """`op` is weft.softmax or weft.log_softmax."""
    graph = current_graph()
    return graph.add(f"{op} {graph.use(x)} dims = {_list(sorted(dims))} : {_type(x)}",
                     x.shape, x.element, x.weak)


def _norms(v: Level, op: str, x: Tracer, scale: Tracer | None, bias: Tracer | None, dims: Sequence[int],
           epsilon: float) -> Tracer:
    """A scale and a bias that examples have of their own are multiplied and added behind it."""
    x, dims = v.spread(x), shifted(sorted(dims))
    if not v.has(scale) and not v.has(bias):
        return norm(op, x, scale, bias, dims, epsilon)
    result = norm(op, x, None, None, dims, epsilon)
    for then, value in (("arith.mulf", scale), ("arith.addf", bias)):
        if value is not None:
            value = broadcast_in_dim(v.whole(value), x.shape, [0, *dims] if v.has(value) else dims)
            result = binary(then, result, value)
    return result


@batched(_norms)
def norm(op: str, x: Tracer, scale: Tracer | None, bias: Tracer | None, dims: Sequence[int],
         epsilon: float) -> Tracer:
    """`op` is weft.layer_norm, or weft.rms_norm, which has no bias. Scale and bias have the
    sizes of x along dims."""
    graph = current_graph()
    number = number_text(epsilon, elements.FLOAT64)
    affine = [(name, value) for name, value in (("scale", scale), ("bias", bias)) if value is not None]
    operands = "".join(f" {name} {graph.use(value)}" for name, value in affine)
    types = "".join(f" {name} {_type(value)}" for name, value in affine)
    return graph.add(
        f"{op} {graph.use(x)}{operands} dims = {_list(sorted(dims))} epsilon = {number} : "
        f"{_type(x)}{types}", x.shape, x.element, x.weak)


@batched(lambda v, logits, labels, dim: cross_entropy(v.spread(logits), v.spread(labels), dim + 1))
def cross_entropy(logits: Tracer, labels: Tracer, dim: int) -> Tracer:
    graph = current_graph()
    return graph.add(
        f"weft.cross_entropy {graph.use(logits)}, {graph.use(labels)} dim = {dim} : "
        f"({_type(logits)}, {_type(labels)}) -> {type_text(labels.shape, logits.element)}",
        labels.shape, logits.element, logits.weak)
