# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every value says where its sharding came from, and every tensor of the peak what it costs."""

import json

import pytest
import reported
from test_lock import mlp

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main

SPECS = {"w1": P(None, "model"), "w2": P("model", None)}


@pytest.fixture(scope="module")
def compiled():
    return mlp(SPECS, sizes=(1024, 4096), rows=512)


def test_an_argument_has_its_annotation(compiled):
    (why,) = compiled.why_value("params['w1']")
    assert (why.name, why.type, why.spec) == ("\"params['w1']\"", "1024x4096xf32", P(None, "model"))
    assert why.annotation.startswith("\"params['w1']\" (argument 0) annotated as P(None, 'model') (test_why_value.py:")
    assert why.axes == {"model": why.annotation}


def test_a_value_has_the_way_of_each_axis(compiled):
    why = compiled.why_value("tanh (mlp.py:3)")[0]
    assert why.spec == P("data", "model")
    assert why.axes["data"].startswith("\"x\" (argument 2) annotated as P('data', None) (")
    assert why.axes["model"].startswith("\"params['w1']\" (argument 0) annotated as P(None, 'model') (")
    assert why.axes["model"].endswith(", through dot_general (mlp.py:3), tanh (mlp.py:3)")
    assert all(len(line) <= 80 for line in str(why).splitlines())


def test_what_no_annotation_reaches_is_said_to_be_whole():
    shape = weft.ShapeDtypeStruct((8,), "float32")
    made = weft.jit(lambda x, y: (wnp.tanh(x), wnp.exp(y)), mesh=weft.Mesh((2,), ("d",)),
                    in_shardings=(P("d"), None)).lower(shape, shape).compile(None)
    assert "whole: no annotation reaches it" in str(made.why_value("y")[0])


def test_all_values_of_a_line_are_said_once(compiled):
    found = list(map(str, compiled.why_value("mlp.py:3")))
    assert len(found) > 2 and len(found) == len(set(found))


def test_values_that_are_not_there(compiled, tmp_path):
    with pytest.raises(ValueError, match="step has no value with 'sinh' in its name, op or location"):
        compiled.why_value("sinh")
    compiled.save(tmp_path / "a.plan")
    with pytest.raises(ValueError, match="a plan that was loaded has no values but arguments and results"):
        weft.load(tmp_path / "a.plan").why_value("tanh")


# Memory

def test_the_peak_is_what_is_alive(compiled):
    why, memory = compiled.why_memory(), compiled.memory()
    assert why.arena == memory.arena and sorted(map(str, why.tensors)) == sorted(map(str, memory.peak))
    assert [each.saved_bytes for each in why.tensors] == sorted((each.saved_bytes for each in why.tensors), reverse=True)
    assert all(0 <= each.saved_bytes <= each.bytes for each in why.tensors)
    # What lives from call to call is there at every moment.
    states = [each for each in why.tensors if each.purpose == "parameters"]
    assert states and all(each.saved_bytes == each.bytes for each in states)


def test_savings_are_those_of_a_program_without_the_tensor():
    """A large intermediate value beside a second moment that is nearly as high."""
    def two_moments(second):
        def f(x):
            first = wnp.tanh(x @ x).sum()
            return first + (wnp.tanh(x[:second] @ x) @ x).sum()

        return weft.jit(f, mesh=weft.Mesh((1,), ("d",))).lower(weft.ShapeDtypeStruct((512, 512), "float32")).compile(None)

    alone, beside = two_moments(8).why_memory(), two_moments(504).why_memory()
    biggest = lambda why: max((each for each in why.tensors if each.purpose == "temporaries"), key=lambda each: each.bytes)
    assert biggest(alone).saved_bytes > 10 * max(biggest(beside).saved_bytes, 1)


def test_memory_of_pipelines_has_its_pass():
    why = reported.pipelined().why_memory()
    assert why.segment and any(each.slots > 1 for each in why.tensors)
    assert " in use at " in str(why).splitlines()[0] and all(len(line) <= 80 for line in str(why).splitlines())


# The command

def test_the_command_says_both(tmp_path, compiled, capsys):
    (tmp_path / "a.mlir").write_text(compiled._source.text)
    compiled.save(tmp_path / "a.plan")
    assert main(["why", str(tmp_path / "a.mlir"), "--value", "params['w2']"]) == 0
    assert capsys.readouterr().out == f"""entry step\n\n{compiled.why_value("params['w2']")[0]}\n"""
    assert main(["why", str(tmp_path / "a.plan"), "--memory"]) == 0
    assert capsys.readouterr().out == f"entry step\n\n{compiled.why_memory()}\n"
    assert main(["why", str(tmp_path / "a.plan"), "--memory", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["step"]
    assert found["arena"] == compiled.memory().arena and found["tensors"][0]["saved_bytes"] > 0
    assert main(["why", str(tmp_path / "a.mlir"), "--value", "params['w2']", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["step"][0]["spec"] == "P('model', None)"


def test_bad_input_of_the_command(tmp_path, compiled, capsys):
    compiled.save(tmp_path / "a.plan")
    assert main(["why", str(tmp_path / "a.plan"), "--value=tanh"]) == 2
    assert "a plan that was loaded has no values" in capsys.readouterr().err
    assert main(["why", str(tmp_path / "a.plan"), "all_gather", "--memory"]) == 2
    assert "NAME is for collectives: leave out 'all_gather', or --value and --memory" in capsys.readouterr().err
