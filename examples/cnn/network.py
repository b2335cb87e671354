# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A convolutional network for images of 8 x 8 pixels, and its training step.

Nothing here knows of a mesh.
"""

import numpy as np

import weft
from weft import lax, nn, optim

CLASSES = 10
OPTIMIZER = optim.sgd(0.1, momentum=0.9)


def init(seed):
    """The first parameters, as NumPy arrays."""
    random = np.random.default_rng(seed)

    def layer(*shape):
        scale = np.sqrt(2 / np.prod(shape[:-1]))
        return {"kernel": random.normal(scale=scale, size=shape).astype(np.float32),
                "bias": np.zeros(shape[-1], np.float32)}

    return {"conv1": layer(3, 3, 1, 16), "conv2": layer(3, 3, 16, 32), "dense": layer(4 * 4 * 32, CLASSES)}


def conv(params, images):
    """A 3 x 3 convolution that keeps the size of the images."""
    return lax.conv_general_dilated(images, params["kernel"], (1, 1), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC")) + params["bias"]


def logits(params, images):
    """Of images [n, 8, 8, 1], the scores of the classes, [n, 10]."""
    x = nn.relu(conv(params["conv1"], images))
    x = nn.relu(conv(params["conv2"], x))
    x = nn.max_pool(x, (2, 2), strides=(2, 2))
    x = x.reshape(x.shape[0], -1)
    return x @ params["dense"]["kernel"] + params["dense"]["bias"]


def loss(params, images, labels):
    """The mean cross-entropy of a batch."""
    return nn.softmax_cross_entropy_with_integer_labels(logits(params, images), labels).mean()


def train_step(state, images, labels):
    """(state, batch) -> (state, loss)"""
    value, gradients = weft.value_and_grad(loss)(state["params"], images, labels)
    updates, moments = OPTIMIZER.update(gradients, state["optimizer"], state["params"])
    return {"params": optim.apply_updates(state["params"], updates), "optimizer": moments}, value


def predict(params, images):
    """The most likely class of each image."""
    return logits(params, images).argmax(axis=-1)
