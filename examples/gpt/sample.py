# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text by a trained GPT: one byte after the other, each drawn from what the model expects.

    python examples/gpt/sample.py build/gpt --prompt "You may"
"""

import argparse
import dataclasses
import pathlib
import sys
from functools import partial

import numpy as np
from tqdm import tqdm

import checkpoint
import model
import weft


def next_byte(params, tokens, last, config):
    """The logits after tokens[0, last]; what is behind it is not looked at."""
    # No expert drops a position, whatever stands behind it.
    config = dataclasses.replace(config, capacity=None)
    features, _ = model.features(params, tokens, config)
    return model.logits(params, features[0, last])


def generate(params, config, prompt, length, temperature, seed):
    """The prompt and `length` bytes more."""
    text = list(prompt)
    random = np.random.default_rng(seed)
    compiled = weft.jit(partial(next_byte, config=config)).lower(
        params, np.zeros((1, config.context), np.int32), np.int32(0)).compile()
    session, entry = compiled.session(), compiled.entry
    for name, value in weft.tree.flatten_with_paths(params, "params")[0]:
        session.set_input(entry.name, name, value)
    for _ in tqdm(range(length), desc="sampling", unit="byte", leave=False, disable=None):
        window = text[-config.context:]
        tokens = np.zeros((1, config.context), np.int32)
        tokens[0, :len(window)] = window
        session.set_input(entry.name, "tokens", tokens)
        session.set_input(entry.name, "last", np.int32(len(window) - 1))
        session.run(entry.name)
        logits = session.output(entry.outputs[0].name).astype(np.float64)
        text.append(draw(logits, temperature, random))
    return bytes(text).decode("utf-8", "replace")


def draw(logits, temperature, random):
    """A byte with probability softmax(logits / temperature)."""
    if temperature == 0:
        return int(np.argmax(logits))
    weights = np.exp((logits - logits.max()) / temperature)
    return int(random.choice(len(weights), p=weights / weights.sum()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="the --out of train.py")
    parser.add_argument("--prompt", default="This License ")
    parser.add_argument("--length", type=int, default=300, help="bytes (300)")
    parser.add_argument("--temperature", type=float, default=0.7, help="0 takes the likeliest (0.7)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    try:
        found = checkpoint.read(args.folder)
        config, params = model.config_of(found.settings), checkpoint.params(found)
    except (ValueError, weft.ExecutionError) as error:
        sys.exit(f"error: {error}")
    print(generate(params, config, args.prompt.encode(), args.length, args.temperature, args.seed))


if __name__ == "__main__":
    main()
