# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional networks, written once for JAX and for Weft.

`x` is a namespace of the packages numpy, nn and lax; tree a module with map.
"""

import numpy as np

IMAGE = ("NHWC", "HWIO", "NHWC")


def conv(x, images, kernel, strides=1, **options):
    return x.lax.conv_general_dilated(images, kernel, (strides, strides), options.pop("padding", "SAME"),
                                      dimension_numbers=IMAGE, **options)


def max_pool(x, images):
    return x.lax.reduce_window(images, -np.inf, x.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cross_entropy(x, logits, labels):
    picked = x.numpy.take_along_axis(x.nn.log_softmax(logits), labels[:, None], axis=-1)
    return -x.numpy.mean(picked)


def lenet_init(rng):
    """For images of 12 x 12 and 10 classes."""
    def weights(*shape):
        return (rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)

    return {"conv1": weights(3, 3, 1, 8), "bias1": np.zeros(8, np.float32),
            "conv2": weights(3, 3, 8, 16), "bias2": np.zeros(16, np.float32),
            "dense": weights(3 * 3 * 16, 10), "bias": np.zeros(10, np.float32)}


def lenet_loss(params, batch, *, x):
    images, labels = batch
    h = x.nn.relu(conv(x, images, params["conv1"]) + params["bias1"])
    h = max_pool(x, h)
    h = max_pool(x, x.nn.relu(conv(x, h, params["conv2"]) + params["bias2"]))
    h = h.reshape(h.shape[0], -1)
    return cross_entropy(x, h @ params["dense"] + params["bias"], labels)


def batch_norm(x, images, scale, bias):
    """Over the whole batch, however it is split."""
    mean = x.numpy.mean(images, axis=(0, 1, 2))
    variance = x.numpy.mean(x.numpy.square(images - mean), axis=(0, 1, 2))
    return (images - mean) * x.lax.rsqrt(variance + 1e-5) * scale + bias


def resnet_init(rng):
    """A stem, a block that halves the image, one that keeps it, and a depthwise one."""
    def weights(*shape):
        return (rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[:-1]))).astype(np.float32)

    def norm(n):
        return {"scale": np.ones(n, np.float32), "bias": np.zeros(n, np.float32)}

    return {"stem": weights(3, 3, 3, 8), "norm0": norm(8),
            "conv1": weights(3, 3, 8, 16), "norm1": norm(16), "conv2": weights(3, 3, 16, 16), "norm2": norm(16),
            "short": weights(1, 1, 8, 16), "norm3": norm(16),
            "depthwise": weights(3, 3, 1, 16), "pointwise": weights(1, 1, 16, 16), "norm4": norm(16),
            "dense": weights(16, 10)}


def resnet_loss(params, batch, *, x):
    images, labels = batch

    def normed(h, name):
        return batch_norm(x, h, params[name]["scale"], params[name]["bias"])

    h = x.nn.relu(normed(conv(x, images, params["stem"]), "norm0"))
    r = x.nn.relu(normed(conv(x, h, params["conv1"], 2), "norm1"))
    r = normed(conv(x, r, params["conv2"]), "norm2")
    h = x.nn.relu(r + normed(conv(x, h, params["short"], 2), "norm3"))
    r = conv(x, h, params["depthwise"], feature_group_count=16)
    h = x.nn.relu(h + normed(conv(x, r, params["pointwise"]), "norm4"))
    return cross_entropy(x, x.numpy.mean(h, axis=(1, 2)) @ params["dense"], labels)


def momentum_step(loss, value_and_grad, tree_map):
    """SGD with momentum: state, batch -> state, loss."""
    def step(state, batch):
        value, gradients = value_and_grad(loss)(state["params"], batch)
        momentum = tree_map(lambda m, g: 0.9 * m + g, state["momentum"], gradients)
        params = tree_map(lambda p, m: p - 0.05 * m, state["params"], momentum)
        return {"params": params, "momentum": momentum}, value

    return step
