# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ops that take or join parts of a dimension, and Weft's rules for them.

For a dimension that changes its size, Weft's rules have a factor on each side; Shardy's have
one for both.
"""

from __future__ import annotations

from ops import Op, Type, array, floats


def slice_(random, values):
    value = random.choice(floats(values, 1))
    if value is None:
        return None
    starts, limits, strides = [], [], []
    for size in value.type.shape:
        whole = random.random() < 0.6
        start = 0 if whole else random.randint(0, size - 1)
        limit = size if whole else random.randint(start + 1, size)
        starts.append(start)
        limits.append(limit)
        strides.append(1 if whole or random.random() < 0.8 else 2)
    shape = tuple(-(-(l - s) // t) for s, l, t in zip(starts, limits, strides))
    result = Type(shape)
    if result == value.type:
        return None
    return Op(
        (value.id,),
        result,
        f"weft.slice {{0}} starts = {starts} limits = {limits} strides = {strides} {{attrs}} : "
        f"{value.type} -> {result}",
        (
            "slice",
            f"start_indices = {array(starts)}, limit_indices = {array(limits)}, "
            f"strides = {array(strides)}",
            "",
        ),
        resize_rule(value.type, result),
    )


def pad(random, values):
    value = random.choice(floats(values, 1))
    if value is None:
        return None
    amounts = [
        [random.choice([0, 0, 0, 1, 2]) for _ in value.type.shape] for _ in ("low", "high", "interior")
    ]
    shape = tuple(
        low + size + high + (size - 1) * interior
        for size, low, high, interior in zip(value.type.shape, *amounts)
    )
    result = Type(shape)
    if result == value.type:
        return None
    low, high, interior = amounts
    return Op(
        (value.id,),
        result,
        f"weft.pad {{0}} low = {low} high = {high} interior = {interior} value = 0.0 : f32 {{attrs}} : "
        f"{value.type} -> {result}",
        (
            "pad",
            f"edge_padding_low = {array(low)}, edge_padding_high = {array(high)}, "
            f"interior_padding = {array(interior)}",
            "",
        ),
        resize_rule(value.type, result, extra="[]"),
    )


def resize_rule(operand, result, extra=""):
    """A factor on each side of a dimension that changes its size."""
    changed = [a != b for a, b in zip(operand.shape, result.shape)]
    before = [f"{'o' if new else 'r'}_{i}" for i, new in enumerate(changed)]
    after = [f"r_{i}" for i in range(len(changed))]
    sizes = {**dict(zip(after, result.shape)), **dict(zip(before, operand.shape))}
    changes = {name for side in (before, after) for name, new in zip(side, changed) if new}
    operands = [before] if not extra else [before, []]
    return rule_text(operands, after, sizes, "permutation", changes)


def rule_text(operands, result, sizes, kind, special):
    """A rule of Shardy; factors must be named i, j, k, ... in the order they come."""
    names = {}
    for factor in [f for side in operands for f in side] + list(result):
        names.setdefault(factor, "ijklmnopqrstuvwxyz"[len(names)])

    def side(factors):
        return f"[{', '.join(names[f] for f in factors)}]"

    numbers = ", ".join(f"{name}={sizes[factor]}" for factor, name in names.items())
    listed = ", ".join(sorted(names[factor] for factor in special))
    return (
        f"#sdy.op_sharding_rule<({', '.join(map(side, operands))})->({side(result)}) {{{numbers}}}"
        + (f" {kind}={{{listed}}}" if listed else "")
        + ">"
    )


def concatenate(random, values):
    value = random.choice(floats(values, 1))
    if value is None:
        return None
    dim = random.randrange(len(value.type.shape))

    def rest(type_):
        return type_.shape[:dim] + type_.shape[dim + 1 :]

    fits = [
        v
        for v in floats(values)
        if len(v.type.shape) == len(value.type.shape) and rest(v.type) == rest(value.type)
    ]
    chosen = [value, *random.choices(fits, k=random.randint(1, 2))]
    total = sum(v.type.shape[dim] for v in chosen)
    result = Type((*value.type.shape[:dim], total, *value.type.shape[dim + 1 :]))
    names = ", ".join(f"{{{i}}}" for i in range(len(chosen)))
    types = ", ".join(str(v.type) for v in chosen)
    return Op(
        tuple(v.id for v in chosen),
        result,
        f"weft.concat {names} dim = {dim} {{attrs}} : ({types}) -> {result}",
        ("concatenate", f"dimension = {dim} : i64", ""),
        concatenate_rule([v.type for v in chosen], result, dim),
    )


def concatenate_rule(operands, result, dim):
    """A factor of its own for the joined dimension of every operand and the result."""
    sizes = {f"r_{i}": size for i, size in enumerate(result.shape)}
    sides = []
    for number, operand in enumerate(operands):
        side = [f"r_{i}" for i in range(len(result.shape))]
        side[dim] = f"o_{number}"
        sizes[side[dim]] = operand.shape[dim]
        sides.append(side)
    special = {f"r_{dim}", *(side[dim] for side in sides)}
    names = [f"r_{i}" for i in range(len(result.shape))]
    return rule_text(sides, names, sizes, "need_replication", special)


def gather(random, values):
    """What `take` along one dimension does."""
    table = random.choice(floats(values, 1))
    indices = random.choice([v for v in values if v.type.element == "i32"] or [None])
    if table is None or indices is None:
        return None
    rank, dim = len(table.type.shape), random.randrange(len(table.type.shape))
    taken = list(indices.type.shape)
    shape = [*table.type.shape[:dim], *taken, *table.type.shape[dim + 1 :]]
    if len(shape) > 4:
        return None
    result = Type(tuple(shape))
    offsets = [*range(dim), *range(dim + len(taken), len(shape))]
    sizes = [1 if i == dim else size for i, size in enumerate(table.type.shape)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = [{dim}], "
        f"start_index_map = [{dim}], index_vector_dim = {len(taken)}>"
    )
    return Op(
        (table.id, indices.id),
        result,
        f"weft.gather {{0}}, {{1}} dim = {dim} {{attrs}} : ({table.type}, {indices.type}) -> {result}",
        ("gather", f"dimension_numbers = {numbers}, slice_sizes = {array(sizes)}", ""),
    )
