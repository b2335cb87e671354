# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every layout trains as NumPy does and as one device does."""

import numpy as np
import pytest

import batches
import compare


def check_equal(training, expected):
    errors = compare.loss_errors(training.losses, expected.losses)
    assert errors.max() <= compare.LOSS_TOLERANCE, f"at step {errors.argmax()}"
    by_state = compare.state_errors(training.states, expected.states)
    worst = max(by_state, key=by_state.get)
    assert by_state[worst] <= compare.STATE_TOLERANCE, worst


def test_equals_numpy(workshop, layout):
    check_equal(workshop.training(layout), workshop.reference())


def test_equals_one_device(workshop, layout):
    if layout == "one-device":
        pytest.skip("is the one device")
    check_equal(workshop.training(layout), workshop.training("one-device"))


def test_learns_more_than_byte_frequencies(workshop, layout):
    entropy = batches.unigram_entropy(batches.load_text(batches.DEFAULT_TEXT))
    losses = workshop.training(layout).losses
    assert losses[0] == pytest.approx(np.log(256), abs=0.2)
    assert losses[-20:].mean() < entropy - 1


def test_init_does_not_depend_on_the_layout(workshop, layout):
    import reference
    states = workshop.training(layout, copy="init", steps=0).states
    expected = reference.init()
    assert states.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(states[name], value, err_msg=name)
