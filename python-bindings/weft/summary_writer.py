# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of a training run for TensorBoard.

    with weft.SummaryWriter("runs/first") as writer:
        for step in range(steps):
            writer.add_scalar("loss", loss, step)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import distributed


class SummaryWriter:
    """Writes scalars to an event file in `log_dir`, through the writer of the package ``tensorboard``, which must
    be installed. Methods are named as those of the class of PyTorch. In a job of several processes each
    may make one, and process 0 writes."""

    def __init__(self, log_dir: str | os.PathLike):
        self._writer = None
        if distributed.process_index() != 0:
            return
        try:
            from tensorboard.summary import Writer
        except ImportError as error:
            raise ImportError("weft.SummaryWriter needs the package tensorboard (pip install tensorboard): "
                              f"{error}") from None
        self._writer = Writer(os.fspath(log_dir))

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int) -> None:
        """A number of a step; anything that `float` takes."""
        if self._writer:
            self._writer.add_scalar(tag, float(scalar_value), global_step)

    def add_scalars(self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int) -> None:
        """Several, each with the tag ``main_tag/tag``."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step)

    def flush(self) -> None:
        """Returns when all that was added is in the file."""
        if self._writer:
            self._writer.flush()

    def close(self) -> None:
        if self._writer:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
