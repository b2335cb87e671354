# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every model x number of stages x parallelism inside of stages x schedule: 20 steps have the bits
of the plan without a pipeline, and losses within 1e-5 of one device without boundaries. Without
`--whole-grid` a few cases only:

    pytest python-bindings/test/test_pipeline_grid.py --whole-grid
"""

import itertools

import numpy as np
import pytest
from staged_models import equal_bits
from test_pipelines import SCHEDULES, WHOLE, train, without

import weft

WAYS = [None, "dp", "tp", "fsdp"]
# Behind which blocks there are boundaries, by the number of stages.
CUTS = {2: (1,), 4: (0, 1, 2)}


def grid():
    """In an order in which cases that are compared with the same plan follow each other."""
    return itertools.product(WHOLE, WAYS, CUTS, SCHEDULES)


def some():
    """Each model with another parallelism; test_pipelines.py has all schedules."""
    return zip(WHOLE, WAYS, itertools.cycle(CUTS), list(SCHEDULES)[1::3], strict=False)


def pytest_generate_tests(metafunc):
    cases = grid() if metafunc.config.getoption("--whole-grid") else some()
    metafunc.parametrize("name, way, stages, schedule", list(cases))


def test_the_grid(name, way, stages, schedule):
    ranks = stages // SCHEDULES[schedule]
    pipeline = weft.Pipeline("pipe", schedule, chunks=SCHEDULES[schedule])
    found = train(name, CUTS[stages], pipeline, ranks, way)
    equal_bits(found, without(name, CUTS[stages], way=way))
    np.testing.assert_allclose(found[0], without(name, ())[0], rtol=1e-5)

