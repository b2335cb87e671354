# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equal input, equal bytes: plans, losses and states."""

import numpy as np


def test_two_compiles_are_byte_equal(workshop, layout):
    first = workshop.plan(layout)
    second = workshop.plan(layout, copy=1)
    assert first.read_bytes() == second.read_bytes()


def test_two_runs_are_bit_equal(workshop, layout):
    first, second = (workshop.training(layout, copy=copy, steps=20) for copy in (1, 2))
    np.testing.assert_array_equal(first.losses, second.losses)
    for name, value in first.states.items():
        np.testing.assert_array_equal(value, second.states[name], err_msg=name)
