# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs of matmuls, element-wise ops, transposes, reductions and broadcasts, whose
inputs, and some of whose outputs and values, have shardings. Equal seeds give equal graphs."""

import math
import random

MESHES = [{"x": 8}, {"x": 2, "y": 2}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}]
MOST_ELEMENTS = 1 << 28


def type_of(shape):
    return f"tensor<{'x'.join(map(str, shape))}{'x' if shape else ''}f32>"


class Graph:
    def __init__(self, seed, max_ops=40):
        self.rng = random.Random(seed)
        self.mesh = self.rng.choice(MESHES)
        scale = self.rng.choice([1, 1, 8, 64])
        self.sizes = [scale * size for size in self.rng.sample([8, 16, 24, 32, 64], 4)]
        self.arguments, self.body, self.shapes = [], [], {}
        self.unused = {}
        rank = self.rng.choice([2, 2, 3])
        self.argument([self.rng.choice(self.sizes) for _ in range(rank)])
        for _ in range(self.rng.randint(5, max_ops)):
            self.rng.choice([self.matmul] * 4 + [self.unary] * 2 + [self.binary] * 4 +
                            [self.transpose, self.reduce, self.broadcast, self.constraint])()

    def sharding(self, shape):
        """Each axis splits a dimension that it divides, or none."""
        dims = [[] for _ in shape]
        for axis, size in self.mesh.items():
            if not shape or self.rng.random() < 0.4:
                continue
            dim = self.rng.randrange(len(shape))
            shards = size * math.prod(self.mesh[other] for other in dims[dim])
            if shape[dim] % shards == 0:
                dims[dim].append(axis)
        text = ", ".join("{" + ", ".join(f'"{axis}"' for axis in axes) + "}" for axes in dims)
        return f"<@mesh, [{text}]>"

    def argument(self, shape):
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: {type_of(shape)} "
                              f"{{weft.sharding = #weft.sharding{self.sharding(shape)}}}")
        self.shapes[name] = shape
        return name

    def value(self):
        """One of the last values, mostly; an older one is shared, as residuals are."""
        names = list(self.shapes)
        return self.rng.choice(names[-3:] if self.rng.random() < 0.7 else names)

    def add(self, text, shape, *operands):
        name = f"%v{len(self.body)}"
        self.body.append(f"{name} = {text}")
        self.shapes[name] = shape
        for operand in operands:
            self.unused.pop(operand, None)
        self.unused[name] = None

    def matmul(self):
        left = self.value()
        shape = self.shapes[left]
        if not shape:
            return self.unary()
        dim = self.rng.randrange(len(shape))
        others = [name for name, other in self.shapes.items()
                  if len(other) == 2 and shape[dim] in other]
        right = (self.rng.choice(others) if others and self.rng.random() < 0.4 else
                 self.argument([shape[dim], self.rng.choice(self.sizes)]))
        other = self.shapes[right]
        with_dim = self.rng.choice([i for i, size in enumerate(other) if size == shape[dim]])
        result = shape[:dim] + shape[dim + 1:] + other[:with_dim] + other[with_dim + 1:]
        if math.prod(result) > MOST_ELEMENTS:
            return self.reduce()
        self.add(f"weft.dot_general {left}, {right} contracting = [{dim}] x [{with_dim}] : "
                 f"({type_of(shape)}, {type_of(other)}) -> {type_of(result)}",
                 result, left, right)

    def unary(self):
        name = self.value()
        self.add(f"math.{self.rng.choice(['tanh', 'exp'])} {name} : "
                 f"{type_of(self.shapes[name])}", self.shapes[name], name)

    def binary(self):
        left = self.value()
        right = self.rng.choice([name for name, shape in self.shapes.items()
                                 if shape == self.shapes[left]])
        self.add(f"arith.{self.rng.choice(['addf', 'mulf'])} {left}, {right} : "
                 f"{type_of(self.shapes[left])}", self.shapes[left], left, right)

    def transpose(self):
        name = self.value()
        shape = self.shapes[name]
        order = self.rng.sample(range(len(shape)), len(shape))
        result = [shape[i] for i in order]
        self.add(f"weft.transpose {name} dims = {order} : {type_of(shape)} -> "
                 f"{type_of(result)}", result, name)

    def reduce(self):
        name = self.value()
        shape = self.shapes[name]
        dims = sorted(self.rng.sample(range(len(shape)), min(1, len(shape))))
        result = [size for i, size in enumerate(shape) if i not in dims]
        self.add(f"weft.reduce {self.rng.choice(['sum', 'sum', 'max'])} {name} dims = {dims} : "
                 f"{type_of(shape)} -> {type_of(result)}", result, name)

    def broadcast(self):
        name = self.value()
        shape = self.shapes[name]
        at = self.rng.randint(0, len(shape))
        result = shape[:at] + [self.rng.choice(self.sizes)] + shape[at:]
        if len(result) > 3 or math.prod(result) > MOST_ELEMENTS:
            return self.unary()
        dims = [i for i in range(len(result)) if i != at]
        self.add(f"weft.broadcast {name} dims = {dims} : {type_of(shape)} -> {type_of(result)}",
                 result, name)

    def constraint(self):
        name = self.value()
        self.add(f"weft.constraint {name} {self.sharding(self.shapes[name])} : "
                 f"{type_of(self.shapes[name])}", self.shapes[name], name)

    def text(self):
        mesh = ", ".join(f'"{axis}"={size}' for axis, size in self.mesh.items())
        types = [type_of(self.shapes[name]) for name in self.unused]
        results = [f"{of} {{weft.sharding = #weft.sharding{self.sharding(self.shapes[name])}}}"
                   if self.rng.random() < 0.5 else of
                   for name, of in zip(self.unused, types)]
        body = "\n".join(f"  {line}" for line in self.body)
        return (f"weft.mesh @mesh = <[{mesh}]>\nfunc.func @main({', '.join(self.arguments)}) -> "
                f"({', '.join(results)}) {{\n{body}\n  return {', '.join(self.unused)} : "
                f"{', '.join(types)}\n}}\n")
