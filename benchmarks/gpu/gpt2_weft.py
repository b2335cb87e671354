# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of a GPT-2 in Weft: bfloat16, parameters and moments in float32, AdamW."""

import functools
import sys

import numpy as np

import problem
import weft
import weft_models
from weft import random



def first_state(config):
    """Parameters as GPT-2 starts; their values do not matter for speed."""
    keys = iter(random.split(random.key(0), 6 * config.layers + 2))

    def normal(*shape):
        return np.asarray(random.normal(next(keys), shape)) * 0.02

    def norm():
        return {"scale": np.ones(config.width, np.float32), "bias": np.zeros(config.width, np.float32)}

    width, hidden = config.width, 4 * config.width
    blocks = [{
        "ln1": norm(), "ln2": norm(),
        "attn": {**{f"w{part}": normal(width, width) for part in "qkvo"},
                 **{f"b{part}": np.zeros(width, np.float32) for part in "qkvo"}},
        "mlp": {"w1": normal(width, hidden), "b1": np.zeros(hidden, np.float32),
                "w2": normal(hidden, width), "b2": np.zeros(width, np.float32)},
    } for _ in range(config.layers)]
    params = {"wte": normal(config.vocab, width), "wpe": normal(config.context, width),
              "blocks": blocks, "ln_f": norm()}
    zeros = functools.partial(weft.tree.map, np.zeros_like)
    return {"params": params,
            "optimizer": {"mu": zeros(params), "nu": zeros(params), "step": np.zeros((), np.int32)}}


class Trainer:
    """A state that stays on the device from step to step."""

    def __init__(self, config, state, size, target, mesh=None, **options):
        tokens, targets = problem.batch(config, size, 0)
        loss = functools.partial(weft_models.gpt2_loss, config=config)
        placed = {"mesh": mesh, "in_shardings": (weft.P(), weft.P("data"))} if mesh else {}
        step = weft.jit(weft_models.train_step(loss, weft_models.adamw()), donate_argnums=0, **placed)
        compiled = step.lower(state, {"tokens": tokens, "targets": targets}).compile(target)
        self.entry = compiled.entry
        self.session = compiled.session(**options)
        for path, leaf in weft.tree.flatten_with_paths(state, "state")[0]:
            self.session.set_state(path, leaf)

    def step(self, tokens, targets):
        """The loss of a batch, when the device is done."""
        self.session.set_input(self.entry.name, "batch['tokens']", tokens)
        self.session.set_input(self.entry.name, "batch['targets']", targets)
        self.session.run(self.entry.name)
        return float(self.session.output(self.entry.outputs[-1].name))


def main():
    arguments = problem.parse(__doc__)
    state = first_state(arguments.config)
    for size in arguments.batches:
        try:
            trainer = Trainer(arguments.config, state, size, arguments.target)
            break
        except weft.ExecutionError as error:
            print(f"batch {size}: {error}", flush=True)
    else:
        sys.exit("no batch fits the device")
    seconds, loss = problem.time_steps(trainer.step, arguments, size)
    problem.report(arguments, size, seconds, loss)


if __name__ == "__main__":
    main()
