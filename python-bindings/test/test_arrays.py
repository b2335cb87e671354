# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.Array: results that stay on the ranks, in one process and in several."""

import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import weft
from launchers import run
from weft import Mesh, NamedSharding, P

MESH = Mesh((2, 2), ("data", "model"))
ROWS = np.arange(64, dtype=np.float32).reshape(8, 8)


def step(params, x):
    """A result for the donated argument, and one besides."""
    return weft.tree.map(lambda p: p * 2 + x.sum(), params), params["w"].sum()


@pytest.fixture(scope="module")
def doubling():
    return weft.jit(step, mesh=MESH, in_shardings=({"w": P("data", "model"), "b": P("model")}, P("data")),
                    donate_argnums=0)


def first():
    return {"w": ROWS.copy(), "b": np.arange(8, dtype=np.float32)}


ONE = np.full(4, 0.25, np.float32)


def test_results_stay_on_the_ranks(doubling):
    params, total = doubling(first(), ONE)
    assert type(params["w"]) is weft.Array and type(total) is weft.Array
    w = params["w"]
    assert (w.shape, w.dtype, w.ndim, w.size, w.nbytes) == ((8, 8), np.float32, 2, 64, 256)
    assert w.sharding.spec == P("data", "model") and w.sharding.shard_shape(w.shape) == (4, 4)
    assert w.is_fully_addressable and not w.is_fully_replicated and w.block_until_ready() is w
    np.testing.assert_array_equal(w, ROWS * 2 + 1)


def test_a_loop_has_the_numbers_of_one_with_whole_arrays(doubling):
    kept, whole = first(), first()
    for _ in range(4):
        kept, total = doubling(kept, ONE)
        fetched, other = doubling(whole, ONE)
        whole = weft.tree.map(np.asarray, fetched)
        assert total == other
    for name in kept:
        np.testing.assert_array_equal(kept[name], whole[name])


def test_results_that_replace_nothing_keep_their_values(doubling):
    """Looked at after later calls, or never, or in between, of which the last is of another thread."""
    params, totals = first(), []
    for _ in range(4):
        params, total = doubling(params, ONE)
        totals.append(total)
    fetched = np.asarray(total)
    with ThreadPoolExecutor() as pool:
        pool.submit(doubling, params, ONE).result()
    assert [float(x) for x in totals] == [x.item() for x in totals] and totals[-1] == fetched
    assert totals[0] == ROWS.sum() and totals[1] == 2 * ROWS.sum() + 64
    assert str(totals[0]) == "2016.0" and repr(totals[0]) == "Array(2016., dtype=float32)"
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(total)[()] = 0


def test_nothing_is_moved_to_the_next_call(doubling, monkeypatch):
    params, _ = doubling(first(), ONE)
    given = []
    call_some = weft.Session.call_some

    def recorded(self, entry, inputs, unread=()):
        given.append([x is None for x in inputs])
        return call_some(self, entry, inputs, unread)

    monkeypatch.setattr(weft.Session, "call_some", recorded)
    monkeypatch.setattr(weft.Session, "value", None)
    frozen = weft.device_put(ONE, NamedSharding(MESH, P("data")))
    monkeypatch.setattr(weft.Session, "set_parts", lambda *_: given.append("parts"))
    params, _ = doubling(params, ONE)
    params, _ = doubling(params, frozen)
    params, _ = doubling(params, frozen)
    assert given == [[True, True, False], "parts", [True, True, True], [True, True, True]]


def test_a_donated_array_is_deleted(doubling):
    before, _ = doubling(first(), ONE)
    after, _ = doubling(before, ONE)
    assert before["w"].is_deleted() and not after["w"].is_deleted()
    assert repr(before["w"]) == "Array(float32[8, 8], deleted)"
    for use in (np.asarray, lambda x: x + 1, lambda x: x.addressable_shards, lambda x: x.block_until_ready(),
                lambda x: doubling({"w": x, "b": after["b"]}, ONE)):
        with pytest.raises(RuntimeError, match=r"the Array float32\[8, 8\] has been deleted: it was donated to a "
                           "call, whose result has its memory"):
            use(before["w"])


def test_an_array_whose_memory_is_wanted_is_kept(doubling):
    """Calls with other arguments leave earlier results alone, whoever holds them."""
    early, _ = doubling(first(), ONE)
    expected = np.asarray(early["w"]).copy()
    other, _ = doubling({"w": ROWS * 0, "b": early["b"]}, ONE)
    np.testing.assert_array_equal(early["w"], expected)
    assert early["b"].is_deleted() and not early["w"].is_deleted()
    np.testing.assert_array_equal(other["w"], np.ones((8, 8)))
    # It is not on the ranks any more: donated, it is copied, and stays.
    again, _ = doubling({"w": early["w"], "b": other["b"]}, ONE)
    np.testing.assert_array_equal(again["w"], expected * 2 + 1)
    np.testing.assert_array_equal(early["w"], expected)


def test_arrays_that_nobody_holds_are_forgotten(doubling, monkeypatch):
    doubling(first(), ONE)
    gc.collect()
    monkeypatch.setattr(weft.Array, "_leave_ranks", None)
    doubling(first(), ONE)


def test_an_array_in_the_place_of_another_one():
    swap = weft.jit(lambda a, b: (a + 1, b - 1), mesh=MESH, in_shardings=P("data"), donate_argnums=(0, 1))
    a, b = swap(np.zeros(4, np.float32), np.full(4, 9, np.float32))
    a, b = swap(b, a)
    np.testing.assert_array_equal(a, np.full(4, 9))
    np.testing.assert_array_equal(b, np.zeros(4))
    a, b = swap(a, a)
    np.testing.assert_array_equal([a, b], [np.full(4, 10), np.full(4, 8)])


def test_results_of_one_function_are_arguments_of_another(doubling):
    params, _ = doubling(first(), ONE)
    same = weft.jit(lambda w, scale: w * scale, mesh=MESH, in_shardings=(P("data", "model"), P()))
    other = weft.jit(lambda w: w.sum(), mesh=Mesh((4,), ("x",)), in_shardings=P("x"))
    np.testing.assert_array_equal(same(params["w"], 3.0), 3 * np.asarray(params["w"]))
    assert other(params["w"]) == np.asarray(params["w"]).sum()
    assert not params["w"].is_deleted()
    with pytest.raises(TypeError, match=r"w: expected float32\[8, 8\], got float32\[8\]"):
        same.lower(params["w"], 3.0).compile()(params["b"], 3.0)


def test_a_call_that_fails_leaves_what_is_not_donated(doubling, monkeypatch):
    params, _ = doubling(first(), ONE)
    b = np.asarray(params["b"]).copy()

    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(weft.Session, "call_some", fail)
        with pytest.raises(KeyboardInterrupt):
            doubling({"w": params["w"], "b": b}, ONE)
    assert params["w"].is_deleted()
    np.testing.assert_array_equal(params["b"], b)
    again, _ = doubling({"w": ROWS, "b": params["b"]}, ONE)
    np.testing.assert_array_equal(again["b"], b * 2 + 1)


def test_it_is_used_like_an_array_of_numpy(doubling):
    params, _ = doubling(first(), ONE)
    w, whole = params["w"], np.asarray(params["w"])
    for got, expected in [(w + 1, whole + 1), (1 - w, 1 - whole), (w @ w, whole @ whole), (w > 5, whole > 5),
                          (-w, -whole), (w[1:3, 2], whole[1:3, 2]), (w.T, whole.T), (w.sum(0), whole.sum(0)),
                          (np.sin(w), np.sin(whole)), (whole * w, whole * whole), (w.astype("f8"), whole),
                          (np.stack([*w]), whole), (np.array(w, np.float64), whole)]:
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, expected)
    assert len(w) == 8 and float(w[0, 0]) == 1.0 and w.tolist() == whole.tolist()
    w += 1
    assert type(w) is np.ndarray
    np.testing.assert_array_equal(params["w"], whole)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(params["w"])), whole)
    assert repr(params["b"]) == "Array([ 1.,  3.,  5.,  7.,  9., 11., 13., 15.], dtype=float32)"
    for wrong, message in [(lambda: hash(params["w"]), "unhashable type"), (lambda: len(scalar()), "without dimensions")]:
        with pytest.raises(TypeError, match=message):
            wrong()
    with pytest.raises(AttributeError, match="a weft.Array has no attribute 'fill'; numpy.asarray"):
        params["w"].fill(0)
    with pytest.raises(AttributeError, match="an Array cannot be changed: dtype"):
        params["w"].dtype = np.int32


def scalar():
    return weft.device_put(3, NamedSharding(MESH, P()))


def test_numbers():
    x = scalar()
    assert (int(x), float(x), bool(x), complex(x), f"{x:.1f}", list(range(5))[x]) == (3, 3.0, True, 3, "3.0", 3)


def test_traced_functions_take_them_as_constants(doubling):
    params, _ = doubling(first(), ONE)
    closed = weft.jit(lambda x: x + params["b"] + (params["b"] - x))
    np.testing.assert_array_equal(closed(ONE[:1]), 2 * np.asarray(params["b"]))


def test_shards(doubling):
    params, _ = doubling(first(), ONE)
    shards = params["b"].addressable_shards
    assert [(s.device, s.index, s.replica_id) for s in shards] == [
        (0, (slice(0, 4),), 0), (1, (slice(4, 8),), 0), (2, (slice(0, 4),), 1), (3, (slice(4, 8),), 1)]
    for each in params["w"].addressable_shards:
        np.testing.assert_array_equal(each.data, np.asarray(params["w"])[each.index])
    np.testing.assert_array_equal(params["b"].addressable_data(1), np.asarray(params["b"])[4:])


def test_padding_is_not_shown():
    add = weft.jit(lambda a: a + 1, mesh=Mesh((4,), ("x",)), in_shardings=P("x"), donate_argnums=0)
    a = add(np.arange(10, dtype=np.float32))
    assert [each.data.tolist() for each in a.addressable_shards] == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]
    put = weft.device_put(np.arange(10, dtype=np.float32), NamedSharding(Mesh((4,), ("x",)), P("x")))
    np.testing.assert_array_equal(add(put), np.arange(1, 11))
    np.testing.assert_array_equal(put, np.arange(10))
    np.testing.assert_array_equal(a, np.arange(1, 11))


def test_a_mesh_with_devices_in_another_order():
    mesh = Mesh([[3, 1], [0, 2]], ("x", "y"))
    sharding = NamedSharding(mesh, P("x", "y"))
    add = weft.jit(lambda a: a + 1, mesh=mesh, in_shardings=sharding, donate_argnums=0)
    put = weft.device_put(ROWS, sharding)
    for array, whole in ((put, ROWS), (add(put), ROWS + 1)):
        np.testing.assert_array_equal(array, whole)
        for shard in array.addressable_shards:
            np.testing.assert_array_equal(shard.data, whole[shard.index])


def test_a_callback_makes_each_shard_once():
    asked = []

    def part(index):
        asked.append(index)
        return ROWS[index]

    x = weft.make_array_from_callback((8, 8), NamedSharding(MESH, P("model")), part)
    assert asked == [(slice(0, 4), slice(None)), (slice(4, 8), slice(None))]
    np.testing.assert_array_equal(x, ROWS)
    narrow = weft.make_array_from_callback((8, 8), NamedSharding(MESH, P()), lambda i: ROWS[i], dtype="float16")
    assert narrow.dtype == np.float16 and narrow.is_fully_replicated
    with pytest.raises(ValueError, match=r"data_callback returned the shape \(8, 8\) for the shard \(slice\(0, 4, None\),"
                       r" slice\(None, None, None\)\) of an array of shape \(8, 8\); expected \(4, 8\)"):
        weft.make_array_from_callback((8, 8), NamedSharding(MESH, P("model")), lambda index: ROWS)
    with pytest.raises(TypeError, match="make_array_from_callback needs a NamedSharding, got P\\('model',\\)"):
        weft.make_array_from_callback((8, 8), P("model"), part)


def test_device_put():
    tree = weft.device_put({"a": ROWS, "b": [1.5, np.arange(3)]}, NamedSharding(MESH, P()))
    assert [leaf.dtype.name for leaf in weft.tree.leaves(tree)] == ["float32", "float32", "int32"]
    source = ROWS.copy()
    put = weft.device_put([source], [NamedSharding(MESH, P("data"))])[0]
    source[:] = 0
    np.testing.assert_array_equal(put, ROWS)
    with pytest.raises(TypeError, match="device_put needs a NamedSharding for each array, got 3 of type int"):
        weft.device_put(ROWS, 3)


def test_checkpoints_take_them(doubling, tmp_path):
    params, _ = doubling(first(), ONE)
    weft.save(tmp_path, params, step=1).wait()
    doubling(params, ONE)
    np.testing.assert_array_equal(weft.restore(tmp_path)["w"], ROWS * 2 + 1)


PROGRAM = """
import sys
import numpy as np
import weft
from weft import NamedSharding, P

weft.distributed.initialize()
mesh = weft.make_mesh((4,), ("data",))
step = weft.jit(lambda w, x: (w * 2 + x.sum(), w.sum()), mesh=mesh, in_shardings=P("data"), donate_argnums=0)
here = []
def part(index):
    here.append(index[0].start)
    return np.arange(8, dtype=np.float32)[index]
w = weft.make_array_from_callback((8,), NamedSharding(mesh, P("data")), part)
x = weft.device_put(np.full(4, 0.25, np.float32), NamedSharding(mesh, P("data")))
gathered = weft.distributed.process_allgather({"w": w})["w"]
for _ in range(3):
    w, total = step(w, x)
kept = w
other, total = step(np.zeros(8, np.float32), x)
out = open(f"{sys.argv[1]}/{weft.process_index()}", "w")
def say(*texts):
    print(*texts, file=out, flush=True)
say(here, [s.device for s in w.addressable_shards], [s.data.tolist() for s in kept.addressable_shards])
say(w.is_fully_addressable, repr(w))
try:
    np.asarray(w)
except RuntimeError as error:
    say(error)
say(weft.distributed.process_allgather((w, other, gathered)))
"""


def test_in_two_processes(mpirun, tmp_path):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", PROGRAM, tmp_path])
    assert both.returncode == 0, both.stdout + both.stderr
    whole = "(array([ 7., 15., 23., 31., 39., 47., 55., 63.], dtype=float32), array([1., 1., 1., 1., 1., 1., 1., 1.], " \
            "dtype=float32), array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32))"
    said = ["[0, 2] [0, 1] [[7.0, 15.0], [23.0, 31.0]]", "[4, 6] [2, 3] [[39.0, 47.0], [55.0, 63.0]]"]
    for process in (0, 1):
        lines = (tmp_path / str(process)).read_text().splitlines()
        assert lines[0] == said[process]
        assert lines[1].startswith("False Array(float32[8], sharding=NamedSharding(")
        assert lines[2] == ("the Array float32[8] is laid out as P('data',), and parts of it are in other processes; "
                            ".addressable_shards are those of this one, and weft.distributed.process_allgather(x), "
                            "called in all processes, gathers all of it")
        assert " ".join(lines[3:]).replace("  ", "") .replace(" ", "") == whole.replace(" ", "")


def test_shards_of_two_dtypes():
    sharding = weft.NamedSharding(weft.make_mesh((2,), ("data",)), P("data"))

    def shard(index):
        return np.zeros(4, np.int32 if index[0].start else np.float32)

    with pytest.raises(ValueError, match="data_callback returned shards of the dtypes float32 and int32; give dtype="):
        weft.make_array_from_callback((8,), sharding, shard)
    assert weft.make_array_from_callback((8,), sharding, shard, dtype="float32").dtype == np.float32


def test_init_leaves_shards_on_the_ranks():
    mesh = weft.make_mesh((2, 2), ("data", "model"))

    def function(key, scale):
        return {"w": scale * weft.random.normal(key, (8, 6)), "b": weft.numpy.zeros(5), "n": weft.numpy.sum(weft.numpy.ones(3))}

    specs = {"w": P("data", "model"), "b": P("data"), "n": P()}
    whole = weft.jit(function)(weft.random.key(1), np.float32(2))
    state = weft.init(function, weft.random.key(1), np.float32(2), mesh=mesh, out_shardings=specs)
    for name, value in state.items():
        assert isinstance(value, weft.Array) and value.sharding.spec == specs[name]
        np.testing.assert_array_equal(value, whole[name])
    assert [shard.data.shape for shard in state["w"].addressable_shards] == 4 * [(4, 3)]
    assert [shard.data.shape for shard in state["b"].addressable_shards] == [(3,), (3,), (2,), (2,)]
    double = weft.jit(lambda s: weft.tree.map(lambda x: 2 * x, s), mesh=mesh, in_shardings=(specs,), out_shardings=specs,
                      donate_argnums=0)
    np.testing.assert_array_equal(double(state)["w"], 2 * whole["w"])
