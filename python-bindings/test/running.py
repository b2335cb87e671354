# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions of weft.numpy on arrays, for tests that look at numbers."""

import os
import pathlib

import numpy as np

import weft
from weft import tree

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin"
BINARIES = pathlib.Path(os.environ.get("WEFT_BIN", BUILD))


def evaluate(fn, *args, **options):
    """fn(*args) on one rank, or on those of a mesh: a tree of NumPy arrays."""
    return weft.jit(fn, **options)(*args)


def train(step, state, batches, **options):
    """The loss of each `state, loss = step(state, batch)`, and the last state. `batches` is a
    tree of arrays with a slice for each step."""
    step = weft.jit(step, donate_argnums=0, **options)
    losses = []
    for i in range(len(tree.leaves(batches)[0])):
        state, loss = step(state, tree.map(lambda stack: stack[i], batches))
        losses.append(float(loss))
    return np.array(losses), state
