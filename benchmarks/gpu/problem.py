# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2 as all systems train it, and what its speed is compared with."""

import argparse
import dataclasses
import json
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
        return 6 * self.parameters + 6 * self.layers * self.width * self.context


SIZES = {"124M": Config(12, 768, 12), "1558M": Config(48, 1600, 25)}
# From the largest that an H200 holds down; each system takes the first that fits.
BATCHES = {"124M": (64, 48, 32, 16, 8, 4), "1558M": (32, 24, 16, 8, 4, 2, 1)}
# Dense products of bfloat16, by a word of the device's name.
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "B200": 2250e12}


def parse(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--size", choices=SIZES, default="124M")
    parser.add_argument("--batch", type=int, help="sequences a step (default: what fits)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--target", default="cuda:sm_90", help="Weft only")
    arguments = parser.parse_args()
    arguments.config = SIZES[arguments.size]
    arguments.batches = (arguments.batch,) if arguments.batch else BATCHES[arguments.size]
    return arguments


def batch(config, size, seed):
    """Random bytes are as good as text for speed; every system sees the same."""
    tokens = np.random.default_rng(seed).integers(0, config.vocab, (size, config.context + 1), np.int32)
    return tokens[:, :-1].copy(), tokens[:, 1:].copy()


def peak():
    name = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout
    return next((value for word, value in PEAKS.items() if word in name), None)


def time_steps(step, arguments, size):
    """Median seconds of `step(tokens, targets)`, which returns when the device is done."""
    seconds = []
    for number in range(arguments.warmup + arguments.steps):
        tokens, targets = batch(arguments.config, size, number)
        started = time.perf_counter()
        loss = step(tokens, targets)
        if number >= arguments.warmup:
            seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), float(loss)


def report(arguments, size, seconds, loss, **more):
    rate = size * arguments.config.context / seconds
    of_peak = peak()
    print(json.dumps({
        "batch": size, "seconds": seconds, "tokens_per_second": rate, "loss": loss,
        "mfu": of_peak and rate * arguments.config.flops_per_token / of_peak, **more}))
