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

import hashlib
import itertools
import json
import operator
import os
import warnings
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import distributed
from . import tree as trees
from .arguments import type_text
from .arrays import (Array, HeldShard, held_shards, indices_answered_for, is_shared, make_array_from_callback,
                     ranks_with)
from .diagnostics import ExecutionError
from .dtypes import as_tensor, dtype_named, tensor_name
from .names import escape, unescape
from .sharding import Index, NamedSharding

# By the folder, and whether all processes of the job write to it.
_writers: dict[tuple[str, bool], Any] = {}


class Saving:
    """A checkpoint that is being written to the folder `path`."""

    def __init__(self, writer: Any, path: str):
        # None in a process that has no part of it.
        self._writer, self.path = writer, path

    def wait(self) -> None:
        """Returns when it is on disk, or raises the `ExecutionError` that says why it is not. The
        next `save` to the folder waits as well, and so does the end of the program, which then prints
        the failure and has the exit status 1."""
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
    the same arrays, and each writes a part: of a `weft.Array` what its ranks hold.

    A tree that is a dict gives its tensors the names of arguments, ``params['w1']``: those that a plan has
    for its states. `keep` is how many checkpoints stay (all if it is None), and `metadata` are texts
    for `saved_metadata`. Raises the failure of the save before, if nobody has waited for it. A step before
    the last one that the folder had when the program began is a failure: a program that resumes would continue
    from that one.
    """
    step, texts = operator.index(step), dict(metadata or {})
    if any(not isinstance(text, str) for pair in texts.items() for text in pair):
        raise TypeError(f"metadata must be texts by name, got {texts}")
    names, leaves, _ = _flatten(tree)
    leaves = [leaf if distributed.job() and is_shared(leaf) else np.asarray(leaf) for leaf in leaves]
    ranks = _compare_saved(step, names, leaves)
    tensors = [_tensor(escape(name), leaf, of_leaf) for name, leaf, of_leaf in zip(names, leaves, ranks)]
    return begin(directory, step, keep, distributed.job(), lambda writer: writer.save(step, texts, tensors))


def _compare_saved(step: int, names: list[str], leaves: list[Any]) -> list[list[list[int]]]:
    """By leaf, the ranks of each process that hold a part of it. All processes learn of what they do not save alike."""
    job = distributed.job()
    if job is None:
        return [[] for _ in leaves]
    texts = [f"step {step}", *map(_describe_saved, names, leaves)]
    ranks = [ranks_with(leaf) if is_shared(leaf) else [] for leaf in leaves]
    mine = {"digest": hashlib.sha256("\n".join(texts).encode()).hexdigest(), "ranks": ranks}
    heard = [json.loads(text) for text in job.gather("what is saved", json.dumps(mine), 600)]
    if all(other["digest"] == mine["digest"] for other in heard):
        return [[other["ranks"][i] for other in heard] for i in range(len(leaves))]
    first, *others = [json.loads(text) for text in job.gather("what is saved", json.dumps(texts), 600)]
    for process, other in enumerate(others, 1):
        for a, b in itertools.zip_longest(first, other, fillvalue="nothing more"):
            if a != b:
                raise ValueError(f"process {process} saves {b}, and process 0 {a}; all save the same")
    raise AssertionError("digests of equal texts differ")


def _describe_saved(name: str, leaf: Any) -> str:
    kind = f"{type_text(leaf.dtype, leaf.shape)} {name}"
    if is_shared(leaf):
        return f"{kind} laid out as {leaf.sharding.spec} on {leaf.sharding.mesh}"
    return f"{kind} with the checksum {zlib.crc32(np.ascontiguousarray(leaf).reshape(-1).view(np.uint8)):08x}"


def _tensor(name: str, leaf: Any, ranks: list[list[int]]) -> Any:
    """What this process writes of a leaf: the shards of its ranks, or a part of what all have whole."""
    from . import _runtime

    if is_shared(leaf):
        shards = held_shards(leaf, ranks)
    else:
        shards = [HeldShard((0,) * leaf.ndim, leaf, distributed.process_index(), distributed.process_count())]
    return _runtime.CheckpointTensor(name, tensor_name(leaf.dtype), leaf.shape, [
        _runtime.CheckpointShard(start, as_tensor(data), holder, holders) for start, data, holder, holders in shards])


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
    if key not in _writers:
        # A writer removes what is unfinished when it opens the folder.
        for (other, _), earlier in _writers.items():
            if other == path:
                earlier.wait()
        _writers[key] = _runtime.CheckpointWriter.open(path, job)
    _writers[key].wait()
    _writers[key].keep(keep or 0)
    return _writers[key]


def restore(
    directory: str | os.PathLike,
    like: Any = None,
    *,
    step: int | None = None,
    skip_damaged: bool = False,
) -> Any:
    """The arrays of the last checkpoint in a folder, or of that of a `step`, as a tree like
    `like`, whose leaves have shapes and dtypes; without it, as a dict by name. Tensors that `like`
    does not have are not read. A leaf with a `NamedSharding`, as a `weft.Array` or a `ShapeDtypeStruct` may have,
    becomes a `weft.Array` with that sharding, of which each process reads what its ranks hold; all
    processes of a job call it alike.

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
        steps = [str(each) for each in saved_steps(directory)]
        there = f"; there {'is that of step' if len(steps) == 1 else 'are those of steps'} {', '.join(steps)}" if steps else ""
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


class _Reader:
    """Reads tensors of a checkpoint by name."""

    def __init__(self, path: str):
        from . import _runtime

        self._checkpoint = _runtime.Checkpoint.open(path)
        self.found = {unescape(name): (i, dtype_named(dtype), tuple(shape))
                      for i, (name, dtype, shape) in enumerate(self._checkpoint.tensors)}
        # Of tensors that are read in shards what this process answers for.
        self.digests = dict[int, int]()

    def whole(self, name: str) -> np.ndarray:
        number, dtype, shape = self.found[name]
        return self._checkpoint.read(number).view(dtype).reshape(shape)

    def sharded(self, name: str, sharding: NamedSharding) -> Array:
        """What the ranks of this process hold; the digest is to be compared."""
        number, dtype, shape = self.found[name]
        self.digests[number] = 0
        answered = indices_answered_for(sharding, shape)

        def part(index: Index) -> np.ndarray:
            ranges = [range(*each.indices(size)) for each, size in zip(index, shape)]
            box = [each.start for each in ranges], [len(each) for each in ranges]
            data = self._checkpoint.read_box(number, *box)
            if str(index) in answered:
                self.digests[number] += self._checkpoint.digest_of(number, *box, data)
            return data.view(dtype).reshape(box[1])

        return make_array_from_callback(shape, sharding, part)

    def compare(self, digests: list[dict[int, int]]) -> None:
        """Compares the sums of what all processes have answered for."""
        sums = [sum(each.get(number, 0) for each in digests) % 2**64 for number in self.digests]
        self._checkpoint.compare_digests([*self.digests], sums)


def _read(path: str, like: Any) -> Any:
    if like is None:
        reader = _Reader(path)
        return {name: reader.whole(name) for name in reader.found}
    names, leaves, structure = _flatten(like)
    shardings = [sharding if isinstance(sharding := getattr(leaf, "sharding", None), NamedSharding) else None
                 for leaf in leaves]
    reader: Any = None
    arrays: list[Any] = []
    failure: Exception | None = None
    try:
        reader = _Reader(path)
        problems = [problem for name, leaf in zip(names, leaves)
                    if (problem := _misfit(name, leaf, reader.found.get(name)))]
        if problems:
            raise ValueError(f"{path} is not like the tree:\n  " + "\n  ".join(problems))
        arrays = [reader.whole(name) if sharding is None else reader.sharded(name, sharding)
                  for name, sharding in zip(names, shardings)]
    except (ExecutionError, ValueError) as error:
        failure = error
    if any(sharding is not None for sharding in shardings):
        digests = _agree(os.path.basename(path), failure, reader.digests if reader else {})
        if failure is None:
            reader.compare(digests)
    if failure is not None:
        raise failure
    return structure.unflatten(arrays)


def _agree(name: str, failure: Exception | None, digests: dict[int, int]) -> list[dict[int, int]]:
    """The digests of all processes, each of which learns when another one cannot read its part."""
    job = distributed.job()
    if job is None:
        return [digests]
    said = {"name": name, "failure": failure and [str(failure), getattr(failure, "code", "invalid_argument")], "digests": [*digests.items()]}
    heard = [json.loads(text) for text in job.gather("what is restored", json.dumps(said), 600)]
    for process, other in enumerate(heard):
        if failure is None and other["failure"]:
            raise ExecutionError(*other["failure"])
        if other["name"] != heard[0]["name"]:
            raise ExecutionError(
                f"process 0 restores {heard[0]['name']} and process {process} {other['name']}; is the folder on a "
                "file system that all share?", "failed_precondition")
    return [dict(map(tuple, other["digests"])) for other in heard]


def _misfit(name: str, leaf: Any, found: tuple | None) -> str:
    """What is wrong with the tensor of a leaf, if anything is."""
    if found is None:
        return f"{name} is not in it"
    shape, dtype = np.shape(leaf), getattr(leaf, "dtype", None) or np.asarray(leaf).dtype
    if (shape, dtype) == (tuple(found[2]), found[1]):
        return ""
    return f"{name} is {type_text(found[1], found[2])} in it and {type_text(dtype, shape)} in the tree"


def finish() -> list[Exception]:
    """Waits for all that is being written; what failed and nobody has been told."""
    problems: list[Exception] = []
    for writer in _writers.values():
        try:
            writer.wait()
        except ExecutionError as error:
            problems.append(error)
    _writers.clear()
    return problems
