# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case of the comparison: a model, a strategy and a size."""

import dataclasses

import jax
from jax.sharding import NamedSharding, PartitionSpec as P
from xla_models import MODELS
from xla_models.model import batch_kinds_of, init_state, kinds_of, train_step

from .strategies import STRATEGIES


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    strategy: str
    size: str

    @property
    def name(self):
        return f"{self.model} {self.strategy} {self.size}"

    def step(self):
        """(the jitted step, the shapes of its arguments)"""
        model, strategy = MODELS[self.model], STRATEGIES[self.strategy]
        config = model.sizes[self.size]
        mesh = strategy.make_mesh()
        key = jax.random.key(0)
        state = jax.eval_shape(lambda key: init_state(model, key, config), key)
        batch = jax.eval_shape(lambda key: model.batch(key, config), key)
        states = strategy.shardings(mesh, state, lambda path, ndim: kinds_of(model, path, ndim))
        batches = strategy.shardings(mesh, batch,
                                     lambda path, ndim: batch_kinds_of(model, path, ndim))
        step = jax.jit(train_step(model, config), in_shardings=(states, batches),
                       out_shardings=(states, NamedSharding(mesh, P())), donate_argnums=0)
        return step, (state, batch)
