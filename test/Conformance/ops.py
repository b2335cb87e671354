# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ops whose sharding rules are those of Shardy."""

from __future__ import annotations

import dataclasses
import math

SIZES = [1, 2, 4, 6, 8, 12, 16]


@dataclasses.dataclass(frozen=True)
class Type:
    shape: tuple[int, ...]
    element: str = "f32"

    def __str__(self):
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


@dataclasses.dataclass(frozen=True)
class Op:
    """One op. `weft` is its text with places for operands ({0}, {1}), attributes ({attrs})
    and types; `stablehlo` is name, properties and region of its generic form. `rule` is
    Weft's sharding rule in Shardy's words, where Shardy has another one."""

    operands: tuple[int, ...]
    type: Type
    weft: str
    stablehlo: tuple[str, str, str]
    rule: str = ""


def array(numbers):
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def floats(values, min_rank=0):
    """Values of element type f32 and at least a rank; a list of None if there are none."""
    found = [v for v in values if v.type.element == "f32" and len(v.type.shape) >= min_rank]
    return found or [None]


def pointwise(random, values):
    """An elementwise op of one or two operands of one shape."""
    value = random.choice(floats(values))
    same = [v for v in values if v.type == value.type]
    other = random.choice(same)
    kind = random.choice(["negate", "tanh", "exponential", "add", "multiply", "maximum"])
    weft = {
        "negate": "arith.negf",
        "tanh": "math.tanh",
        "exponential": "math.exp",
        "add": "arith.addf",
        "multiply": "arith.mulf",
        "maximum": "arith.maximumf",
    }[kind]
    if kind in ("negate", "tanh", "exponential"):
        return Op((value.id,), value.type, f"{weft} {{0}} {{attrs}} : {value.type}", (kind, "", ""))
    text = f"{weft} {{0}}, {{1}} {{attrs}} : {value.type}"
    return Op((value.id, other.id), value.type, text, (kind, "", ""))


def compare(random, values):
    value = random.choice(floats(values))
    other = random.choice([v for v in values if v.type == value.type])
    direction = "#stablehlo<comparison_direction LT>"
    return Op(
        (value.id, other.id),
        Type(value.type.shape, "i1"),
        f"arith.cmpf olt, {{0}}, {{1}} {{attrs}} : {value.type}",
        ("compare", f"comparison_direction = {direction}", ""),
    )


def select(random, values):
    predicate = random.choice([v for v in values if v.type.element == "i1"] or [None])
    shape = predicate.type.shape if predicate else None
    fits = [v for v in values if v.type == Type(shape)] if predicate else []
    if not fits:
        return None
    one, other = random.choice(fits), random.choice(fits)
    return Op(
        (predicate.id, one.id, other.id),
        one.type,
        f"arith.select {{0}}, {{1}}, {{2}} {{attrs}} : {predicate.type}, {one.type}",
        ("select", "", ""),
    )


def dot_general(random, values):
    lhs, rhs = random.choice(floats(values)), random.choice(floats(values))
    pairs = [
        (i, j)
        for i, a in enumerate(lhs.type.shape)
        for j, b in enumerate(rhs.type.shape)
        if a == b
    ]
    random.shuffle(pairs)
    batching, contracting = [], []
    for i, j in pairs:
        used = batching + contracting
        if any(i == k or j == l for k, l in used):
            continue
        choice = random.random()
        if choice < 0.45:
            contracting.append((i, j))
        elif choice < 0.6:
            batching.append((i, j))
    if not batching and not contracting:
        return None
    taken = batching + contracting
    shape = [lhs.type.shape[i] for i, _ in batching]
    shape += [s for i, s in enumerate(lhs.type.shape) if i not in [k for k, _ in taken]]
    shape += [s for j, s in enumerate(rhs.type.shape) if j not in [l for _, l in taken]]
    (lb, rb), (lc, rc) = ([list(side) for side in zip(*p)] or [[], []] for p in (batching, contracting))
    batch = f"batching = {lb} x {rb} " if batching else ""
    result = Type(tuple(shape))
    numbers = (
        "#stablehlo.dot<"
        + ", ".join(
            f"{name} = {dims}"
            for name, dims in (
                ("lhs_batching_dimensions", lb),
                ("rhs_batching_dimensions", rb),
                ("lhs_contracting_dimensions", lc),
                ("rhs_contracting_dimensions", rc),
            )
            if dims
        )
        + ">"
    )
    return Op(
        (lhs.id, rhs.id),
        result,
        f"weft.dot_general {{0}}, {{1}} {batch}contracting = {lc} x {rc} {{attrs}} : "
        f"({lhs.type}, {rhs.type}) -> {result}",
        ("dot_general", f"dot_dimension_numbers = {numbers}", ""),
    )


def transpose(random, values):
    value = random.choice(floats(values, 2))
    if value is None:
        return None
    dims = random.sample(range(len(value.type.shape)), len(value.type.shape))
    result = Type(tuple(value.type.shape[d] for d in dims))
    return Op(
        (value.id,),
        result,
        f"weft.transpose {{0}} dims = {dims} {{attrs}} : {value.type} -> {result}",
        ("transpose", f"permutation = {array(dims)}", ""),
    )


def reshape(random, values):
    value = random.choice(floats(values))
    count = math.prod(value.type.shape)
    shape, left = [], count
    while left > 1 and len(shape) < 3:
        size = random.choice([d for d in range(2, left + 1) if left % d == 0])
        shape.append(size)
        left //= size
    if left > 1:
        shape.append(left)
    if random.random() < 0.2:
        shape.insert(random.randint(0, len(shape)), 1)
    result = Type(tuple(shape))
    if len(shape) > 4 or result == value.type:
        return None
    return Op(
        (value.id,),
        result,
        f"weft.reshape {{0}} {{attrs}} : {value.type} -> {result}",
        ("reshape", "", ""),
    )


def broadcast(random, values):
    value = random.choice(floats(values))
    shape = [
        random.choice(SIZES) if size == 1 and random.random() < 0.5 else size
        for size in value.type.shape
    ]
    dims = list(range(len(shape)))
    for _ in range(random.randint(0 if shape != list(value.type.shape) else 1, 2)):
        at = random.randint(0, len(shape))
        shape.insert(at, random.choice(SIZES))
        dims = [d + (d >= at) for d in dims]
    if len(shape) > 4:
        return None
    result = Type(tuple(shape))
    return Op(
        (value.id,),
        result,
        f"weft.broadcast {{0}} dims = {dims} {{attrs}} : {value.type} -> {result}",
        ("broadcast_in_dim", f"broadcast_dimensions = {array(dims)}", ""),
    )


def reduce(random, values):
    value = random.choice(floats(values, 1))
    if value is None:
        return None
    rank = len(value.type.shape)
    dims = sorted(random.sample(range(rank), random.randint(1, min(2, rank))))
    kind = random.choice(["sum", "max", "min"])
    result = Type(tuple(s for d, s in enumerate(value.type.shape) if d not in dims))
    combine = {"sum": "add", "max": "maximum", "min": "minimum"}[kind]
    region = (
        "({ ^bb0(%l: tensor<f32>, %r: tensor<f32>): "
        f'%c = "stablehlo.{combine}"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32> '
        '"stablehlo.return"(%c) : (tensor<f32>) -> () })'
    )
    return Op(
        (value.id,),
        result,
        f"weft.reduce {kind} {{0}} dims = {dims} {{attrs}} : {value.type} -> {result}",
        ("reduce", f"dimensions = {array(dims)}", region),
    )


def constraint(random, values):
    """An op whose sharding the caller draws; its text is made when it is printed."""
    value = random.choice(floats(values))
    return Op((value.id,), value.type, "constraint", ("constraint", "", ""))
