# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs with random annotations.

Every program is drawn from a seed of its own, so that one can be looked at alone. A
program is the same ops in the same order for Weft and for Shardy.
"""

from __future__ import annotations

import dataclasses
import math
import random

import ops
import resizing_ops
from ops import SIZES, Op, Type
from shardings import Axis, Dim, Sharding

MESHES = [
    {"a": 2, "b": 4, "c": 2},
    {"a": 4, "b": 2},
    {"a": 2, "b": 2, "c": 2, "d": 2},
    {"a": 8, "b": 2},
    {"a": 2, "b": 3, "c": 4},
    {"a": 4, "b": 4},
]

CORE = [ops.pointwise] * 4 + [ops.dot_general] * 4 + [ops.reshape] * 2
CORE += [ops.transpose, ops.broadcast, ops.reduce, ops.constraint, ops.compare, ops.select]
WIDE = CORE + [resizing_ops.slice_, resizing_ops.concatenate, resizing_ops.gather] * 2
WIDE += [resizing_ops.pad]


@dataclasses.dataclass
class Program:
    """Values are numbered: arguments first, then the result of each op."""

    mesh: dict[str, int]
    arguments: list[Type]
    ops: list[Op]
    results: list[int]
    annotations: dict[int, Sharding]
    result_annotations: dict[int, Sharding]

    def type_of(self, value):
        count = len(self.arguments)
        return self.arguments[value] if value < count else self.ops[value - count].type

    def labels(self):
        """What each compared sharding is of, in the order of the outcomes."""
        count = len(self.arguments)
        return (
            [f"argument {i}" for i in range(count)]
            + [f"op {i} ({op.stablehlo[0]})" for i, op in enumerate(self.ops)]
            + [f"result {i}" for i in range(len(self.results))]
        )


@dataclasses.dataclass(frozen=True)
class Available:
    id: int
    type: Type


def random_type(random, sizes):
    return Type(tuple(random.choice(sizes) for _ in range(random.choice([1, 2, 2, 2, 3, 3]))))


def axis_pieces(random, mesh):
    """The axes of a mesh, some of them cut into sub-axes."""
    pieces = []
    for name, size in mesh.items():
        pre = 1
        while pre < size:
            rest = size // pre
            cuts = [d for d in range(2, rest + 1) if rest % d == 0]
            piece = rest if random.random() < 0.75 else random.choice(cuts)
            pieces.append(Axis(name, pre, piece))
            pre *= piece
    return pieces


def random_sharding(random, mesh, rank, priorities):
    """A legal sharding: axes that divide nothing are allowed, as in Shardy."""
    pieces = axis_pieces(random, mesh)
    random.shuffle(pieces)
    dims = [[] for _ in range(rank)]
    replicated = []
    for piece in pieces:
        choice = random.random()
        if rank and choice < 0.5:
            random.choice(dims).append(piece)
        elif choice < 0.58:
            replicated.append(piece)
    result = []
    for axes in dims:
        is_open = random.random() < 0.6
        may_wait = priorities and (axes or is_open) and random.random() < 0.4
        result.append(Dim(Axis.merge(axes), is_open, random.choice([0, 1, 2]) if may_wait else None))
    order = {name: at for at, name in enumerate(mesh)}
    replicated.sort(key=lambda axis: (order[axis.name], axis.pre))
    return Sharding(tuple(result), Axis.merge(replicated))


def random_program(seed, wide=False):
    """The program of a seed. `wide` also draws ops whose rules have permutation or
    replication factors."""
    draw = random.Random(f"program {seed} {wide}")
    mesh = draw.choice(MESHES)
    sizes = draw.sample(SIZES, 3)
    priorities = draw.random() < 0.3
    arguments = [random_type(draw, sizes) for _ in range(draw.randint(1, 4))]
    if wide:
        shape = [draw.choice(sizes) for _ in range(draw.randint(1, 2))]
        arguments.append(Type(tuple(shape), "i32"))
    values = [Available(i, type_) for i, type_ in enumerate(arguments)]
    drawn: list[Op] = []
    for _ in range(draw.randint(2, 8)):
        op = draw.choice(WIDE if wide else CORE)(draw, values)
        if op is None or len(op.type.shape) > 4 or math.prod(op.type.shape) > 1 << 16:
            continue
        values.append(Available(len(arguments) + len(drawn), op.type))
        drawn.append(op)
    used = {operand for op in drawn for operand in op.operands}
    results = [v.id for v in values[len(arguments) :] if v.id not in used or draw.random() < 0.15]
    program = Program(mesh, arguments, drawn, results, {}, {})
    for value in values:
        op = drawn[value.id - len(arguments)] if value.id >= len(arguments) else None
        is_constraint = op is not None and op.weft == "constraint"
        chance = 0.5 if op is None else 1.0 if is_constraint else 0.05
        if draw.random() < chance:
            rank = len(value.type.shape)
            program.annotations[value.id] = random_sharding(draw, mesh, rank, priorities)
    for index, value in enumerate(results):
        if draw.random() < 0.25:
            rank = len(program.type_of(value).shape)
            program.result_annotations[index] = random_sharding(draw, mesh, rank, priorities)
    return program
