# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The byte-level language model in NumPy: what the plans are compared with.

Written from the mathematics, not from the MLIR: rows of the table are looked
up by index, gradients follow from the chain rule.

    python reference.py --data build/example --out build/example/reference
"""

import argparse
import pathlib

import numpy as np
from safetensors.numpy import save_file

LEARNING_RATE = np.float32(0.1)
MOMENTUM = np.float32(0.9)

# Shape and half-width of the uniform distribution each weight starts from:
# sqrt(3 / fan_in), so that pre-activations have the variance of the inputs.
# The order is the order of the random streams.
WEIGHTS = {
    "embedding": ((256, 64), 1.0),
    "w1": ((1024, 512), 0.0541265877),
    "w2": ((512, 512), 0.0765465545),
    "w3": ((512, 256), 0.0765465545),
}
BIASES = {"b1": 512, "b2": 512, "b3": 256}


def hash32(counter):
    """The lowbias32 mixer: a bijection of the 32-bit integers."""
    h = counter.copy()
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x7FEB352D)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x846CA68B)
    h ^= h >> np.uint32(16)
    return h


def uniform(shape, stream, half_width):
    """Numbers of [-half_width, half_width) that depend on the index alone."""
    count = int(np.prod(shape))
    counter = np.arange(count, dtype=np.uint32) + np.uint32(stream << 20)
    unit = (hash32(counter) >> np.uint32(8)).astype(np.float32)
    centred = unit * np.float32(2.0**-23) - np.float32(1)
    return (centred * np.float32(half_width)).reshape(shape)


def init(dtype=np.float32):
    """Parameters and momenta before the first step."""
    state = {name: uniform(shape, stream, half_width)
             for stream, (name, (shape, half_width)) in enumerate(WEIGHTS.items(), 1)}
    state |= {name: np.zeros(size, np.float32) for name, size in BIASES.items()}
    state |= {f"momentum.{name}": np.zeros_like(value)
              for name, value in list(state.items())}
    return {name: value.astype(dtype) for name, value in state.items()}


def loss_and_gradients(p, x, y):
    """Mean cross-entropy of the batch and its derivatives."""
    batch = len(x)
    rows = np.arange(batch)

    features = p["embedding"][x].reshape(batch, -1)
    h1 = np.tanh(features @ p["w1"] + p["b1"])
    h2 = np.tanh(h1 @ p["w2"] + p["b2"])
    logits = h2 @ p["w3"] + p["b3"]
    logits = logits - logits.max(axis=1, keepdims=True)
    exps = np.exp(logits)
    sums = exps.sum(axis=1, keepdims=True)
    loss = (np.log(sums[:, 0]) - logits[rows, y]).sum() / logits.dtype.type(batch)

    g = {}
    d_logits = exps / sums
    d_logits[rows, y] -= 1
    d_logits /= batch
    g["w3"], g["b3"] = h2.T @ d_logits, d_logits.sum(axis=0)
    d_z2 = d_logits @ p["w3"].T * (1 - h2 * h2)
    g["w2"], g["b2"] = h1.T @ d_z2, d_z2.sum(axis=0)
    d_z1 = d_z2 @ p["w2"].T * (1 - h1 * h1)
    g["w1"], g["b1"] = features.T @ d_z1, d_z1.sum(axis=0)
    d_features = (d_z1 @ p["w1"].T).reshape(*x.shape, -1)
    g["embedding"] = np.zeros_like(p["embedding"])
    np.add.at(g["embedding"], x, d_features)
    return loss, g


def train_step(state, x, y):
    """One step of stochastic gradient descent with momentum, in place."""
    loss, gradients = loss_and_gradients(state, x, y)
    for name, gradient in gradients.items():
        momentum = state[f"momentum.{name}"]
        momentum *= MOMENTUM.astype(momentum.dtype)
        momentum += gradient
        state[name] -= LEARNING_RATE.astype(momentum.dtype) * momentum
    return loss


def train(x, y, steps, dtype=np.float32):
    """Losses of `steps` steps and the final state."""
    state = init(dtype)
    losses = [train_step(state, x[step], y[step]) for step in range(steps)]
    return losses, state


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True,
                        help="folder with x.npy and y.npy")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()

    x, y = np.load(args.data / "x.npy"), np.load(args.data / "y.npy")
    losses, state = train(x, y, args.steps)
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "metrics.csv", "w") as out:
        out.write("step,loss\n")
        out.writelines(f"{step},{loss:.9g}\n" for step, loss in enumerate(losses))
    save_file(state, args.out / "states.safetensors")
    print(f"{args.steps} steps, loss {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
