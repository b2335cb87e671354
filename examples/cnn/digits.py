# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The 1797 handwritten digits of scikit-learn, 8 x 8 pixels each, which its package contains."""

import numpy as np
from sklearn.datasets import load_digits

HELD_OUT = 360


def load(seed=0):
    """((images, labels) for training, (images, labels) held out): float32[n, 8, 8, 1] in [0, 1],
    int32[n]. `seed` decides which 360 digits are held out."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = (digits.images[order, :, :, None] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])


def batches(data, size, epoch):
    """The batches of an epoch, in an order of its own; what fills no batch is left out."""
    images, labels = data
    order = np.random.default_rng([1, epoch]).permutation(len(labels))
    for start in range(0, len(labels) - size + 1, size):
        chosen = order[start:start + size]
        yield images[chosen], labels[chosen]
