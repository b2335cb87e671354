# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Event files for TensorBoard, read back by its own package."""

import sys

import numpy as np
import pytest

import weft

tensorboard = pytest.importorskip("tensorboard", reason="tensorboard is not installed (scripts/setup.sh)")


def test_scalars_come_back(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    with weft.SummaryWriter(tmp_path / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss", np.float32(2.5) - step, step)
        writer.add_scalars("rank", {"0": 1, "1": 2}, 2)
    found = EventAccumulator(str(tmp_path / "run"))
    found.Reload()
    assert found.Tags()["tensors"] == ["loss", "rank/0", "rank/1"]
    assert [(event.step, make_ndarray(event.tensor_proto).item()) for event in found.Tensors("loss")] == [
        (0, 2.5), (1, 1.5), (2, 0.5)]
    writer.add_scalar("loss", 0, 3)  # after the end: nothing


def test_other_processes_write_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(weft.distributed, "process_index", lambda: 1)
    with weft.SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.flush()
    assert not (tmp_path / "run").exists()


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    with pytest.raises(ImportError, match=r"weft.SummaryWriter needs the package tensorboard \(pip install tensorboard\)"):
        weft.SummaryWriter(tmp_path)
