# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT learns a text that can be learnt, and says it."""

import numpy as np
import pytest

import checkpoint
import model
import sample
from conftest import Training, run

LINE = "to be or not to be, "
ARGUMENTS = ("--layers=1 --width=64 --heads=4 --context=32 --batch=8 --steps=300 "
             "--learning-rate=3e-3 --eval-every=300 --temperature=0 --length=40").split()


@pytest.fixture(scope="module")
def parrot(tmp_path_factory):
    """What is printed by a run on a text of one line, and the checkpoint."""
    folder = tmp_path_factory.mktemp("parrot")
    (folder / "text").write_text(LINE * 50)
    printed = run(*ARGUMENTS, "--data", folder / "text", "--prompt", LINE, "--out", folder,
                  "--mesh=data=2,model=2", "--parallel=fsdp+tp")
    return printed, checkpoint.read(folder)


def test_it_learns_and_repeats(parrot):
    printed, found = parrot
    training = Training(found.folder)
    assert training.losses[0] > 5 and training.losses[-1] < 0.1
    assert printed.endswith(f"\n\n{LINE}{LINE}{LINE}\n")


def test_a_prompt_may_be_longer_than_the_context(parrot):
    found = parrot[1]
    config = model.config_of(found.settings)
    params = checkpoint.params(found)
    text = sample.generate(params, config, (LINE * 3).encode(), 20, 0, 0)
    assert text == LINE * 4


def test_sampling_from_a_file(parrot, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sample.py", str(parrot[1].folder), "--prompt", "to be ",
                                     "--length", "14", "--temperature", "0"])
    sample.main()
    assert capsys.readouterr().out == LINE + "\n"


def test_draws_follow_the_temperature():
    logits, random = np.log([0.1, 0.2, 0.7]), np.random.default_rng(0)
    draws = np.bincount([sample.draw(logits, 1.0, random) for _ in range(5000)], minlength=3) / 5000
    np.testing.assert_allclose(draws, [0.1, 0.2, 0.7], atol=0.02)
    assert {sample.draw(logits, 0, random) for _ in range(20)} == {2}
    cold = np.bincount([sample.draw(logits, 0.5, random) for _ in range(5000)], minlength=3) / 5000
    np.testing.assert_allclose(cold, np.square([0.1, 0.2, 0.7]) / 0.54, atol=0.02)
