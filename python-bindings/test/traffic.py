# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a layer adds to what ranks exchange in a step, under any way to train in parallel.

    per_layer("gpt2", "dp")     {("all_reduce", ("data",)): Traffic(count=16, bytes=59808.0)}

A step of two layers less one of one layer. The optimizer does not clip, since the one
norm of all gradients is no part of a layer.
"""

import collections
import dataclasses
import functools
import pathlib
import re
from typing import NamedTuple

from parallelisms import PARALLELISMS
from tiny_models import MODELS, Model

import weft
from weft import optim


class Traffic(NamedTuple):
    """Collectives of a kind over some axes, and the bytes that a rank sends in them."""

    count: int
    bytes: float


def of_layers(name: str, layers: int) -> Model:
    model = MODELS[name]
    return dataclasses.replace(model, config=dataclasses.replace(model.config, layers=layers))


# All devices as near; calls cost little beside bytes, as they do where tensors are large.
UNIFORM = pathlib.Path(__file__).parents[2] / "test/Partition/Inputs/uniform.toml"


def compiled_step(model: Model, way: str, optimizer=optim.adamw(1e-3), combined=False,
                  constrained=True, **options) -> weft.Compiled:
    """The plan of a step, without machine code; unless `combined`, no collective stands for
    several; unless `constrained`, nothing is said of activations."""
    parallelism, params = PARALLELISMS[way], model.params()
    state = {"params": params, "optimizer": weft.eval_shape(optimizer.init, params)}
    layout = parallelism.layout(params, constrained)
    step = model.train_step(optimizer, parallelism.wrap, **options)
    batch = weft.tree.map(lambda steps: steps[0], model.batches(1))
    return weft.jit(step, layout=layout, in_shardings=parallelism.in_shardings(layout, state),
                    donate_argnums=0).lower(state, batch).compile(
                        None, combine_collectives=combined, cluster=UNIFORM)


def traffic(plan: weft.Compiled) -> dict[tuple, Traffic]:
    """By kind and axes; those that a call combines count one by one."""
    sums = collections.defaultdict(lambda: Traffic(0, 0))
    for c in plan.collectives():
        combined = re.match(r"(\d+) collectives in one:", c.cause)
        count, bytes_ = sums[c.kind, c.axes]
        sums[c.kind, c.axes] = Traffic(count + c.count * (int(combined[1]) if combined else 1),
                                       bytes_ + c.count * c.bytes)
    return dict(sums)


@functools.cache
def per_layer(name: str, way: str, **options) -> dict[tuple, Traffic]:
    one, two = (traffic(compiled_step(of_layers(name, layers), way, **options))
                for layers in (1, 2))
    added = {key: Traffic(*(b - a for a, b in zip(one.get(key, (0, 0)), two[key]))) for key in two}
    return {key: value for key, value in added.items() if value.count}
