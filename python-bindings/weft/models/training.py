# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`TrainingStep`: a model with an optimizer, and where all of it is."""

from __future__ import annotations

import dataclasses
import itertools
import math
from functools import partial
from typing import Any

import weft
import weft.numpy as wnp
from weft import optim

from .attention import causal_attention
from .parallelism import Parallelism
from .shapes import array
from .sizes import Sizes

_POLICIES = {"selective": weft.checkpoint_policies.dots_saveable,
             "alternate": weft.checkpoint_policies.save_only_these_names("alternate", "attended"),
             "full": weft.checkpoint_policies.nothing_saveable,
             "whole": weft.checkpoint_policies.nothing_saveable}


@dataclasses.dataclass(frozen=True)
class TrainingStep:
    """The step of a model with AdamW, on the ranks that `parallelism` says."""

    name: str
    sizes: Sizes
    parallelism: Parallelism
    model: Any

    @property
    def parameters(self) -> int:
        """How many numbers the model has."""
        return sum(math.prod(leaf.shape) for leaf in weft.tree.leaves(self.model.parameters(self.sizes)))

    def optimizer(self) -> Any:
        """AdamW behind clipping to a global norm of 1."""
        return optim.chain(optim.clip_by_global_norm(1.0),
                           optim.adamw(3e-4, b1=0.9, b2=0.95, weight_decay=0.1))

    def state(self) -> Any:
        """The shapes of parameters and of the optimizer's state."""
        params = self.model.parameters(self.sizes)
        return {"params": params, "optimizer": weft.eval_shape(self.optimizer().init, params)}

    def batch(self) -> Any:
        """The shapes of a batch."""
        tokens = array(self.parallelism.global_batch, self.sizes.sequence, dtype="int32")
        return {"tokens": tokens, "targets": tokens}

    def jit(self) -> Any:
        """The compiled function (state, batch) -> (state, loss)."""
        layout = self.parallelism.layout(self.sizes, self.model)
        state = self.state()
        specs = {"params": layout.parameter_specs(state["params"]),
                 "optimizer": layout.optimizer_specs(state["optimizer"], state["params"])}
        return weft.jit(self._step(), layout=layout, donate_argnums=0,
                        in_shardings=(specs, self.parallelism.batch_spec()), out_shardings=(specs, weft.P()),
                        pipeline=self.parallelism.as_pipeline())

    def lower(self) -> Any:
        """The traced step, to be compiled."""
        return self.jit().lower(self.state(), self.batch())

    def unannotated(self) -> tuple[Any, tuple[Any, Any]]:
        """The step of one device, (state, batch) -> (state, loss), without a word of where anything is, and the shapes
        of its arguments: for `weft.auto`."""
        value_and_grad = weft.value_and_grad(partial(self.model.loss, config=self.sizes))
        adamw = self.optimizer()

        def train_step(state, batch):
            value, gradients = value_and_grad(state["params"], batch)
            updates, moments = adamw.update(gradients, state["optimizer"], state["params"])
            return {"params": optim.apply_updates(state["params"], updates), "optimizer": moments}, value

        return train_step, (self.state(), self.batch())

    def _step(self):
        loss = partial(self.model.loss, config=self.sizes, wrap=self._wrap(), attend=self._attend())
        value_and_grad = weft.microbatches(weft.value_and_grad(loss), self.parallelism.microbatches)
        adamw = self.optimizer()
        layout = self.parallelism.layout(self.sizes, self.model)

        def train_step(state, batch):
            value, gradients = value_and_grad(state["params"], batch)
            updates, moments = adamw.update(gradients, state["optimizer"], state["params"])
            params = optim.apply_updates(state["params"], updates)
            # With ZeRO-1 they are gathered here, which the constraint says is meant.
            params = weft.with_sharding_constraint(params, layout.rest)
            return {"params": params, "optimizer": moments}, value

        return train_step

    @property
    def _recomputes_scores(self) -> bool:
        """And nothing else, as scores are most of what a block without tiles keeps."""
        return self.parallelism.recomputation == "selective" and self.sizes.attention == "unfused"

    def _attend(self):
        return weft.checkpoint(causal_attention) if self._recomputes_scores else causal_attention

    def _wrap(self):
        """Recomputes blocks, and cuts behind those that end a stage."""
        policy = None if self._recomputes_scores else _POLICIES.get(self.parallelism.recomputation)
        again = _needs_its_value if self.parallelism.recomputation == "whole" else lambda x: x
        ends, numbers = stage_ends(self.sizes.layers, self.parallelism.stages), itertools.count()

        def wrap(block):
            called = weft.checkpoint(lambda params, x: again(block(params, x)), policy=policy) if policy else block
            is_end = next(numbers) in ends
            return lambda params, x: weft.stage_boundary(called(params, x)) if is_end else called(params, x)

        return wrap

    def __str__(self) -> str:
        p = self.parallelism
        axes = ", ".join(f"{n} {s}" for n, s in zip(p.mesh().axis_names, p.mesh().axis_sizes))
        return (f"{self.name} of {self.parameters:,} parameters, {axes}, {p.global_batch} sequences of "
                f"{self.sizes.sequence} in {p.microbatches} micro-batches")


def _needs_its_value(x: Any) -> Any:
    """Returns x by an op whose derivative reads x, so the backward pass recomputes what makes x."""
    return wnp.maximum(x, -math.inf)


def stage_ends(layers: int, count: int) -> set[int]:
    """The layers that end a stage, the last stage's left out. Stages have as many layers as others or
    one more, which those in the middle have first: the first has the embedding besides, the last the head."""
    least, more = divmod(layers, count)
    larger = [*range(1, count - 1), 0][:more]
    sizes = [least + (stage in larger) for stage in range(count - 1)]
    return {end - 1 for end in itertools.accumulate(sizes)}


def make_step(name: str, model: Any, settings: dict[str, Any]) -> TrainingStep:
    of_sizes = {f.name for f in dataclasses.fields(Sizes)}
    of_parallelism = {f.name for f in dataclasses.fields(Parallelism)}
    required = [f.name for f in dataclasses.fields(Sizes) if f.default is dataclasses.MISSING]
    problems = [f"unknown setting {key}; settings are {', '.join(sorted(of_sizes | of_parallelism))}"
                for key in settings if key not in of_sizes | of_parallelism]
    problems += [f"{key} is not given" for key in required if key not in settings]
    if not problems:
        sizes = Sizes(**{k: v for k, v in settings.items() if k in of_sizes})
        parallelism = Parallelism(**{k: v for k, v in settings.items() if k in of_parallelism})
        problems = sizes.problems() or model.problems(sizes) + parallelism.problems(sizes)
    if problems:
        raise ValueError(f"weft.models.{name}: " + "; ".join(problems))
    return TrainingStep(name, sizes, parallelism, model)
