# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a convolutional network on handwritten digits, data parallel on ranks of this machine.

    python examples/cnn/train_digits.py --ranks 4

Prints the accuracy on 360 digits that training has not seen. With the package in
build/dev/python: PYTHONPATH=build/dev/python.
"""

import argparse
import sys

import numpy as np

import digits
import network
import weft
from weft import P


def compiled(ranks):
    """The training step and the prediction: each rank has the parameters, and its part of the batch."""
    mesh = weft.Mesh((ranks,), ("data",))
    step = weft.jit(network.train_step, mesh=mesh, in_shardings=(P(), P("data"), P("data")), donate_argnums=0)
    return step, weft.jit(network.predict, mesh=mesh, in_shardings=(P(), P("data")))


def first_state():
    params = network.init(seed=0)
    return {"params": params, "optimizer": network.OPTIMIZER.init(params)}


def train(ranks=4, epochs=10, batch=64):
    """Yields (mean loss, accuracy on held-out digits) of each epoch."""
    training, (images, labels) = digits.load()
    step, predict = compiled(ranks)
    state = first_state()
    for epoch in range(epochs):
        losses = []
        for shown in digits.batches(training, batch, epoch):
            state, loss = step(state, *shown)
            losses.append(float(loss))
        yield np.mean(losses), np.mean(np.asarray(predict(state["params"], images)) == labels)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64, help="images of a step, on all ranks together")
    args = parser.parse_args(arguments)
    try:
        for epoch, (loss, accuracy) in enumerate(train(args.ranks, args.epochs, args.batch), 1):
            print(f"epoch {epoch:2}  loss {loss:.3f}  accuracy {100 * accuracy:.1f} %", flush=True)
    except (ValueError, weft.CompileError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
