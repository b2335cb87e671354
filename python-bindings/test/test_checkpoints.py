# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.save and weft.restore, and states of sessions, in one process and in several."""

import collections
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import weft
from launchers import ENVIRONMENT
from weft import P

State = collections.namedtuple("State", ["count", "moments"])


def sample(seed=0):
    """A tree with several dtypes, a scalar and an empty array."""
    numbers = np.random.default_rng(seed)
    return {
        "params": {"w": numbers.random((300, 200), np.float32), "b=c": numbers.random(3)},
        "optimizer": State(np.int32(seed), [numbers.random(7).astype(np.float16), np.zeros((0, 2), bool)]),
    }


def assert_equal(a, b):
    assert weft.tree.structure(a) == weft.tree.structure(b)
    for x, y in zip(weft.tree.leaves(a), weft.tree.leaves(b)):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


def test_round_trip(tmp_path):
    tree = sample()
    saving = weft.save(tmp_path / "run", tree, step=3, metadata={"config": "small"})
    saving.wait()
    assert saving.path == str(tmp_path / "run" / "step-00000003") and os.path.isdir(saving.path)
    assert_equal(weft.restore(tmp_path / "run", tree), tree)
    like = weft.tree.map(lambda x: weft.ShapeDtypeStruct(np.shape(x), x.dtype), tree)
    assert_equal(weft.restore(tmp_path / "run", like=like), tree)
    assert weft.saved_metadata(tmp_path / "run") == {"config": "small"}
    names = ["optimizer.count", "optimizer.moments[0]", "optimizer.moments[1]", "params['b=c']", "params['w']"]
    found = weft.restore(tmp_path / "run")
    assert sorted(found) == names
    np.testing.assert_array_equal(found["params['w']"], tree["params"]["w"])


@pytest.mark.parametrize("tree", [np.arange(3), [np.arange(2), (np.ones(()),)], {1: np.ones(2)}, {}])
def test_any_tree(tmp_path, tree):
    weft.save(tmp_path, tree, step=0).wait()
    assert_equal(weft.restore(tmp_path, like=tree), tree)


def test_part_of_a_tree(tmp_path):
    tree = sample()
    weft.save(tmp_path, tree, step=1).wait()
    assert_equal(weft.restore(tmp_path, like={"params": tree["params"]}), {"params": tree["params"]})


def test_arrays_may_change_at_once(tmp_path):
    """What is written is what they were when save was called."""
    array = np.zeros(2_000_000, np.float32)
    for step in range(4):
        array[:] = step
        weft.save(tmp_path, {"a": array}, step=step)
        array[:] = -1
    weft.save(tmp_path, {"a": array}, step=9).wait()
    for step in range(4):
        assert (weft.restore(tmp_path, step=step)["a"] == step).all()


def test_steps_and_keep(tmp_path):
    assert weft.saved_steps(tmp_path / "none") == []
    for step in (5, 1, 3, 100_000_000):
        weft.save(tmp_path, sample(step % 97), step=step, keep=3)
    weft.save(tmp_path, sample(7), step=7, keep=2).wait()
    assert weft.saved_steps(tmp_path) == [7, 100_000_000]
    assert_equal(weft.restore(tmp_path, sample(), step=7), sample(7))
    with pytest.raises(FileNotFoundError, match="no checkpoint of step 8; there are those of steps 7, 100000000"):
        weft.restore(tmp_path, step=8)
    with pytest.raises(FileNotFoundError, match="none: no checkpoint$"):
        weft.restore(tmp_path / "none")
    with pytest.raises(ValueError, match="step must be at least 0, got -1"):
        weft.save(tmp_path, sample(), step=-1)
    with pytest.raises(ValueError, match="keep must be at least 1, or None for all, got 0"):
        weft.save(tmp_path, sample(), step=1, keep=0)


def test_what_is_not_like_the_tree(tmp_path):
    weft.save(tmp_path, {"a": np.zeros(3, np.float32), "b": np.zeros(2)}, step=1).wait()
    with pytest.raises(ValueError, match=r"step-00000001 is not like the tree:\n"
                       r"  a is float32\[3\] in it and float32\[4\] in the tree\n  c is not in it"):
        weft.restore(tmp_path, like={"a": np.zeros(4, np.float32), "b": np.zeros(2), "c": 1.0})
    with pytest.raises(TypeError, match="plans have no arrays of dtype complex"):
        weft.save(tmp_path, {"a": np.zeros(3, np.complex64)}, step=2)


def damage(folder, step):
    path = folder / f"step-{step:08}" / "model-00001-of-00001.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    return path


def test_a_damaged_checkpoint(tmp_path):
    tree = {"a": np.zeros(3), "b": np.zeros(3)}
    for step in (1, 2):
        weft.save(tmp_path, tree, step=step).wait()
    path = damage(tmp_path, 2)
    with pytest.raises(weft.ExecutionError) as raised:
        weft.restore(tmp_path, tree)
    assert str(raised.value) == f'{path}: tensor "b" has changed since the file was written'
    with pytest.warns(RuntimeWarning, match='skipped a damaged checkpoint: .* tensor "b" has changed'):
        assert_equal(weft.restore(tmp_path, tree, skip_damaged=True), tree)
    damage(tmp_path, 1)
    with pytest.warns(RuntimeWarning), pytest.raises(weft.ExecutionError, match="step-00000001"):
        weft.restore(tmp_path, tree, skip_damaged=True)


def test_a_save_that_fails(tmp_path):
    """The one who waits is told, or the next save, once."""
    weft.save(tmp_path / "run", sample(), step=1).wait()
    os.rename(tmp_path / "run", tmp_path / "away")
    failing = weft.save(tmp_path / "run", sample(), step=2)
    with pytest.raises(weft.ExecutionError, match="checkpoint of step 2: .*: cannot create the folder: No such file"):
        failing.wait()
    weft.save(tmp_path / "run", sample(), step=3)
    with pytest.raises(weft.ExecutionError, match="checkpoint of step 3"):
        weft.save(tmp_path / "run", sample(), step=4)
    os.rename(tmp_path / "away", tmp_path / "run")
    weft.save(tmp_path / "run", sample(), step=5).wait()
    assert weft.saved_steps(tmp_path / "run") == [1, 5]


def test_the_end_of_the_program_waits(tmp_path):
    code = ("import sys, numpy as np, weft\n"
            "weft.save(sys.argv[1], {'a': np.ones(4_000_000)}, step=1)\n")
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr
    assert weft.saved_steps(tmp_path) == [1]


def test_the_end_of_the_program_fails_with_a_save(tmp_path):
    """Which nobody has waited for."""
    code = ("import os, sys, numpy as np, weft\n"
            "weft.save(sys.argv[1] + '/run', {'a': np.ones(4)}, step=1).wait()\n"
            "os.rename(sys.argv[1] + '/run', sys.argv[1] + '/away')\n"
            "weft.save(sys.argv[1] + '/run', {'a': np.ones(4)}, step=2)\n"
            "print('done')\n")
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 1 and result.stdout == "done\n"
    assert result.stderr.startswith("error: checkpoint of step 2: ") and "Traceback" not in result.stderr


def test_a_damaged_checkpoint_stops_no_later_save(tmp_path):
    """Of a program that continues from the one before it."""
    for step in (2, 4, 6):
        weft.save(tmp_path, {"a": np.full(4, step)}, step=step).wait()
    damage(tmp_path, 6)
    code = ("import sys, warnings, weft\n"
            "warnings.simplefilter('ignore')\n"
            "found = weft.restore(sys.argv[1], skip_damaged=True)\n"
            "assert (found['a'] == 4).all()\n"
            "weft.save(sys.argv[1], found, step=5).wait()\n")
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert weft.saved_steps(tmp_path) == [2, 4, 5, 6]


def test_bad_steps_and_metadata(tmp_path):
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        weft.save(tmp_path, {}, step=1.5)
    with pytest.raises(TypeError, match="metadata must be texts by name, got {'a': 1}"):
        weft.save(tmp_path, {}, step=1, metadata={"a": 1})
    weft.save(tmp_path, {}, step=1).wait()
    with pytest.raises(FileNotFoundError, match="no checkpoint of step 2; there is that of step 1"):
        weft.restore(tmp_path, step=2)


def test_a_later_step_of_another_run(tmp_path):
    code = ("import sys, numpy as np, weft\n"
            "weft.save(sys.argv[1], {'a': np.ones(4)}, step=int(sys.argv[2])).wait()\n")
    ends = [subprocess.run([sys.executable, "-c", code, str(tmp_path), step], capture_output=True, text=True)
            for step in ("7", "5", "8")]
    assert [end.returncode for end in ends] == [0, 1, 0]
    assert f"checkpoint of step 5: {tmp_path}/step-00000007 is later and was there before" in ends[1].stderr
    assert weft.saved_steps(tmp_path) == [7, 8]


def test_a_saving_has_a_name(tmp_path):
    saving = weft.save(tmp_path, {}, step=2)
    saving.wait()
    assert repr(saving) == f"Saving({saving.path!r})"


def trained(mesh, specs):
    """A session of steps w, m = w - m, m + w * x."""
    step = weft.jit(lambda w, m, x: (w - m, m + w * x), mesh=mesh, donate_argnums=(0, 1),
                    in_shardings=(*specs, P()), out_shardings=specs)
    f32 = weft.ShapeDtypeStruct((9, 8), "float32")
    return step.lower(f32, f32, np.float32(0)).compile().session()


def test_states_of_sessions(tmp_path):
    """Saved from one mesh and restored on others, and by name on the host."""
    grid = weft.make_mesh((2, 2), ("a", "b"))
    first = trained(grid, (P("a", "b"), P(None, "a")))
    w, m = np.arange(72, dtype=np.float32).reshape(9, 8), np.ones((9, 8), np.float32)
    first.set_state("w", w)
    first.set_state("m", m)
    entry = first.plan.entries[0].name
    first.set_input(entry, "x", np.float32(0.5))
    first.prepare_save(tmp_path)
    for step in (1, 2):
        first.run(entry)
        first.save(tmp_path, step=step)
    first.save(tmp_path, step=2).wait()
    for mesh, specs in [(grid, (P("b"), P("b", "a"))), (weft.make_mesh((4,), ("c",)), (P("c"), P(None, "c"))),
                        (weft.make_mesh((8,), ("c",)), (P("c"), P(None, "c"))), (weft.make_mesh((1,), ("c",)), (P(), P()))]:
        second = trained(mesh, specs)
        assert second.restore(tmp_path) == 2
        for name in ("w", "m"):
            np.testing.assert_array_equal(second.state(name), first.state(name))
        assert second.restore(tmp_path, step=1) == 1
    found = weft.restore(tmp_path, like={"w": w, "m": m})
    np.testing.assert_array_equal(found["w"], first.state("w"))
    weft.save(tmp_path / "host", {"w": w, "m": m}, step=7).wait()
    assert second.restore(tmp_path / "host") == 7
    np.testing.assert_array_equal(second.state("w"), w)
    damage(tmp_path, 2)
    with pytest.raises(weft.ExecutionError, match="has changed since the file was written"):
        second.restore(tmp_path)
    with pytest.warns(RuntimeWarning, match="skipped a damaged checkpoint"):
        assert second.restore(tmp_path, skip_damaged=True) == 1


PROGRAM = """
import sys
import numpy as np
import weft
from test_checkpoints import sample, trained
from weft import P

weft.distributed.initialize()
folder, again = sys.argv[1:]
session = trained(weft.make_mesh((4,), ("c",)), (P("c"), P(None, "c")))
session.set_state("w", np.arange(72, dtype=np.float32).reshape(9, 8))
session.set_state("m", np.ones((9, 8), np.float32))
entry = session.plan.entries[0].name
session.set_input(entry, "x", np.float32(0.5))
if again == "again":
    assert session.restore(folder + "/states") == 2
session.run(entry)
session.run(entry)
session.save(folder + "/states", step=4 if again == "again" else 2)
weft.save(folder + "/tree", sample(4), step=1).wait()
tree = weft.restore(folder + "/tree", like=sample())
assert (tree["params"]["w"] == sample(4)["params"]["w"]).all()
alone = trained(weft.make_mesh((1,), ("c",)), (P(), P()))
alone.set_state("w", np.ones((9, 8), np.float32))
alone.set_state("m", np.ones((9, 8), np.float32))
alone.save(folder + "/alone", step=1).wait()
"""


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_processes_write_what_one_does(mpirun, tmp_path):
    """Also when one continues what the others have begun."""
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for folder, first, second in [("one", [], []), ("two", [*mpirun, "-n", "2"], []),
                                  ("four", [], [*mpirun, "-n", "4"])]:
        for launcher, again in ((first, "begin"), (second, "again")):
            result = subprocess.run([*launcher, sys.executable, "-c", PROGRAM, str(tmp_path / folder), again],
                                    env=environment, capture_output=True, text=True, timeout=100)
            assert result.returncode == 0, result.stdout + result.stderr
    assert weft.saved_steps(tmp_path / "one" / "states") == [2, 4]
    assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(tmp_path / "four")


ARRAYS = """
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
folder = sys.argv[1]
grid, line = weft.make_mesh((2, 2), ("a", "b")), weft.make_mesh((4,), ("c",))
w, b = np.arange(63, dtype=np.float32).reshape(9, 7), np.arange(5, dtype=np.int32)
whole = {"w": w, "b": b, "n": np.float32(3)}
tree = weft.device_put({"w": w, "b": b}, {"w": weft.NamedSharding(grid, P("a", "b")), "b": weft.NamedSharding(grid, P("b"))})
tree["n"] = whole["n"]
weft.save(folder, tree, step=1).wait()
# What a call leaves on the ranks.
step = weft.jit(lambda w, x: (w + x, (w * x).sum()), mesh=grid, in_shardings=(P("a", "b"), P()),
                out_shardings=(P("a", "b"), P()), donate_argnums=0)
w1, total = step(tree["w"], np.float32(1))
weft.save(folder, {"w": w1, "b": tree["b"], "n": total}, step=2).wait()
for mesh, specs in [(grid, (P("b", "a"), P())), (line, (P("c"), P("c"))), (line, (P(), P()))]:
    like = {"w": weft.ShapeDtypeStruct(w.shape, w.dtype, sharding=weft.NamedSharding(mesh, specs[0])),
            "b": weft.ShapeDtypeStruct(b.shape, b.dtype, sharding=weft.NamedSharding(mesh, specs[1])),
            "n": whole["n"]}
    for number, expected in [(1, w), (2, w + 1)]:
        found = weft.restore(folder, like, step=number)
        assert isinstance(found["w"], weft.Array) and found["w"].sharding == like["w"].sharding
        everywhere = weft.distributed.process_allgather(found)
        assert (everywhere["w"] == expected).all() and (everywhere["b"] == b).all()
        assert found["n"] == (3 if number == 1 else w.sum())
# A plan of one rank runs in every process.
alone = weft.NamedSharding(weft.make_mesh((1,), ("one",)), P())
weft.save(folder + "/alone", {"w": weft.device_put(w, alone)}, step=1).wait()
found = weft.restore(folder + "/alone", {"w": weft.ShapeDtypeStruct(w.shape, w.dtype, sharding=alone)})["w"]
assert isinstance(found, weft.Array) and (np.asarray(found) == w).all()
# Where the arrays lie is no part of what is restored.
again = weft.restore(folder, tree | {"w": w1}, step=2)
w2, _ = step(again["w"], np.float32(1))
assert (weft.distributed.process_allgather(w2) == w + 2).all()
"""


def test_arrays_on_the_ranks(mpirun, tmp_path):
    """Each process writes and reads what its ranks hold; the files are those of one process."""
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for folder, launcher in [("one", []), ("two", [*mpirun, "-n", "2"]), ("four", [*mpirun, "-n", "4"])]:
        result = subprocess.run([*launcher, sys.executable, "-c", ARRAYS, str(tmp_path / folder)],
                                env=environment, capture_output=True, text=True, timeout=100)
        assert result.returncode == 0, result.stdout + result.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(tmp_path / "four")
    found = weft.restore(tmp_path / "two", step=2)
    np.testing.assert_array_equal(found["w"], np.arange(63, dtype=np.float32).reshape(9, 7) + 1)


OTHER = """
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
mesh, which = weft.make_mesh((4,), ("c",)), weft.process_index()
def put(spec, mesh=mesh):
    return weft.device_put(np.ones((4, 4), np.float32), weft.NamedSharding(mesh, spec))
trees = {
    "step": {"w": put(P("c"))},
    "kind": {"w": put(P("c")) if which else np.ones((4, 4), np.float32)},
    "layout": {"w": put(P("c") if which else P(None, "c"))},
    "mesh": {"w": put(P("c"), mesh if which else weft.make_mesh((2,), ("c",)))},
    "values": {"w": put(P("c")), "seed": np.int32(which)},
    "more": {"w": put(P("c"))} | ({"x": np.ones(2)} if which else {}),
}
for name, tree in trees.items():
    try:
        weft.save(sys.argv[1], tree, step=1 + which if name == "step" else 1)
    except ValueError as error:
        print(f"process {which}: {name}: {error}", flush=True)
like = weft.ShapeDtypeStruct((4, 4), "float32", sharding=weft.NamedSharding(mesh, P("c")))
weft.save(sys.argv[1], {"w": put(P("c"))}, step=1).wait()
try:  # process 1 asks for a tensor that the checkpoint does not have
    weft.restore(sys.argv[1], {"w": like} | ({"v": like} if which else {}))
except (ValueError, weft.ExecutionError) as error:
    print(f"process {which}: like: {error}".replace(chr(10), ""), flush=True)
"""


def test_all_learn_that_they_do_not_save_the_same(mpirun, tmp_path):
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([*mpirun, "-n", "2", sys.executable, "-c", OTHER, str(tmp_path)],
                            env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    for process in (0, 1):
        said = f"process {process}: "
        for text in ["step: process 1 saves step 2, and process 0 step 1; all save the same",
                     "kind: process 1 saves float32[4, 4] w laid out as P('c',) on ",
                     "layout: process 1 saves float32[4, 4] w laid out as P('c',) on ",
                     "mesh: process 1 saves float32[4, 4] w laid out as P('c',) on ",
                     "values: process 1 saves int32[] seed with the checksum ",
                     "more: process 1 saves float64[2] x with the checksum ",
                     f"like: {tmp_path}/step-00000001 is not like the tree:  v is not in it"]:
            assert said + text in result.stdout, result.stdout


DAMAGED = """
import sys
import numpy as np
import weft

weft.distributed.initialize()
sharding = weft.NamedSharding(weft.make_mesh((4,), ("c",)), weft.P("c"))
like = weft.ShapeDtypeStruct((8, 4), "float32", sharding=sharding)
try:
    weft.restore(sys.argv[1], {"w": like})
except weft.ExecutionError as error:
    print(f"process {weft.process_index()}: {error}", flush=True)
assert (weft.distributed.process_allgather(weft.restore(sys.argv[1], {"w": like}, skip_damaged=True))["w"] == 1).all()
"""


def test_all_learn_of_a_damaged_shard(mpirun, tmp_path):
    """Which one of them reads."""
    for step in (1, 2):
        weft.save(tmp_path, {"w": np.full((8, 4), step, np.float32)}, step=step).wait()
    damage(tmp_path, 2)
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([*mpirun, "-n", "2", sys.executable, "-c", DAMAGED, str(tmp_path)],
                            env=environment, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    for process in (0, 1):
        assert (f'process {process}: {tmp_path}/step-00000002/model-00001-of-00001.safetensors: tensor "w" has changed '
                "since the file was written") in result.stdout


DIFFERENT = """
import sys
import numpy as np
import weft
from test_checkpoints import trained
from weft import P

weft.distributed.initialize()
session = trained(weft.make_mesh((2,), ("c",)), (P("c"), P(None, "c")))
session.restore(sys.argv[1], step=1 + weft.process_index())
"""


def test_processes_restore_the_same_step(mpirun, tmp_path):
    tree = {name: np.zeros((9, 8), np.float32) for name in ("w", "m")}
    for step in (1, 2):
        weft.save(tmp_path, tree, step=step).wait()
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([*mpirun, "-n", "2", sys.executable, "-c", DIFFERENT, str(tmp_path)], env=environment,
                            capture_output=True, text=True, timeout=100)
    assert result.returncode != 0
    assert ("process 0 restores the checkpoint of step 1, process 1 that of step 2; is the folder on a file system "
            "that all share?") in result.stderr


def test_the_index_of_the_hub(tmp_path):
    weft.save(tmp_path, sample(), step=1).wait()
    index = json.loads((tmp_path / "step-00000001" / "model.safetensors.index.json").read_text())
    assert index["weight_map"]["params['w']"] == "model-00001-of-00001.safetensors"
    # "=" has a meaning on command lines.
    assert "params['b%3Dc']" in index["weight_map"]
