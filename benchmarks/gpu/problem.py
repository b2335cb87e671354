# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2 as all systems train it: numbers to start from, batches, the loop that is timed.

A system is a class `Trainer(arguments, state, size)` with

    step(tokens, targets)   the loss of a batch, as a float: the device is done then
    parameters()            all arrays of the parameters, in any order

and README.md says what the three have in common. This file needs NumPy alone.
"""

import argparse
import dataclasses
import gc
import json
import os
import shutil
import statistics
import subprocess
import time

import numpy as np


@dataclasses.dataclass(frozen=True)
class Config:
    """The fields that python-bindings/test/weft_models.py and test/Import/jax_models.py read."""

    layers: int
    width: int
    heads: int
    vocab: int = 50304
    context: int = 1024
    dtype: str = "bfloat16"

    @property
    def parameters(self):
        """Without the embedding of places, as in the papers on scaling."""
        return 12 * self.layers * self.width**2 + self.vocab * self.width

    @property
    def flops_per_token(self):
        """Six a parameter, and attention's matmuls below the diagonal."""
        return 6 * self.parameters + 6 * self.layers * self.width * self.context


SIZES = {
    "tiny": Config(2, 32, 2, vocab=96, context=16),
    "124M": Config(12, 768, 12),
    "1558M": Config(48, 1600, 25),
}
# From the largest that an H200 holds down; each system takes the first that fits.
BATCHES = {"tiny": (4,), "124M": (64, 48, 32, 16, 8, 4), "1558M": (32, 24, 16, 8, 4, 2, 1)}
# Batches that come again and again, so that the loss falls by what the optimizer does.
DISTINCT_BATCHES = 4
# Dense GEMMs of bfloat16, by a word of the device's name.
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "B200": 2250e12}


def parser(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="124M")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16",
                        help="of the computation; parameters and moments are float32")
    parser.add_argument("--batch", type=int, help="sequences a step (default: what fits)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--target", default="cuda:sm_90", help="Weft only")
    parser.add_argument("--on", choices=["gpu", "cpu"], default="gpu", help="JAX and PyTorch only")
    return parser


def parse(description):
    arguments = parser(description).parse_args()
    arguments.config = dataclasses.replace(SIZES[arguments.size], dtype=arguments.dtype)
    arguments.batches = (arguments.batch,) if arguments.batch else BATCHES[arguments.size]
    return arguments


# ===----------------------------------------------------------------------===
# What all start from and see
# ===----------------------------------------------------------------------===


def first_state(config):
    """Parameters as GPT-2 starts, and moments of zero: what weft_models.train_step takes."""
    random = np.random.default_rng(0)

    def normal(*shape, scale=0.02):
        return scale * random.standard_normal(shape, np.float32)

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    def norm():
        return {"scale": np.ones(config.width, np.float32), "bias": zeros(config.width)}

    width, hidden = config.width, 4 * config.width
    residual = 0.02 / (2 * config.layers) ** 0.5
    blocks = [{
        "ln1": norm(), "ln2": norm(),
        "attn": {**{f"w{part}": normal(width, width, scale=residual if part == "o" else 0.02)
                    for part in "qkvo"},
                 **{f"b{part}": zeros(width) for part in "qkvo"}},
        "mlp": {"w1": normal(width, hidden), "b1": zeros(hidden),
                "w2": normal(hidden, width, scale=residual), "b2": zeros(width)},
    } for _ in range(config.layers)]
    params = {"wte": normal(config.vocab, width), "wpe": normal(config.context, width),
              "blocks": blocks, "ln_f": norm()}
    return {"params": params, "optimizer": {"mu": zeros_like(params), "nu": zeros_like(params),
                                            "step": np.zeros((), np.int32)}}


def zeros_like(tree):
    if isinstance(tree, dict):
        return {key: zeros_like(child) for key, child in tree.items()}
    if isinstance(tree, list):
        return [zeros_like(child) for child in tree]
    return np.zeros_like(tree)


def batch(config, size, number):
    """Random tokens are as good as text for speed; every system sees the same."""
    random = np.random.default_rng(number % DISTINCT_BATCHES)
    tokens = random.integers(0, config.vocab, (size, config.context + 1), np.int32)
    return tokens[:, :-1].copy(), tokens[:, 1:].copy()


# ===----------------------------------------------------------------------===
# What is measured
# ===----------------------------------------------------------------------===


def peak():
    """Operations a second that the device promises, or None."""
    if not shutil.which("nvidia-smi"):
        return None
    # Of the devices that the driver shows, the first.
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    name = subprocess.run(
        ["nvidia-smi", *([f"--id={visible}"] if visible else []), "--query-gpu=name",
         "--format=csv,noheader"], capture_output=True, text=True).stdout
    return next((value for word, value in PEAKS.items() if word in name), None)


def figures(config, size, seconds):
    """What the table says of the median of some steps."""
    median = statistics.median(seconds)
    rate = size * config.context / median
    of_peak = peak()
    return {"batch": size, "seconds": median, "tokens_per_second": rate,
            "mfu": of_peak and rate * config.flops_per_token / of_peak}


def train(trainer, arguments, size):
    """Losses of all steps and seconds of the timed ones. All that a step copies to the device is
    its tokens, and all that it copies back is its loss."""
    losses, seconds = [], []
    for number in range(arguments.warmup + arguments.steps):
        tokens, targets = batch(arguments.config, size, number)
        started = time.perf_counter()
        losses.append(trainer.step(tokens, targets))
        seconds.append(time.perf_counter() - started)
    return losses, seconds[arguments.warmup:]


def norm(arrays):
    """Of all parameters after the last step: it shows what the loss of few steps does not, the
    decay say."""
    return sum(float(np.sum(np.square(array, dtype=np.float64))) for array in arrays) ** 0.5


def measure(description, make, is_too_large):
    """Trains with the largest batch that fits and prints what was found, as JSON in the last
    line. `is_too_large(error)` tells the end of the device's memory from other failures."""
    arguments = parse(description)
    state = first_state(arguments.config)
    for size in arguments.batches:
        trainer = None
        try:
            trainer = make(arguments, state, size)
            losses, seconds = train(trainer, arguments, size)
            break
        except Exception as error:
            if not is_too_large(error) or size == arguments.batches[-1]:
                raise
            print(f"batch {size}: {str(error).splitlines()[0]}", flush=True)
        # The failure is forgotten here, and with it the frames that hold memory.
        del trainer
        gc.collect()
    print(json.dumps({
        **figures(arguments.config, size, seconds), "losses": losses,
        "norm": norm(trainer.parameters()), **getattr(trainer, "more", dict)()}))
