# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft specs`: what it prints, pasted into the program, gives the same specs."""

import json

import pytest

import weft
from weft import P
from weft.__main__ import main
from weft.models import gpt, llama
from weft.written_rules import rules_of

SIZES = dict(layers=3, hidden=32, heads=4, vocabulary=64, sequence=16)


@pytest.mark.parametrize("step", [
    gpt(**SIZES, data=2, tensor=2), gpt(**SIZES, data=2, tensor=2, sharded="zero1"), llama(**SIZES, data=4, sharded="fsdp")],
    ids=["tensor", "zero1", "fsdp"])
def test_what_is_printed_can_be_pasted(step, tmp_path, capsys):
    compiled = step.lower().compile(None)
    compiled.save(tmp_path / "step.plan")
    assert main(["specs", str(tmp_path / "step.plan")]) == 0
    pasted = {"weft": weft, "P": P}
    exec(capsys.readouterr().out, pasted)
    assert pasted["mesh"] == compiled.plan.mesh
    state, batch = pasted["in_shardings"]
    found = weft.tree.flatten_with_paths({"state": state(step.state()), "batch": weft.tree.map(lambda _: batch, step.batch())}, "")
    assert dict((path.replace("['state']", "state", 1).replace("['batch']", "batch", 1), spec) for path, spec in found[0]) == {
        name: sharding.spec for name, sharding in compiled.input_shardings.items()}


def test_json(tmp_path, capsys):
    compiled = gpt(**SIZES, data=2).lower().compile(None)
    compiled.save(tmp_path / "step.plan")
    assert main(["specs", str(tmp_path / "step.plan"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mesh"] == {"data": 2}
    assert found["entries"]["train_step"]["batch['tokens']"] == "P('data',)"


def test_rules_are_short_and_of_one_spec_each():
    specs = {f"params/{i}/{name}": spec for i in range(12) for name, spec in
             {"wq": P(None, "model"), "wo": P("model"), "scale": P()}.items()}
    specs |= {f"mu/{i}/{name}": P("data") for i in range(12) for name in ("wq", "wo", "scale")}
    found = rules_of(specs)
    assert weft.rules(found)(specs) == specs and len(found) <= 6


def test_layers_that_differ_are_told_apart():
    specs = {"0/w": P("model"), "1/w": P(), "10/w": P()}
    assert weft.rules(rules_of(specs))(specs) == specs
