# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A text as bytes, and the batches of a step.

A batch depends on the text, the seed and the number of the step alone, so that a run
that goes on where another stopped sees what that one would have seen.
"""

import dataclasses
import hashlib
import pathlib

import numpy as np

LICENCES = pathlib.Path("/usr/share/common-licenses")
VALIDATION = 10  # a part in this many of the text is held back


@dataclasses.dataclass(frozen=True)
class Text:
    training: np.ndarray
    validation: np.ndarray

    @property
    def digest(self):
        """What tells this text from another."""
        whole = self.training.tobytes() + self.validation.tobytes()
        return hashlib.sha256(whole).hexdigest()[:16]


def files(given):
    """The files of --data, or the licence texts that Debian systems have."""
    if given:
        return [pathlib.Path(path) for path in given]
    return sorted(path for path in LICENCES.glob("*") if path.is_file() and not path.is_symlink())


def read(paths):
    """The bytes of some files, one after the other; the end of them is for validation."""
    if not paths:
        raise ValueError(f"{LICENCES} has no texts; name files with --data")
    whole = np.frombuffer(b"".join(path.read_bytes() for path in paths), np.uint8)
    cut = len(whole) - len(whole) // VALIDATION
    return Text(whole[:cut], whole[cut:])


def batch(text, size, context, *numbers):
    """(tokens, targets), each [size, context], at positions drawn from some numbers."""
    starts = np.random.default_rng(numbers).integers(0, len(text) - context, size)
    rows = text[starts[:, None] + np.arange(context + 1)].astype(np.int32)
    return rows[:, :-1], rows[:, 1:]
