# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft lock`, `check` and `diff`: what they say is what the plan has, and only decisions change it."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import tomllib

import pytest
import reported

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main
from weft.lockfile import Lock, LockError
from weft.plan_diff import compare

MLP = """
def loss({params}, {x}, {y}):
    {h} = wnp.tanh({x} @ {params}["w1"])
    return (({h} @ {params}["w2"] - {y}) ** 2).mean()

def step({params}, {x}, {y}):
    value, gradients = weft.value_and_grad(loss)({params}, {x}, {y})
    return weft.tree.map(lambda w, g: w - 0.1 * g, {params}, gradients), value
"""
NAMES = {"params": "params", "x": "x", "y": "y", "h": "h"}
SPECS = {"w1": P(None, "model"), "w2": P("model")}


def mlp(specs=SPECS, batch=P("data"), mesh=(2, 2), text=MLP, sizes=(256, 512), rows=64, dtype="float32", order=None,
        **options):
    """Two layers under gradient descent, compiled from a text so that lines and names can be moved."""
    space = {"weft": weft, "wnp": wnp}
    exec(compile(text.format(**NAMES) if "{params}" in text else text, "mlp.py", "exec"), space)
    shape = weft.ShapeDtypeStruct
    width, hidden = sizes
    shapes = {"w1": shape((width, hidden), dtype), "w2": shape((hidden, width), dtype)}
    names = order or ("w1", "w2")
    x = shape((rows, width), dtype)
    jitted = weft.jit(space["step"], mesh=weft.Mesh(mesh, ("data", "model")), donate_argnums=0,
                      in_shardings=({name: specs[name] for name in names}, batch, batch))
    return jitted.lower({name: shapes[name] for name in names}, x, x).compile(None, **options)


def lock(compiled, cluster=""):
    return Lock.of(compiled.plan, cluster)


@pytest.fixture(scope="module")
def plain():
    return lock(mlp())


def difference(before, after):
    return compare(before, after, ("a", "b"))


# The file

def test_it_has_what_the_plan_has(plain):
    compiled = mlp()
    entry = tomllib.loads(str(plain))["entry"]["step"]
    memory, cost = compiled.memory(), compiled.cost()
    assert entry["bytes_sent"] == cost.wire_bytes
    assert entry["memory"] == {"arena": memory.arena} | {name: size for name, size in memory.at_peak.items() if size}
    assert entry["arguments"]["params['w1']"] == "float32[256, 512] P(None, 'model')"
    assert sum(entry["calls"].values()) == cost.collectives
    assert entry["predicted_us"] == pytest.approx(weft.report(compiled).step["step_seconds"] * 1e6, rel=1e-3)
    over_model, = [each for each in entry["communication"] if each["axes"] == ["model"]]
    assert over_model == {"kind": "all_reduce", "axes": ["model"], "reduction": "sum", "size": "32.0 KiB", "count": 1,
                          "cause": "partial sums over \"model\" of dot_general, needed as P('data', None) by sub"}


def test_combined_collectives_have_a_row_for_each_cause():
    together, apart = lock(mlp()), lock(mlp(combine_collectives=False))
    assert sum(together.entries["step"].calls.values()) < sum(apart.entries["step"].calls.values())
    assert together.entries["step"].traffic == apart.entries["step"].traffic


def test_layers_that_are_alike_are_one_row():
    made = lock(reported.pipelined())
    text = str(made)
    assert "['blocks'][*]['attn']['wq']" in text and "[0]" not in text
    (entry,) = made.entries.values()
    rows = entry.traffic
    assert {each.kind for each in rows} >= {"all_reduce", "message"}
    assert any(each.call == "message over pipeline" and number == 4 for each, number in rows.items())


def test_it_is_read_as_it_was_written(plain):
    for made in (plain, lock(reported.pipelined())):
        assert Lock.read(str(made), "a.lock") == made
        assert str(Lock.read(str(made), "a.lock")) == str(made)


def test_names_that_toml_must_quote():
    function = """func.func @f(%x: tensor<8xf32> {weft.name = "a \\"b\\" \\\\ \u00e9"}) -> (tensor<8xf32> {weft.name = "y"}) {
      return %x : tensor<8xf32>
    }"""
    made = Lock.of(weft.Plan(weft.lowered.Source(function, "f.mlir").compile("none")))
    assert [*made.entries["f"].arguments] == ['a "b" \\ \u00e9']
    assert Lock.read(str(made), "f.lock") == made


# What changes nothing

REBUILD = """
import random, sys
sys.path.insert(0, {folder!r})
import test_lock
for _ in range(10):
    sys.stdout.write(str(test_lock.lock(test_lock.mlp(order=random.sample(("w1", "w2"), 2)))) + "\\0")
"""


@pytest.mark.parametrize("seed", range(5))
def test_hash_seeds_and_orders_of_dicts_change_no_byte(plain, seed):
    ran = subprocess.run([sys.executable, "-c", REBUILD.format(folder=os.path.dirname(__file__))], capture_output=True,
                         text=True, check=True, env={**os.environ, "PYTHONHASHSEED": str(seed)})
    made = ran.stdout.split("\0")
    assert len(made) == 11 and set(made) == {str(plain), ""}


def test_moved_lines_and_renamed_variables_change_no_byte(plain):
    moved = "\n" * 40 + MLP.replace("\n    return", "\n\n\n    return")
    assert str(lock(mlp(text=moved))) == str(plain)
    assert str(lock(mlp(text=MLP.format(**NAMES | {"h": "hidden"}).replace("loss", "error").replace("value,", "v,")
                        .replace(", value", ", v")))) == str(plain)
    # The product and the difference that needs it, on two lines.
    split = MLP.replace('{h} @ {params}["w2"] - {y}', '{h} @ {params}["w2"]\n        - {y}')
    assert split != MLP and str(lock(mlp(text=split))) == str(plain)


def test_names_may_have_words_of_the_compiler():
    def step(x, w):
        value, gradient = weft.value_and_grad(lambda w: ((x @ w["of (all)"]) ** 2).sum())(w)
        return {"what is over there": value, "updated": w["of (all)"] - gradient["of (all)"]}

    compiled = weft.jit(step, mesh=weft.Mesh((2,), ("data",)), in_shardings=(P("data"), P()), out_shardings=P()).lower(
        weft.ShapeDtypeStruct((8, 16), "float32"), {"of (all)": weft.ShapeDtypeStruct((16, 4), "float32")}).compile(None)
    causes = {traffic.cause for traffic in lock(compiled).entries["step"].traffic}
    assert causes == {
        'partial sums over "data" of reduce, needed as P() by result "out[\'what is over there\']"',
        "partial sums over \"data\" of dot_general (gradient of w['of (all)']), needed as P(None, None) by sub"}


def test_renamed_arguments_are_no_difference(plain):
    renamed = lock(mlp(text=MLP.format(**NAMES | {"params": "weights", "x": "y", "y": "targets"})))
    assert "weights['w1']" in str(renamed) and str(renamed) != str(plain)
    assert not difference(plain, renamed) and not difference(renamed, plain)
    # An argument may have the name of an axis.
    assert not difference(lock(mlp(text=MLP.format(**NAMES | {"x": "data"}))), plain)


# What is a difference

REGRESSIONS = {
    "w1 replicated": dict(specs=SPECS | {"w1": P()}),
    "w2 replicated": dict(specs=SPECS | {"w2": P()}),
    "both replicated": dict(specs={"w1": P(), "w2": P()}),
    "w1 transposed": dict(specs=SPECS | {"w1": P("model")}),
    "w2 transposed": dict(specs=SPECS | {"w2": P(None, "model")}),
    "both transposed": dict(specs={"w1": P("model"), "w2": P(None, "model")}),
    "w1 over data": dict(specs=SPECS | {"w1": P(None, "data")}),
    "w2 over data": dict(specs=SPECS | {"w2": P("data")}),
    "w1 over both": dict(specs=SPECS | {"w1": P("data", "model")}),
    "w2 over both": dict(specs=SPECS | {"w2": P("model", "data")}),
    "w1 over one dimension": dict(specs=SPECS | {"w1": P(None, ("data", "model"))}),
    "batch replicated": dict(batch=P()),
    "batch over model": dict(batch=P("model")),
    "batch over both": dict(batch=P(("data", "model"))),
    "features of the batch": dict(batch=P("data", "model")),
    "other mesh": dict(mesh=(4, 1)),
    "larger mesh": dict(mesh=(4, 2)),
    "wider": dict(sizes=(512, 512)),
    "more rows": dict(rows=128),
    "bfloat16": dict(dtype="bfloat16"),
    "not combined": dict(combine_collectives=False),
}


@pytest.mark.parametrize("change", REGRESSIONS.values(), ids=REGRESSIONS)
def test_regressions_are_found(plain, change):
    changed = lock(mlp(**change))
    found = difference(plain, changed)
    assert found and difference(changed, plain)
    assert found.as_dict()["entries"] or found.settings


def test_gone_new_and_changed_rows(plain):
    entry, = difference(plain, lock(mlp(rows=128))).entries
    change, = [each for each in entry.traffic if each.after.axes == ("model",)]
    assert (change.before.size, change.after.size) == ("32.0 KiB", "64.0 KiB")
    entry, = difference(plain, lock(mlp(specs=SPECS | {"w2": P(None, "model")}))).entries
    assert {(each.before is None, each.after is None) for each in entry.traffic} >= {(True, False), (False, True)}
    assert entry.arguments == {"params['w2']": ("float32[512, 256] P('model',)", "float32[512, 256] P(None, 'model')")}


def test_one_more_of_the_same():
    def stack(layers):
        def f(w, x):
            for _ in range(layers):
                x = wnp.tanh(x @ w)
            return x

        shape = weft.ShapeDtypeStruct((64, 64), "float32")
        return lock(weft.jit(f, mesh=weft.Mesh((2,), ("model",)), in_shardings=(P("model"), P(None, "model")))
                    .lower(shape, shape).compile(None))

    entry, = difference(stack(3), stack(5)).entries
    assert [(each.count_before, each.count_after) for each in entry.traffic] == [(2, 4)]


# The commands

@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    mlp().save(folder / "a.plan")
    mlp(specs=SPECS | {"w2": P(None, "model")}).save(folder / "b.plan")
    weft.jit(lambda x: x + 1).lower(weft.ShapeDtypeStruct((8,), "float32")).compile(None).save(folder / "other.plan")
    return folder


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    for path in files.glob("*.lock"):
        path.unlink()
    return files


def test_the_lock_is_printed_or_written(here, plain, capsys):
    assert main(["lock", "a.plan"]) == 0
    assert capsys.readouterr().out == str(plain)
    assert main(["lock", "a.plan", "-o", "a.lock", "--cluster=dgx-a100"]) == 0
    assert Lock.read((here / "a.lock").read_text(), "").machine == "DGX A100"
    assert main(["lock", "a.plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plain.as_dict()


def test_check(here, capsys):
    main(["lock", "a.plan", "-o", "a.lock", "--cluster=dgx-a100"])
    assert main(["check", "a.plan", "a.lock"]) == 0
    assert capsys.readouterr().out == "a.plan matches a.lock\n"
    assert main(["check", "b.plan", "a.lock"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "b.plan differs from a.lock" and max(map(len, lines)) <= 80
    assert lines[2].startswith("    predicted time on DGX A100 ")
    assert "  ~ argument params['w2'], float32[512, 256]: P('model',) -> P(None, 'model')" in lines
    assert "      tanh (mlp.py:3) held as P('data', 'model'), needed as P('data', None) by" in lines
    assert lines[-1] == "if that is intended: weft lock b.plan -o a.lock --cluster=dgx-a100"
    assert main(["check", "b.plan", "a.lock", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["entries"]["step"]["arguments"]["params['w2']"][1] == "float32[512, 256] P(None, 'model')"


def test_diff(here, capsys):
    assert main(["diff", "a.plan", "a.plan"]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert main(["diff", "a.plan", "b.plan", "--cluster=dgx-a100"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    gone = textwrap.dedent("""\
          - all_reduce over model: 1 x 32.0 KiB
              partial sums over "model" of dot_general (mlp.py:4), needed as P('data',
              None) by sub there
        """)
    assert textwrap.indent(gone, "  ") in text
    assert "    all_gather over model: 0 calls -> 1 call, takes " in text
    assert main(["diff", "a.plan", "b.plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machine"] == "DGX H100"


def test_meshes_and_entries_that_differ(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    function = """func.func @{0}(%x: tensor<8xf32> {{weft.name = "x"}}) -> (tensor<8xf32> {{weft.name = "y"}}) {{
      return %x : tensor<8xf32>
    }}
    """
    for names in ("fg", "fh"):
        text = "".join(map(function.format, names))
        weft.Plan(weft.lowered.Source(text, "f.mlir").compile("none")).save(f"{names}.plan")
    assert main(["diff", "fg.plan", "fh.plan"]) == 0
    assert capsys.readouterr().out == "entry g is gone\nentry h is new\n"
    mlp().save("a.plan")
    mlp(mesh=(4, 2)).save("b.plan")
    main(["diff", "a.plan", "b.plan"])
    assert capsys.readouterr().out.startswith("mesh: data=2, model=2 -> data=4, model=2\nentry step\n")


def test_as_a_module(here):
    ran = subprocess.run([sys.executable, "-m", "weft", "lock", "a.plan"], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout.startswith("# Written by weft lock;") and not ran.stderr


def test_a_reader_that_stops_early(here):
    ran = subprocess.run(f"{sys.executable} -m weft lock a.plan | head -c 0; echo ${{PIPESTATUS[0]}}", shell=True,
                         executable="/bin/bash", capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


# Bad input

GOOD = {"format": 1, "mesh": "", "target": "none", "cluster": "", "machine": "DGX H100"}


def as_toml(table):
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())


@pytest.mark.parametrize("text, expected", [
    ("]", "a.lock is not a lock file: "),
    ("mesh = 'data=2'", "a.lock is not a lock file: it has no format, expected 1; write it anew with weft lock"),
    ("format = 7", "a.lock has format 7, expected 1; write it anew with weft lock"),
    ("format = 1", "a.lock is not a whole lock file: it has no 'mesh'; write it anew with weft lock"),
    (as_toml(GOOD | {"mesh": 3}), "a.lock is not a whole lock file: mesh must be of type str, got 3"),
    (as_toml(GOOD) + "\n[entry]\nf = 3", "a.lock is not a whole lock file: expected a table with 'memory', got 3"),
    (as_toml(GOOD) + "\n[entry.f.memory]\narena = '8'", "a.lock is not a whole lock file: arena must be of type int, got '8'"),
])
def test_lock_files_that_cannot_be_read(here, capsys, text, expected):
    (here / "a.lock").write_text(text)
    assert main(["check", "a.plan", "a.lock"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {expected}")
    with pytest.raises(LockError):
        Lock.read(text, "a.lock")


def test_check_reports_what_is_wrong_with_both_files(here, capsys):
    (here / "a.lock").write_text("format = 1")
    assert main(["check", "none.plan", "a.lock"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and all(line.startswith("error: ") for line in errors)
    assert "a.lock is not a whole lock file" in errors[0] and "none.plan" in errors[1]
    assert main(["check", "none.plan", "none.lock"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[0] == "error: cannot open none.lock: No such file or directory"
    assert errors[1].startswith("error: none.plan: cannot open the file: No such file or directory"), errors


@pytest.mark.parametrize("arguments, expected", [
    (["lock", "none.plan"], "none.plan: "),
    (["lock", "a.plan", "--cluster=dgx-h101"], "cannot read the cluster file dgx-h101"),
    (["lock", "a.plan", "-o", "no/a.lock"], "cannot open no/a.lock: No such file or directory"),
    (["check", "a.plan", "none.lock"], "cannot open none.lock: No such file or directory"),
    (["check", "a.plan", "b.plan"], "b.plan is not a lock file: it is not UTF-8 text"),
    (["check", "a.lock", "a.lock"], "a.lock: "),
    (["diff", "a.plan", "other.plan"], "no entry in common: step of a.plan, but main of other.plan"),
])
def test_errors_of_the_command_line(here, capsys, arguments, expected):
    main(["lock", "a.plan", "-o", "a.lock"])
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and expected in error, error


def test_no_command(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2 and "the following arguments are required: COMMAND" in capsys.readouterr().err


def test_the_console_script_is_the_module():
    project = tomllib.loads((pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"weft": "weft.__main__:main"}
