# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every way to train on several devices gives the numbers of one."""

import functools

import numpy as np
import pytest
from parallelisms import PARALLELISMS
from running import train
from tiny_models import MODELS, adamw

from weft import tree

STEPS = 50


@functools.cache
def on_one_device(name):
    model = MODELS[name]
    return train(model.train_step(adamw()), model.state(adamw()), model.batches(STEPS))


LLAMA = ("tp+sp+vocab", "fsdp+checkpoint", "hybrid", "zero1+tp", "dp+fsdp+tp")


@pytest.mark.parametrize("name, way", [*(("gpt2", way) for way in PARALLELISMS),
                                       *(("llama", way) for way in LLAMA)])
def test_the_numbers_of_one_device(name, way):
    model, way = MODELS[name], PARALLELISMS[way]
    losses, expected = on_one_device(name)
    state = model.state(adamw())
    layout = way.layout(state["params"])
    found, final = train(model.train_step(adamw(), way.wrap), state, model.batches(STEPS),
                         layout=layout, in_shardings=way.in_shardings(layout, state))
    np.testing.assert_allclose(found, losses, rtol=2e-5)
    for (path, a), b in zip(tree.flatten_with_paths(final["params"])[0],
                            tree.leaves(expected["params"]), strict=True):
        assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b), path
