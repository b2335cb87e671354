# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model of the comparison with XLA consists of, and its training step.

Models are plain JAX without constraints on activations. Their weights are
annotated by tables of kinds: the first pattern that the end of a parameter's path
matches says of each of its last dimensions what may split it.

    "tp"     tensor parallelism
    "fsdp"   fully sharded data parallelism
    "rows"   the rows of an embedding table, over every axis that splits weights
    None     nothing
"""

import dataclasses
import re
from typing import Any, Callable

import jax
import jax.numpy as jnp
import jax_models

SIZES = ("small", "large")


@dataclasses.dataclass(frozen=True)
class Model:
    about: str
    sizes: dict[str, Any]
    """The configuration of each size."""
    init: Callable
    """`(key, config) -> params`, a tree of dicts and lists."""
    loss: Callable
    """`(params, batch, config) -> loss`, or `-> (loss, fixed)` with new values of entries of
    `fixed`."""
    batch: Callable
    """`(key, config) -> batch`, a dict of arrays whose first dimension is the batch."""
    kinds: list[tuple[str, tuple]] = dataclasses.field(default_factory=list)
    """Patterns of this model, before those that every model has."""
    optimizer: str = "sgd"
    """Or "adamw", with clipping by the global norm."""
    fixed: tuple[str, ...] = ()
    """Entries of the parameters that are not trained."""
    images: tuple[str, ...] = ()
    """Entries of the batch whose second dimension is one of space."""


def batch_kinds_of(model, path, ndim):
    """The kind of each dimension of an entry of the batch."""
    kinds = ("batch",) + (None,) * (ndim - 1)
    if any(path == f"['{name}']" for name in model.images):
        kinds = ("batch", "space") + (None,) * (ndim - 2)
    return kinds


def sgd(rate=1e-2):
    def update(grads, state, params):
        del params
        return jax.tree.map(lambda g: -rate * g, grads), state

    return jax_models.Optimizer(lambda params: {}, update)


OPTIMIZERS = {"sgd": sgd, "adamw": jax_models.adamw}


def _split(params, names):
    """(trained, fixed)"""
    return ({k: v for k, v in params.items() if k not in names},
            {k: v for k, v in params.items() if k in names})


def init_state(model, key, config):
    params = model.init(key, config)
    trained, _ = _split(params, model.fixed)
    return {"params": params, "optimizer": OPTIMIZERS[model.optimizer]().init(trained)}


def train_step(model, config):
    """`(state, batch) -> (state, loss)`"""
    optimizer = OPTIMIZERS[model.optimizer]()

    def step(state, batch):
        trained, fixed = _split(state["params"], model.fixed)

        def loss_of(trained):
            out = model.loss({**trained, **fixed}, batch, config)
            return out if isinstance(out, tuple) else (out, {})

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(trained)
        updates, moments = optimizer.update(grads, state["optimizer"], trained)
        params = {**jax.tree.map(jnp.add, trained, updates), **fixed, **new}
        return {"params": params, "optimizer": moments}, loss

    return step


def kinds_of(model, path, ndim):
    """The kind of each dimension of a parameter."""
    for pattern, kinds in [*model.kinds, *jax_models.PARAMETER_KINDS]:
        if re.search(pattern + "$", path):
            return (None,) * (ndim - len(kinds)) + kinds
    return (None,) * ndim
