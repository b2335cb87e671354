# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.data: batches by the number of the step, whatever the mesh."""

import sys
import threading

import numpy as np
import pytest

import weft
from launchers import run
from weft import Mesh, NamedSharding, P
from weft.data import Batches, Rows, Tokens, permuted

TEXT = np.arange(1000, dtype=np.uint16)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 17, 64, 65, 1000])
def test_each_example_comes_once_in_a_pass(size):
    orders = [permuted(np.arange(size), size, seed, epoch) for seed in (0, 1, -5, 2**63) for epoch in (0, 1)]
    for order in orders:
        assert sorted(order) == [*range(size)]
    if size >= 17:
        assert len({tuple(order) for order in orders}) == len(orders)


def test_the_order_is_random():
    """Neighbours go apart: of 4096 examples, one in 4096 stays one behind the one before it."""
    order = permuted(np.arange(4096), 4096, 3, 0)
    assert (np.diff(order) == 1).sum() < 10
    assert abs(np.corrcoef(order, np.arange(4096))[0, 1]) < 0.06
    assert 450 < (order[:1024] < 2048).sum() < 575


def test_the_order_stays_the_same():
    """What a run sees that is resumed with a later version."""
    assert permuted(np.arange(8), 100, 7, 2).tolist() == [47, 71, 70, 56, 14, 23, 96, 51]


def test_any_step_is_what_it_is_in_order():
    batches = Batches(Rows(np.arange(10)), 4, seed=2)
    order = np.concatenate([batches.examples(step) for step in range(5)])
    assert sorted(order[:10]) == sorted(order[10:]) == [*range(10)], "two passes in five steps"
    assert (batches.examples(3) == order[12:16]).all()
    assert (Batches(Rows(np.arange(3)), 8).examples(0) < 3).all(), "a batch of several passes"
    with pytest.raises(IndexError, match="steps are counted from 0, got -1"):
        batches[-1]


@pytest.mark.parametrize("kind", ["npy", "raw", "array"])
def test_tokens(kind, tmp_path):
    given = {"npy": tmp_path / "text.npy", "raw": tmp_path / "text.bin", "array": TEXT}[kind]
    np.save(tmp_path / "text.npy", TEXT)
    TEXT.tofile(tmp_path / "text.bin")
    source = Tokens(given, 16, dtype="uint16" if kind == "raw" else None)
    assert len(source) == 62
    batches = Batches(source, 5, seed=1)
    tokens, targets = batches[0]
    assert tokens.shape == (5, 16) and tokens.dtype == targets.dtype == np.int32
    np.testing.assert_array_equal(targets, tokens + 1)
    np.testing.assert_array_equal(tokens[:, 0], 16 * batches.examples(0))


def test_rows_of_files(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(24, dtype=np.float32).reshape(6, 4))
    np.save(tmp_path / "y.npy", np.arange(6))
    batches = Batches(Rows(tmp_path / "x.npy", tmp_path / "y.npy"), 3)
    x, y = batches[1]
    np.testing.assert_array_equal(x[:, 0], 4 * y)
    np.testing.assert_array_equal(y, batches.examples(1))


MESH = Mesh((2, 2), ("data", "model"))


@pytest.mark.parametrize("spec", [P("data"), P("model"), P(("data", "model")), P(None, "data"), P("model", "data"), P()])
def test_shards_are_parts_of_the_batch(spec):
    source = Tokens(TEXT, 8)
    whole = Batches(source, 4, seed=3)[7]
    sharded = Batches(source, 4, seed=3, sharding=NamedSharding(MESH, spec))[7]
    for array, expected in zip(sharded, whole):
        assert array.sharding.spec == spec
        np.testing.assert_array_equal(array, expected)
    both = Batches(source, 4, seed=3, sharding=(NamedSharding(MESH, P()), NamedSharding(MESH, spec)))[7]
    assert [array.sharding.spec for array in both] == [P(), spec]


def test_prefetch_reads_ahead_and_stops():
    threads = set()

    class Noted(Rows):
        def read(self, array, examples):
            threads.add(threading.current_thread().name)
            return super().read(array, examples)

    batches = Batches(Noted(np.arange(100)), 4)
    steps = list(batches.prefetch(3, 9))
    assert [step for step, _ in steps] == [3, 4, 5, 6, 7, 8]
    for step, (rows,) in steps:
        np.testing.assert_array_equal(rows, batches.examples(step))
    assert threads == {"weft.data_0"}
    endless = batches.prefetch(5, ahead=1)
    assert [next(endless)[0], next(endless)[0]] == [5, 6]
    endless.close()
    assert not any(thread.name.startswith("weft.data") for thread in threading.enumerate())
    assert list(batches.prefetch(4, 4)) == []


def test_a_failure_to_read_comes_where_the_batch_is_wanted():
    class Broken(Rows):
        def read(self, array, examples):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        next(Batches(Broken(np.arange(3)), 1).prefetch())


@pytest.mark.parametrize("make, message", [
    (lambda folder: Tokens(folder / "text.bin", 4), "text.bin: a file that is not .npy needs the dtype of its elements, as dtype="),
    (lambda folder: Tokens(folder / "text.bin", 4, dtype="int32"), "text.bin: 6 bytes are no whole number of elements of int32, 4 bytes each"),
    (lambda folder: Tokens(TEXT, 1000), "windows of 1000 tokens and the next one do not fit in 1000 tokens"),
    (lambda folder: Tokens(TEXT.reshape(10, 100), 4), r"tokens must be integers in one dimension, got uint16 of shape \(10, 100\)"),
    (lambda folder: Rows(), "Rows needs at least one array"),
    (lambda folder: Rows(TEXT, TEXT[:3]), r"must have equally many rows, got the shapes \(1000,\), \(3,\)"),
    (lambda folder: Batches(Rows(TEXT), 0), "batch_size must be at least 1, got 0"),
    (lambda folder: Batches(Rows(TEXT[:0]), 1), "the source has no examples"),
    (lambda folder: Batches(Rows(TEXT), 1, sharding=[None, None]), "an example has 1 arrays, got 2 shardings"),
])
def test_what_is_refused(make, message, tmp_path):
    TEXT[:3].tofile(tmp_path / "text.bin")
    with pytest.raises(ValueError, match=message):
        make(tmp_path)


PROGRAM = """
import sys
import numpy as np
import weft
from weft import NamedSharding, P

class Noted(weft.data.Rows):
    def read(self, array, examples):
        read.extend(examples.tolist())
        return super().read(array, examples)

read = []
weft.distributed.initialize()
mesh = weft.make_mesh((4,), ("data",))
batches = weft.data.Batches(Noted(np.arange(100, dtype=np.float32)), 8, seed=4, sharding=NamedSharding(mesh, P("data")))
total = weft.jit(lambda x: (x * x).sum(), mesh=mesh, in_shardings=P("data"))
losses = [float(total(x)) for _, (x,) in batches.prefetch(0, 5)]
print(losses, sorted(read), file=open(f"{sys.argv[1]}/{weft.process_index()}", "w"))
"""


def test_each_process_reads_its_rows(mpirun, tmp_path):
    result = run([*mpirun, "-n", 2, sys.executable, "-c", PROGRAM, tmp_path])
    assert result.returncode == 0, result.stdout + result.stderr
    batches = Batches(Rows(np.arange(100, dtype=np.float32)), 8, seed=4)
    rows = np.array([batches.examples(step) for step in range(5)])
    for process in (0, 1):
        losses, read = eval((tmp_path / str(process)).read_text().replace("] [", "], ["))
        assert losses == [(batches[step][0] ** 2).sum() for step in range(5)]
        assert read == sorted(rows[:, 4 * process:4 * process + 4].ravel())
