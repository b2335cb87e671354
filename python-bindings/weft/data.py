# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches out of files, by the number of the step.

    batches = weft.data.Batches(weft.data.Tokens("text.npy", 1024), 64, seed=1,
                                sharding=weft.NamedSharding(mesh, weft.P("data")))
    for step, (tokens, targets) in batches.prefetch(first, steps):
        params, loss = step_function(params, tokens, targets)

Files are mapped into memory, and each process reads the rows of its ranks only. What a step gets
follows from the seed and its number: any mesh and number of processes sees the same batches, and a
run that is resumed needs to know nothing but its step.
"""

from __future__ import annotations

import collections
import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from .arrays import Array, make_array_from_callback
from .sharding import NamedSharding


class Source(Protocol):
    """Examples by their numbers, from 0."""

    shapes: tuple[tuple[int, ...], ...]
    """Of the arrays that an example consists of."""

    def __len__(self) -> int:
        """How many there are."""

    def read(self, array: int, examples: np.ndarray) -> np.ndarray:
        """One of the arrays, of several examples, stacked."""


def _mapped(path: str | os.PathLike, dtype: Any = None) -> np.ndarray:
    """An array in a file, which is read where it is looked at: .npy, or only elements of `dtype`."""
    name = os.fsdecode(path)
    if name.endswith(".npy"):
        return np.load(name, mmap_mode="r")
    if dtype is None:
        raise ValueError(f"{name}: a file that is not .npy needs the dtype of its elements, as dtype=")
    size, each = os.path.getsize(name), np.dtype(dtype).itemsize
    if size % each:
        raise ValueError(f"{name}: {size} bytes are no whole number of elements of {np.dtype(dtype).name}, {each} bytes each")
    return np.memmap(name, dtype, "r")


class Rows:
    """The rows of arrays in .npy files, or of arrays of NumPy, which have equally many: example i
    is row i of each."""

    def __init__(self, *arrays: str | os.PathLike | np.ndarray):
        if not arrays:
            raise ValueError("Rows needs at least one array")
        self._arrays = [each if isinstance(each, np.ndarray) else _mapped(each) for each in arrays]
        if any(array.ndim == 0 for array in self._arrays) or len({len(array) for array in self._arrays}) > 1:
            shapes = ", ".join(str(array.shape) for array in self._arrays)
            raise ValueError(f"the arrays of Rows must have equally many rows, got the shapes {shapes}")
        self.shapes = tuple(array.shape[1:] for array in self._arrays)

    def __len__(self) -> int:
        return len(self._arrays[0])

    def read(self, array: int, examples: np.ndarray) -> np.ndarray:
        return self._arrays[array][examples]


class Tokens:
    """A long text of tokens in a .npy file, a file of nothing but tokens of `dtype`, or an array, in
    windows of `length`. An example is two int32 arrays: a window, and for each of its tokens the next one."""

    def __init__(self, tokens: str | os.PathLike | np.ndarray, length: int, *, dtype: Any = None):
        self._tokens = tokens if isinstance(tokens, np.ndarray) else _mapped(tokens, dtype)
        if self._tokens.ndim != 1 or self._tokens.dtype.kind not in "iu":
            raise ValueError(f"tokens must be integers in one dimension, got {self._tokens.dtype.name} of "
                             f"shape {self._tokens.shape}")
        if not 1 <= length < len(self._tokens):
            raise ValueError(f"windows of {length} tokens and the next one do not fit in {len(self._tokens)} tokens")
        self._length = length
        self.shapes = ((length,), (length,))

    def __len__(self) -> int:
        return (len(self._tokens) - 1) // self._length

    def read(self, array: int, examples: np.ndarray) -> np.ndarray:
        begins = examples * self._length + array
        windows = np.empty((len(examples), self._length), np.int32)
        for window, begin in zip(windows, begins):
            window[:] = self._tokens[begin : begin + self._length]
        return windows


class Batches:
    """Batches of `batch_size` examples of a source: ``batches[step]``, from step 0, is a tuple of arrays.

    Every example comes once in each pass over the source, in an order that follows from `seed` and the
    number of the pass; a batch may end one pass and begin the next. With a `sharding`, of all
    arrays or a tuple with one for each, they are `weft.Array`s of which each process reads its shards.
    """

    def __init__(self, source: Source, batch_size: int, *, seed: int = 0,
                 sharding: NamedSharding | Sequence[NamedSharding] | None = None):
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if len(source) == 0:
            raise ValueError("the source has no examples")
        self._source, self._size, self._seed = source, batch_size, seed
        count = len(source.shapes)
        shardings = tuple(sharding) if isinstance(sharding, Sequence) else (sharding,) * count
        if len(shardings) != count:
            raise ValueError(f"an example has {count} arrays, got {len(shardings)} shardings")
        self._shardings = shardings

    def examples(self, step: int) -> np.ndarray:
        """The numbers of the examples of a step, in the order of its rows."""
        if step < 0:
            raise IndexError(f"steps are counted from 0, got {step}")
        first, size = step * self._size, len(self._source)
        found = []
        for epoch in range(first // size, (first + self._size - 1) // size + 1):
            begin, end = max(first, epoch * size), min(first + self._size, (epoch + 1) * size)
            found.append(permuted(np.arange(begin - epoch * size, end - epoch * size), size, self._seed, epoch))
        return np.concatenate(found)

    def __getitem__(self, step: int) -> tuple[np.ndarray | Array, ...]:
        examples = self.examples(step)
        return tuple(self._array(i, examples, sharding) for i, sharding in enumerate(self._shardings))

    def _array(self, i: int, examples: np.ndarray, sharding: NamedSharding | None) -> np.ndarray | Array:
        if sharding is None:
            return self._source.read(i, examples)
        shape = (self._size, *self._source.shapes[i])
        return make_array_from_callback(
            shape, sharding, lambda index: self._source.read(i, examples[index[0]])[(slice(None), *index[1:])])

    def prefetch(self, first: int = 0, last: int | None = None, *,
                 ahead: int = 2) -> Iterator[tuple[int, tuple[np.ndarray | Array, ...]]]:
        """The numbers and batches of the steps from `first` to before `last`, or without end; a
        thread reads the next `ahead` of them."""
        steps = itertools.count(first) if last is None else iter(range(first, last))
        pool = ThreadPoolExecutor(1, "weft.data")
        try:
            pending = collections.deque(
                (step, pool.submit(self.__getitem__, step)) for step in itertools.islice(steps, ahead))
            while pending:
                step, batch = pending.popleft()
                pending.extend((later, pool.submit(self.__getitem__, later)) for later in itertools.islice(steps, 1))
                yield step, batch.result()
        finally:
            pool.shutdown(cancel_futures=True)


def permuted(numbers: np.ndarray, size: int, seed: int, epoch: int) -> np.ndarray:
    """Where the numbers, below `size`, go in a permutation that follows from the seed and the epoch.

    It is a Feistel network on an even number of bits that hold `size` - 1, repeated for what comes out at
    `size` or above (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002). Unlike a permutation
    of NumPy it needs no memory, and is the same in all its versions.
    """
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    keys = [_mixed(np.uint64((seed + 0x9E3779B97F4A7C15 * (8 * epoch + i)) % 2**64)) for i in range(6)]
    result = numbers.astype(np.uint64)
    outside = np.ones(result.shape, bool)
    while outside.any():
        result[outside] = _rounds(result[outside], half, keys)
        outside = result >= size
    return result.astype(np.int64)


def _rounds(values: np.ndarray, half: np.uint64, keys: list[np.uint64]) -> np.ndarray:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & mask)
    return left << half | right


def _mixed(values: Any) -> Any:
    """The finalizer of SplitMix64: every bit of the result depends on all bits."""
    with np.errstate(over="ignore"):
        values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return values ^ values >> np.uint64(31)
