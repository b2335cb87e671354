# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the training step of a perceptron with as many layers as asked for.

    python3 generate_mlp.py --ops 10000        about that many ops
    python3 generate_mlp.py --layers 4 --width 2048 --batch 256

Layer i is h[i+1] = tanh(h[i] w[i] + b[i]), the loss the mean square of the last
one's distance from a target; backward and momentum update are written out, 22
ops a layer. The batch is split over "data", the weights by columns and by rows
in turn over "model".
"""

import argparse
import sys

OPS_PER_LAYER = 22
OTHER_OPS = 12


class Writer:
    """Prints one op a line."""

    def __init__(self, batch, width):
        self.batch, self.width = batch, width
        self.h = f"tensor<{batch}x{width}xf32>"
        self.w = f"tensor<{width}x{width}xf32>"
        self.b = f"tensor<{width}xf32>"

    def op(self, result, text):
        print(f"  %{result} = {text}")

    def elementwise(self, result, op, operands, type_):
        self.op(result, f"{op} {', '.join('%' + o for o in operands)} : {type_}")

    def scalar(self, result, value):
        self.op(result, f"arith.constant dense<{value}> : tensor<f32>")

    def fill(self, result, scalar, type_):
        self.op(result, f"weft.broadcast %{scalar} dims = [] : tensor<f32> -> {type_}")

    def dot(self, result, a, b, dims, types):
        self.op(result, f"weft.dot_general %{a}, %{b} contracting = {dims} : {types}")


def signature(writer, layers):
    """Arguments and results, with names and shardings."""
    rows = 'weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>'
    arguments = [f'%h0: {writer.h} {{weft.name = "x", {rows}}}',
                 f'%target: {writer.h} {{weft.name = "y", {rows}}}']
    results = ['tensor<f32> {weft.name = "loss"}']
    for i in range(layers):
        dims = '{}, {"model"}' if i % 2 == 0 else '{"model"}, {}'
        sharding = f"weft.sharding = #weft.sharding<@mesh, [{dims}]>"
        arguments += [
            f'%w{i}: {writer.w} {{weft.name = "w{i}", {sharding}}}',
            f'%b{i}: {writer.b} {{weft.name = "b{i}"}}',
            f'%mw{i}: {writer.w} {{weft.name = "momentum.w{i}"}}',
            f'%mb{i}: {writer.b} {{weft.name = "momentum.b{i}"}}']
        results += [f'{writer.w} {{weft.name = "w{i}"}}',
                    f'{writer.b} {{weft.name = "b{i}"}}',
                    f'{writer.w} {{weft.name = "momentum.w{i}"}}',
                    f'{writer.b} {{weft.name = "momentum.b{i}"}}']
    return arguments, results


def forward(out, i):
    out.dot(f"s{i}", f"h{i}", f"w{i}", "[1] x [0]", f"({out.h}, {out.w}) -> {out.h}")
    out.op(f"c{i}", f"weft.broadcast %b{i} dims = [1] : {out.b} -> {out.h}")
    out.elementwise(f"z{i}", "arith.addf", [f"s{i}", f"c{i}"], out.h)
    out.elementwise(f"h{i + 1}", "math.tanh", [f"z{i}"], out.h)


def loss(out, last):
    out.elementwise("distance", "arith.subf", [f"h{last}", "target"], out.h)
    out.elementwise("square", "arith.mulf", ["distance", "distance"], out.h)
    out.op("total", f"weft.reduce sum %square dims = [0, 1] : {out.h} -> tensor<f32>")
    out.elementwise("loss", "arith.mulf", ["total", "mean"], "tensor<f32>")
    out.fill("slope", "twice", out.h)
    out.elementwise(f"g{last}", "arith.mulf", ["distance", "slope"], out.h)


def backward(out, i):
    out.elementwise(f"q{i}", "arith.mulf", [f"h{i + 1}", f"h{i + 1}"], out.h)
    out.elementwise(f"t{i}", "arith.subf", ["ones", f"q{i}"], out.h)
    out.elementwise(f"dz{i}", "arith.mulf", [f"g{i + 1}", f"t{i}"], out.h)
    out.dot(f"dw{i}", f"h{i}", f"dz{i}", "[0] x [0]", f"({out.h}, {out.h}) -> {out.w}")
    out.op(f"db{i}", f"weft.reduce sum %dz{i} dims = [0] : {out.h} -> {out.b}")
    if i > 0:
        out.dot(f"g{i}", f"dz{i}", f"w{i}", "[1] x [1]",
                f"({out.h}, {out.w}) -> {out.h}")


def update(out, name, type_):
    out.fill(f"decay_{name}", "decay", type_)
    out.fill(f"rate_{name}", "rate", type_)
    out.elementwise(f"kept_{name}", "arith.mulf", [f"decay_{name}", f"m{name}"], type_)
    out.elementwise(f"new_m{name}", "arith.addf", [f"kept_{name}", f"d{name}"], type_)
    out.elementwise(f"step_{name}", "arith.mulf", [f"rate_{name}", f"new_m{name}"], type_)
    out.elementwise(f"new_{name}", "arith.subf", [name, f"step_{name}"], type_)


def write_module(layers, width, batch):
    out = Writer(batch, width)
    arguments, results = signature(out, layers)
    print('weft.mesh @mesh = <["data"=1, "model"=1]>\n')
    print("func.func @train_step(\n    " + ",\n    ".join(arguments) + ")")
    print("    -> (" + ",\n        ".join(results) + ") {")
    for name, value in (("one", 1.0), ("mean", 1 / (batch * width)),
                        ("twice", 2 / (batch * width)), ("decay", 0.9), ("rate", 0.1)):
        out.scalar(name, value)
    out.fill("ones", "one", out.h)
    for i in range(layers):
        forward(out, i)
    loss(out, layers)
    for i in reversed(range(layers)):
        backward(out, i)
        update(out, f"w{i}", out.w)
        update(out, f"b{i}", out.b)
    values = ["%loss"] + [f"%new_{kind}{i}" for i in range(layers)
                          for kind in ("w", "b", "mw", "mb")]
    types = ["tensor<f32>"] + [out.w, out.b] * (2 * layers)
    print(f"  return {', '.join(values)}\n      : {', '.join(types)}\n}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, help="instead of --layers")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    layers = args.layers
    if args.ops is not None:
        layers = max(1, (args.ops - OTHER_OPS) // OPS_PER_LAYER)
    if min(layers, args.width, args.batch) < 1:
        sys.exit("error: sizes must be positive")
    write_module(layers, args.width, args.batch)


if __name__ == "__main__":
    main()
