# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of a GPT-2 in Weft, and where the time of its step goes.

The model is python-bindings/test/weft_models.py, compiled for `--target`; the state stays on the
device. The first steps are traced, one after the other; later ones run as one graph.
"""

import functools
import pathlib
import statistics
import tempfile

import breakdown
import problem
import weft
import weft_models
from problem import first_state

TRACED_STEPS = 2


def compile_step(config, state, size, target, mesh=None):
    """The training step for batches of a size, over the mesh's axis "data" if there is one."""
    tokens, targets = problem.batch(config, size, 0)
    loss = functools.partial(weft_models.gpt2_loss, config=config)
    placed = {"mesh": mesh, "in_shardings": (weft.P(), weft.P("data"))} if mesh else {}
    step = weft.jit(weft_models.train_step(loss, weft_models.adamw()), donate_argnums=0, **placed)
    return step.lower(state, {"tokens": tokens, "targets": targets}).compile(target)


class Trainer:
    """A state that stays on the device from step to step."""

    def __init__(self, config, state, size, target, mesh=None, **options):
        compiled = compile_step(config, state, size, target, mesh)
        self.entry = compiled.entry
        self.session = compiled.session(**options)
        self.enqueues = []
        for path, leaf in weft.tree.flatten_with_paths(state, "state")[0]:
            self.session.set_state(path, leaf)

    def step(self, tokens, targets):
        """The loss of a batch, when the device is done."""
        self.session.set_input(self.entry.name, "batch['tokens']", tokens)
        self.session.set_input(self.entry.name, "batch['targets']", targets)
        self.session.run(self.entry.name)
        self.enqueues.append(self.session.last_run.enqueue)
        return float(self.session.output(self.entry.outputs[-1].name))

    def parameters(self):
        return [self.session.state(info.name) for info in self.entry.inputs
                if info.name.startswith("state['params']")]

    def more(self):
        """What the others do not tell: the host's part of a step, and the parts of the device's."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "trace.json")
            self.session.write_trace(path)
            parts = breakdown.of_trace(path)
        print(breakdown.text(parts), flush=True)
        # Of steps that run as a graph.
        return {"enqueue_seconds": statistics.median(self.enqueues[TRACED_STEPS + 1:] or self.enqueues),
                "parts": parts["parts"]}


def make(arguments, state, size):
    return Trainer(arguments.config, state, size, arguments.target, trace_runs=TRACED_STEPS)


def is_too_large(error):
    return isinstance(error, weft.ExecutionError) and error.code == "resource_exhausted"


if __name__ == "__main__":
    problem.measure(__doc__, make, is_too_large)
