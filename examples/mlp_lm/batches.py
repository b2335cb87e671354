# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts a text into training batches for the byte-level language model.

Writes x.npy (steps x 256 x 16, the context bytes) and y.npy (steps x 256, the
byte that follows each context), both int32, and prints the entropy of single
bytes: the loss of a model that ignores its context.

    python batches.py --steps 400 --out build/example
"""

import argparse
import pathlib
import sys

import numpy as np

BATCH = 256
CONTEXT = 16
DEFAULT_TEXT = "/usr/share/common-licenses/GPL-3"


def load_text(path):
    """The bytes of a file as an array."""
    text = np.frombuffer(pathlib.Path(path).read_bytes(), dtype=np.uint8)
    if len(text) <= CONTEXT:
        raise ValueError(f"{path} holds {len(text)} bytes, needs more than {CONTEXT}")
    return text


def cut_batches(text, steps, seed):
    """Contexts and targets at positions drawn uniformly with `seed`."""
    starts = np.random.default_rng(seed).integers(
        0, len(text) - CONTEXT, size=(steps, BATCH))
    x = text[starts[..., None] + np.arange(CONTEXT)].astype(np.int32)
    y = text[starts + CONTEXT].astype(np.int32)
    return x, y


def unigram_entropy(text):
    """Entropy of the byte frequencies, in nats."""
    counts = np.bincount(text, minlength=256)
    p = counts[counts > 0] / len(text)
    return float(-(p * np.log(p)).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", default=DEFAULT_TEXT)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    args = parser.parse_args()

    try:
        text = load_text(args.text)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    x, y = cut_batches(text, args.steps, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    np.save(args.out / "x.npy", x)
    np.save(args.out / "y.npy", y)
    print(f"{len(text)} bytes, {args.steps} batches of {BATCH}, "
          f"unigram entropy {unigram_entropy(text):.4f} nats")


if __name__ == "__main__":
    main()
