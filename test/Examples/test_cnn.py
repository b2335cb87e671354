# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A convolutional network learns handwritten digits, on any number of ranks."""

import sys

import numpy as np
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "examples" / "cnn"))

import digits  # noqa: E402
import train_digits  # noqa: E402


def test_four_ranks_recognize_digits(capsys):
    train_digits.main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert float(lines[-1].split()[-2]) > 97


def test_the_number_of_ranks_changes_no_loss():
    one, two = (list(train_digits.train(ranks, epochs=2)) for ranks in (1, 2))
    np.testing.assert_allclose([loss for loss, _ in one], [loss for loss, _ in two], rtol=1e-4)


def test_digits_are_held_out():
    (images, labels), (held, _) = digits.load()
    assert images.shape == (1437, 8, 8, 1) and held.shape == (360, 8, 8, 1)
    assert images.min() == 0 and images.max() == 1 and set(labels) == set(range(10))
    # Each digit is once in an epoch, as far as it fills batches.
    seen = np.concatenate([batch for batch, _ in digits.batches((np.arange(1437), labels), 64, epoch=3)])
    assert len(seen) == len(set(seen)) == 1437 // 64 * 64


def test_wrong_arguments():
    with pytest.raises(SystemExit, match="error: Mesh axis sizes must be at least 1"):
        train_digits.main(["--ranks", "0"])
