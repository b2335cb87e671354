# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the training step of a perceptron with as many layers as asked for.

    python3 generate_mlp.py --ops 10000        about that many ops
    python3 generate_mlp.py --layers 4 --width 2048 --batch 256

Layer i is h[i+1] = tanh(h[i] w[i] + b[i]), the loss the mean square of the last one's distance
from a target; updates are of momentum. The batch is split over "data", the weights by columns and
by rows in turn over "model". Needs the package weft on PYTHONPATH.
"""

import argparse
import sys

import weft
import weft.numpy as wnp
from weft import P

OPS_PER_LAYER = 18


def train_step(params, momentum, x, y):
    def loss(params):
        h = x
        for layer in params:
            h = wnp.tanh(h @ layer["w"] + layer["b"])
        return wnp.mean(wnp.square(h - y))

    value, gradients = weft.value_and_grad(loss)(params)
    momentum = weft.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    return weft.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum, value


def graph(layers, width, batch):
    """The text of the step, with its backward pass."""
    def array(*shape):
        return weft.ShapeDtypeStruct(shape, "float32")

    params = [{"w": array(width, width), "b": array(width)} for _ in range(layers)]
    specs = [{"w": P("model") if i % 2 else P(None, "model"), "b": None} for i in range(layers)]
    step = weft.jit(train_step, mesh=weft.Mesh((1, 1), ("data", "model")), donate_argnums=(0, 1),
                    in_shardings=(specs, None, P("data", None), P("data", None)))
    return step.lower(params, params, array(batch, width), array(batch, width)).as_text("graph")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, help="instead of --layers")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    layers = args.layers if args.ops is None else max(1, args.ops // OPS_PER_LAYER)
    if min(layers, args.width, args.batch) < 1:
        sys.exit("error: sizes must be positive")
    print(graph(layers, args.width, args.batch))


if __name__ == "__main__":
    main()
