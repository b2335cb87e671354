# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Compiled.what_if` and `weft try`: variants are what compiling them gives, ranked, with the next change."""

import json
import re

import pytest
from test_lock import MLP, NAMES

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main
from weft.lowered import Source
from weft.models import gpt
from weft.predicted import Predicted


def lowered(w2=P(None, "model"), mesh=(2, 2)):
    space = {"weft": weft, "wnp": wnp}
    exec(compile(MLP.format(**NAMES), "mlp.py", "exec"), space)
    shape = lambda *sizes: weft.ShapeDtypeStruct(sizes, "float32")
    jitted = weft.jit(space["step"], mesh=weft.Mesh(mesh, ("data", "model")), donate_argnums=0,
                      in_shardings=({"w1": P(None, "model"), "w2": w2}, P("data"), P("data")))
    return jitted.lower({"w1": shape(256, 512), "w2": shape(512, 256)}, shape(64, 256), shape(64, 256))


@pytest.fixture(scope="module")
def mlp():
    return lowered().compile(None)


@pytest.fixture
def program(mlp, tmp_path):
    path = tmp_path / "mlp.mlir"
    path.write_text(mlp._source.text)
    return str(path)


def only(found):
    """The variant beside the plan as it is."""
    assert len(found.variants) == 2 and not found.left_out
    return next(each for each in found.variants if each.change)


def test_specs_are_those_of_a_program_that_has_them(mlp):
    found = mlp.what_if(specs={"params['w2']": P("model")}, next_change=False)
    expected = lowered(P("model")).compile(None)
    variant = only(found)
    assert variant.change == "params['w2'] as P('model',)"
    assert variant.predicted == Predicted.of(expected)
    assert variant.compiled.input_shardings["params['w2']"].spec == P("model")
    assert variant.compiled.output_shardings[0]["w2"].spec == P("model")
    assert found.before.compiled is mlp and found.before.predicted == Predicted.of(mlp)
    assert found.next_change is None


@pytest.mark.parametrize("mesh", ["data=1,model=4", {"data": 1, "model": 4}, weft.Mesh((1, 4), ("data", "model"))])
def test_meshes_are_texts_sizes_or_meshes(mlp, mesh):
    variant = only(mlp.what_if(mesh=mesh, next_change=False))
    assert variant.predicted == Predicted.of(lowered(mesh=(1, 4)).compile(None))
    assert variant.change == "mesh data=1, model=4"


def test_several_are_planned_at_once_as_one_by_one(mlp):
    meshes = ["data=1,model=4", "data=4,model=1", "data=2,modle=2", "data=1,model=2", "data=2,model=1"]
    found = mlp.what_if(mesh=meshes, next_change=False)
    alone = [mlp.what_if(mesh=mesh, next_change=False) for mesh in meshes]
    assert {each.change: each.predicted for each in found.variants} == {
        each.change: each.predicted for one in alone for each in one.variants}
    assert found.left_out == alone[2].left_out and len(found.variants) == 5


def test_combinations_are_ranked_and_what_cannot_be_is_left_out(mlp):
    found = mlp.what_if(mesh=["data=1,model=4", "data=4,modle=1"], overlap_collectives=[True, False], next_change=False)
    assert len(found.variants) == 3 and len(found.left_out) == 2
    assert [each.predicted.step for each in found.variants] == sorted(each.predicted.step for each in found.variants)
    assert found.left_out[0] == (
        "mesh data=4, modle=1 and overlap_collectives true",
        "params['w1']: axis 'model' is not in the mesh, whose axes are 'data' (4), 'modle' (1); did you mean 'modle'?")
    lines = str(found).splitlines()
    assert lines[0].split() == ["step", "time", "exposed", "memory"] and "left out" in lines
    assert re.match(r"\d  as it is +[\d.]+ us +[\d.]+ % +[\d.]+ MiB  fits$", next(line for line in lines if "as it is" in line))


def test_what_fits_into_no_memory_is_left_out_or_behind(mlp):
    found = mlp.what_if(memory_limit=["1 KiB"], next_change=False)
    (change, reason), = found.left_out
    assert change == "memory_limit 1 KiB" and "does not fit the memory limit" in reason


def test_the_next_change_is_the_best_of_those_around(mlp):
    found = mlp.what_if()
    assert found.next_change.predicted.step < found.variants[0].predicted.step
    assert found.next_change.predicted == Predicted.of(found.next_change.compiled)
    assert str(found).splitlines()[-1].startswith(f"next: {found.next_change.change}: ")


def test_nothing_is_planned_twice(mlp, monkeypatch):
    """Neighbours of the best are the plan as it is and the other mesh, too."""
    planned = []
    compile = Source.compile
    monkeypatch.setattr(Source, "compile", lambda self, **options: planned.append((self.text, str(options))) or compile(self, **options))
    found = mlp.what_if(mesh=["data=1,model=4", "data=4,model=1"])
    assert len(found.variants) == 3 and len(planned) >= 3
    assert len(planned) == len(set(planned)) and mlp._source.text not in [text for text, _ in planned]


def test_rules_are_of_paths_or_their_ends(mlp):
    by_spec = only(mlp.what_if(specs={"params['w2']": P("model")}, next_change=False))
    for pattern in ("params/w2", "w2", "w[23]"):
        assert only(mlp.what_if(rules=[(pattern, P("model"))], next_change=False)).predicted == by_spec.predicted


def test_layers_are_named_together():
    compiled = gpt(layers=2, hidden=32, heads=4, vocabulary=64, sequence=16, data=2, tensor=2).lower().compile(None)
    variant = only(compiled.what_if(specs={"state['params']['blocks'][*]['mlp']['w2']": P()}, next_change=False))
    assert variant.change == "state['params']['blocks'][{0..1}]['mlp']['w2'] as P()"
    specs = variant.compiled.input_shardings
    assert all(specs[f"state['params']['blocks'][{i}]['mlp']['w2']"].spec == P() for i in range(2))


def test_schedules_of_a_pipeline():
    compiled = gpt(layers=4, hidden=32, heads=4, vocabulary=64, sequence=16, pipeline=2, global_batch=4).lower().compile(None)
    found = compiled.what_if(schedule=["1f1b", "gpipe", "zb-h1"], next_change=False)
    assert {each.change for each in found.variants} == {"", "schedule gpipe", "schedule zb-h1"}
    expected = gpt(layers=4, hidden=32, heads=4, vocabulary=64, sequence=16, pipeline=2, global_batch=4, schedule="zb-h1")
    zero_bubble = next(each for each in found.variants if each.change == "schedule zb-h1")
    assert zero_bubble.predicted == Predicted.of(expected.lower().compile(None))
    assert "bubble" in str(found)


@pytest.mark.parametrize("given, error, expected", [
    (dict(specs={"params['w3']": P()}), ValueError, r"no argument or result \"params\['w3'\]\"; did you mean \"params\['w"),
    (dict(specs={"params['w2']": "model"}), TypeError, "must be a PartitionSpec, got 'model'"),
    (dict(specs={"x": P(None, None, "data")}), ValueError, "x has 2 dimensions, and P\\(None, None, 'data'\\) is of 3"),
    (dict(rules=[("params/v2", P())]), ValueError, 'rule 1 "params/v2" matches no argument; did you mean \'params/w2\'?'),
    (dict(mesh="data"), ValueError, "a mesh is AXIS=SIZE,AXIS=SIZE,... with sizes of at least 1, got 'data'"),
    (dict(mesh="data=2,data=2"), ValueError, "has the axis 'data' twice"),
    (dict(mesh=4), TypeError, "a mesh is a weft.Mesh, sizes by axis or a text"),
    (dict(schedule="1f1b"), ValueError, "compiled without a pipeline"),
    (dict(memory_limits=3), ValueError, "what_if has no setting 'memory_limits'; did you mean 'memory_limit'?"),
    (dict(cluster="dgx-h101"), ValueError, "dgx-h101"),
])
def test_unknown_names_are_errors(mlp, given, error, expected):
    with pytest.raises(error, match=expected):
        mlp.what_if(**given)


def test_a_plan_that_was_loaded_has_no_program(mlp, tmp_path):
    mlp.save(tmp_path / "mlp.plan")
    with pytest.raises(ValueError, match="a plan that was loaded has no program to vary"):
        weft.load(tmp_path / "mlp.plan").what_if(mesh="data=4,model=1")


# The command line

def test_the_command_says_what_the_method_says(mlp, program, capsys):
    assert main(["try", program, "--mesh=data=1,model=4", "--spec=params['w2']=P('model', None)", "--no-next"]) == 0
    expected = mlp.what_if(mesh="data=1,model=4", specs={"params['w2']": P("model", None)}, next_change=False)
    assert capsys.readouterr().out == str(expected)
    assert main(["try", program, "--rule=w2=P('model')", "--option=memory_limit=1GiB,2GiB", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["variants"]) == 3 and found["next"]["step_seconds"] < found["variants"][0]["step_seconds"]
    assert {"change", "step_seconds", "memory_bytes", "fits"} <= found["variants"][0].keys()


@pytest.mark.parametrize("arguments, expected", [
    (["mlp.plan"], "mlp.plan is no program in text: write Lowered.as_text\\(\\) to a file that ends in .mlir"),
    (["none.mlir"], "No such file"),
    (["PROGRAM", "--spec=params['w2']"], "must be NAME=P\\(...\\), got"),
    (["PROGRAM", "--spec=params['w2']=P(model)"], "is no spec such as P\\('data', None\\)"),
    (["PROGRAM", "--spec=w=P()"], "the program has no argument or result 'w'"),
    (["PROGRAM", "--mesh=data=0"], "with sizes of at least 1, got 'data=0'"),
    (["PROGRAM", "--option=memory_limit"], "must be NAME=VALUE or NAME=VALUE,VALUE,..."),
    (["PROGRAM", "--option=memory=1"], "what_if has no setting 'memory'; did you mean 'memory_limit'?"),
    (["PROGRAM", "--entry=stop"], "has no function 'stop'; it has step"),
])
def test_errors_of_the_command(program, capsys, arguments, expected):
    try:
        status = main(["try", *(program if each == "PROGRAM" else each for each in arguments)])
    except SystemExit as exit_:
        status = exit_.code
    assert status == 2 and re.search(expected, capsys.readouterr().err)
