# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: trees of arrays and the states of sessions in folders of .safetensors files.

    weft.save("run", {"params": params, "optimizer": state}, step=100)
    ...
    restored = weft.restore("run", like={"params": params, "optimizer": state})

A checkpoint is written while the program goes on, and is there whole or not at all. It does not
depend on the mesh nor on the number of processes; `shard-run --resume` reads it, too.
"""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import distributed
from . import tree as trees
from .arguments import type_text
from .diagnostics import ExecutionError
from .dtypes import as_tensor, dtype_named
from .names import escape, unescape

# By the folder, and whether all processes of the job write to it: with the number that is kept.
_writers: dict[tuple[str, bool], tuple[int, Any]] = {}


class Saving:
    """A checkpoint that is being written to the folder `path`."""

    def __init__(self, writer: Any, path: str):
        # None in a process that has no part of it.
        self._writer, self.path = writer, path

    def wait(self) -> None:
        """Returns when it is on disk, or raises the `ExecutionError` that says why it is not. The
        next `save` to the folder waits as well, and so does the end of the program."""
        if self._writer is not None:
            self._writer.wait()

    def __repr__(self) -> str:
        return f"Saving({self.path!r})"


def _path(directory: str | os.PathLike, step: int) -> str:
    return os.path.join(os.path.abspath(os.fsdecode(directory)), f"step-{step:08}")


def save(
    directory: str | os.PathLike,
    tree: Any,
    *,
    step: int,
    keep: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Saving:
    """Writes a tree of arrays to the folder ``step-00000100`` in `directory`, and returns when
    they are copied: the program may change them while they are written. All processes of a job call it with
    the same arrays, and each writes a part.

    A tree that is a dict gives its tensors the names of arguments, ``params['w1']``: those that a plan has
    for its states. `keep` is how many checkpoints stay (all if it is None), and `metadata` are texts
    for `saved_metadata`. Raises the failure of the save before, if nobody has waited for it.
    """
    names, leaves, _ = _flatten(tree)
    tensors = [as_tensor(np.asarray(leaf)) for leaf in leaves]
    return begin(directory, step, keep, distributed.job(),
                 lambda writer: writer.save(step, dict(metadata or {}), [*map(escape, names)], tensors))


def begin(
    directory: str | os.PathLike, step: int, keep: int | None, job: Any, write: Callable[[Any], None]
) -> Saving:
    """Lets `write` begin a checkpoint by the writer of the folder."""
    if step < 0:
        raise ValueError(f"step must be at least 0, got {step}")
    writer = writer_of(directory, keep, job)
    if writer is not None:
        write(writer)
    return Saving(writer, _path(directory, step))


def writer_of(directory: str | os.PathLike, keep: int | None, job: Any) -> Any:
    """The writer of a folder; None in a process that has no part of what is written."""
    from . import _runtime

    if keep is not None and keep < 1:
        raise ValueError(f"keep must be at least 1, or None for all, got {keep}")
    path = os.path.abspath(os.fsdecode(directory))
    if job is None and distributed.process_index() > 0:
        # What every process has alone, the first one writes.
        return None
    key = path, job is not None
    kept, writer = _writers.get(key, (None, None))
    if kept != (keep or 0):
        # A writer removes what is unfinished when it opens the folder.
        for (other, _), (_, earlier) in _writers.items():
            if other == path:
                earlier.wait()
        writer = _runtime.CheckpointWriter.open(path, keep or 0, job)
        _writers[key] = keep or 0, writer
    return writer


def restore(
    directory: str | os.PathLike,
    like: Any = None,
    *,
    step: int | None = None,
    skip_damaged: bool = False,
) -> Any:
    """The arrays of the last checkpoint in a folder, or of that of a `step`, as a tree like
    `like`, whose leaves have shapes and dtypes; without it, as a dict by name. Tensors that `like`
    does not have are not read.

    A missing, truncated or changed file raises an `ExecutionError` that names it and its tensors;
    with `skip_damaged` the last checkpoint that is not damaged is taken, with a `RuntimeWarning`.
    """
    return try_steps(directory, step, skip_damaged, lambda step, path: _read(path, like))


def try_steps(
    directory: str | os.PathLike, step: int | None, skip_damaged: bool, read: Callable[[int, str], Any]
) -> Any:
    """What `read` makes of the last checkpoint that it does not find damaged, or of that of a step."""
    found = _folders(directory)
    if step is not None:
        found = [each for each in found if each[0] == step]
    if not found:
        which = "no checkpoint" if step is None else f"no checkpoint of step {step}"
        steps = ", ".join(str(each) for each in saved_steps(directory))
        there = f"; there are those of steps {steps}" if steps else ""
        raise FileNotFoundError(f"{os.fsdecode(directory)}: {which}{there}")
    while True:
        try:
            return read(*found.pop())
        except ExecutionError as error:
            if not skip_damaged or not found or error.code == "invalid_argument":
                raise
            warnings.warn(f"skipped a damaged checkpoint: {error}", RuntimeWarning, stacklevel=4)


def saved_steps(directory: str | os.PathLike) -> list[int]:
    """The steps of the checkpoints in a folder, in order; none if it does not exist."""
    return [step for step, _ in _folders(directory)]


def saved_metadata(directory: str | os.PathLike, *, step: int | None = None) -> dict[str, str]:
    """What `save` was given as metadata, for the last checkpoint or that of a step."""
    from . import _runtime

    return try_steps(directory, step, False, lambda step, path: _runtime.Checkpoint.open(path).metadata)


def _folders(directory: str | os.PathLike) -> list[tuple[int, str]]:
    from . import _runtime

    return _runtime.list_checkpoints(os.fsdecode(directory))


def _flatten(tree: Any) -> tuple[list[str], list[Any], trees.TreeDef]:
    """The names, leaves and structure of a tree. A dict is one of arguments by name."""
    keys = trees.structure(tree).nodes[0]
    roots = keys.aux[0] if keys is not None and issubclass(keys.kind, dict) else ""
    named = all(isinstance(root, str) for root in roots)
    leaves, structure = trees.flatten_with_keys(tree)
    if not roots or not named:
        return [trees.keystr(path) for path, _ in leaves], [leaf for _, leaf in leaves], structure
    names = [path[0].value + trees.keystr(path[1:]) for path, _ in leaves]
    return names, [leaf for _, leaf in leaves], structure


def _read(path: str, like: Any) -> Any:
    from . import _runtime

    checkpoint = _runtime.Checkpoint.open(path)
    found = {unescape(name): (i, dtype_named(dtype), shape)
             for i, (name, dtype, shape) in enumerate(checkpoint.tensors)}

    def array(name: str) -> np.ndarray:
        number, dtype, shape = found[name]
        return checkpoint.read(number).view(dtype).reshape(shape)

    if like is None:
        return {name: array(name) for name in found}
    names, leaves, structure = _flatten(like)
    problems = [problem for name, leaf in zip(names, leaves) if (problem := _misfit(name, leaf, found.get(name)))]
    if problems:
        raise ValueError(f"{path} is not like the tree:\n  " + "\n  ".join(problems))
    return structure.unflatten([array(name) for name in names])


def _misfit(name: str, leaf: Any, found: tuple | None) -> str:
    """What is wrong with the tensor of a leaf, if anything is."""
    if found is None:
        return f"{name} is not in it"
    shape, dtype = np.shape(leaf), getattr(leaf, "dtype", None) or np.asarray(leaf).dtype
    if (shape, dtype) == (tuple(found[2]), found[1]):
        return ""
    return f"{name} is {type_text(found[1], found[2])} in it and {type_text(dtype, shape)} in the tree"


@atexit.register
def _finish() -> None:
    for _, writer in _writers.values():
        try:
            writer.wait()
        except ExecutionError as error:
            print(f"error: {error}", file=sys.stderr)
    _writers.clear()
