# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training step of the GPT, and its state on the ranks of a mesh."""

from functools import partial

import numpy as np

import checkpoint
import layouts
import model
import stages
import weft
from weft import optim


def optimizer(settings):
    """AdamW on clipped gradients; matrices decay, and norms do not."""
    peak = settings["learning-rate"]
    schedule = optim.warmup_cosine_decay_schedule(
        0.0, peak, settings["warmup"], settings["steps"], peak / 10
    )
    matrices = partial(weft.tree.map, lambda p: len(p.shape) > 1)
    return optim.chain(
        optim.clip_by_global_norm(1.0),
        optim.adamw(schedule, b1=0.9, b2=0.99, weight_decay=0.1, mask=matrices),
    )


def first_state(config, settings):
    """The state before the first step: whole arrays, as a checkpoint has them."""
    params = model.init(config, settings["seed"])
    return {"params": params, "optimizer": weft.jit(optimizer(settings).init)(params)}


def train_step(config, settings, cut=stages.Stages()):
    """(state, tokens, targets) -> (state, loss), of a model cut into stages."""
    loss = partial(model.loss, config=config, cuts=stages.cuts(config.layers, cut.count))
    value_and_grad = weft.microbatches(weft.value_and_grad(loss), cut.microbatches)
    adamw = optimizer(settings)

    def train_step(state, tokens, targets):
        value, gradients = value_and_grad(state["params"], tokens, targets)
        updates, moments = adamw.update(gradients, state["optimizer"], state["params"])
        return {"params": optim.apply_updates(state["params"], updates), "optimizer": moments}, value

    return train_step


def unstaged(axes):
    """The mesh without stages: that of the validation loss. A pipeline orders forward and backward
    passes, and there is no backward pass; the plan of the loss has all layers on each rank, and
    takes whole parameters, as a checkpoint has them."""
    rest = {axis: size for axis, size in axes.items() if axis != stages.AXIS}
    return weft.Mesh(tuple(rest.values()), tuple(rest))


class Trainer:
    """A state that stays on the ranks from step to step; none without a target."""

    def __init__(self, run, state, target):
        self.layout, batch = layouts.layout(run.modes, run.axes, run.config)
        self.specs = {
            "params": self.layout.parameter_specs(state["params"]),
            "optimizer": self.layout.optimizer_specs(state["optimizer"], state["params"]),
        }
        tokens = weft.ShapeDtypeStruct((run.settings["batch"], run.config.context), "int32")
        step = weft.jit(train_step(run.config, run.settings, run.stages), layout=self.layout,
                        in_shardings=(self.specs, batch, batch), donate_argnums=0,
                        pipeline=run.stages.pipeline)
        self.compiled = step.lower(state, tokens, tokens).compile(target)
        self._loss = weft.jit(partial(model.loss, config=run.config, balance=0.0), mesh=unstaged(run.axes),
                              in_shardings=(self.specs["params"], batch, batch))
        self._structure = weft.tree.structure(state)
        self._names = [path for path, _ in weft.tree.flatten_with_paths(state, "state")[0]]
        self._saving = None
        if target:
            self._session = self.compiled.session(deadline=300.0)
            for name, value in zip(self._names, weft.tree.leaves(state)):
                self._session.set_state(name, value)

    def step(self, tokens, targets):
        """The loss of a batch, before the state becomes the next."""
        entry = self.compiled.entry
        self._session.set_input(entry.name, "tokens", tokens)
        self._session.set_input(entry.name, "targets", targets)
        self._session.run(entry.name)
        return float(self._session.output(entry.outputs[-1].name))

    def save(self, run, done):
        """Begins to write a checkpoint after so many steps, which replaces the one before."""
        self._saving = self._session.save(run.args.out, step=done, keep=1,
                                          metadata=checkpoint.metadata(run.settings))

    def finish_save(self):
        """Returns when the last checkpoint is on disk."""
        if self._saving:
            self._saving.wait()

    def restore(self, found):
        """Takes the state from a checkpoint, of any mesh."""
        self._session.restore(found.folder, step=found.step)

    def state(self):
        """The state as whole arrays."""
        return self._structure.unflatten(self._session.state(name) for name in self._names)

    def evaluate(self, batches):
        """The mean loss of some batches."""
        params = self.state()["params"]
        return float(np.mean([self._loss(params, *batch) for batch in batches]))
