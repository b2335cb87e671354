# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reasons suggest removes or shrinks the collective, and the first suggestion mends what somebody got wrong."""

import re

import misannotated
import pytest
import replays
from test_lock import mlp

import weft
import weft.numpy as wnp
from weft import P
from weft.edit import Edit

# Of the programs of the table in docs/Explain.md those that have the most kinds of edits.
SOME = [(replays.of_parallelism, "gpt2", "dp"), (replays.of_parallelism, "gpt2", "tp+sp+vocab"),
        (replays.of_parallelism, "llama", "fsdp+checkpoint"), (replays.of_parallelism, "llama", "dp+tp+sp"),
        (replays.of_library, "llama, FSDP and tensor"), (replays.of_text, "examples/mlp_lm/mlp_lm_fsdp.mlir")]


def test_edits_remove_or_shrink_the_collective():
    found = [each for replay, *arguments in SOME for each in replay(*arguments)[0]]
    assert len(found) >= 40 and {each.edit.target for each in found} >= {"argument", "result"}
    assert not [each.problem for each in found if each.problem]
    useless = [f"{each.collective}: {each.edit}" for each in found if not each.helps]
    assert len(useless) <= 0.05 * len(found), "\n".join(useless)


def test_edits_of_constraints_remove_the_collective():
    def step(x):
        return weft.with_sharding_constraint(wnp.tanh(x), P(None, "model")) * 2.0

    lowered = weft.jit(step, mesh=weft.Mesh((4,), ("model",)), in_shardings=P("model", None)).lower(
        weft.ShapeDtypeStruct((64, 64), "float32"))
    (replay,), without = replays.replays(lowered.source.text, lowered.source.name)
    assert replay.edit.target == "constraint" and replay.edit.spec == P("model", None) and not without
    assert replay.helps and replay.sent_after < replay.sent_before


def test_the_first_suggestion_mends_what_somebody_got_wrong(request):
    references = {model: replays.traffic(misannotated.lower(model).compile(None, combine_collectives=False))
                  for model in misannotated.PLANTED}
    assert len(misannotated.CASES) == 30
    cases = misannotated.CASES[::1 if request.config.getoption("--all-misannotations") else 3]
    mended, harmless = [], []
    for model, name, wrong in cases:
        compiled = misannotated.lower(model, name, wrong).compile(None, combine_collectives=False)
        if replays.traffic(compiled) == references[model]:
            harmless.append((model, name, wrong))
        found = compiled.suggest()
        if found and replays.traffic(found[0].compiled) == references[model]:
            mended.append((model, name, wrong))
    assert not harmless
    assert len(mended) >= 0.9 * len(cases), set(cases) - set(mended)


# Suggestions

def test_a_suggestion_has_the_numbers_of_its_plan():
    compiled = mlp({"w1": P(None, "model"), "w2": P(None, "model")}, sizes=(1024, 4096), rows=512)
    found = compiled.suggest()
    assert [each.seconds for each in found] == sorted(each.seconds for each in found)
    first = next(each for each in found if each.edit.name == "params['w2']")
    assert first.edit.spec == P("model", None)
    assert first.bytes_sent == first.compiled.cost().wire_bytes < first.bytes_sent_before == compiled.cost().wire_bytes
    assert first.memory == first.compiled.memory().arena and first.memory_before == compiled.memory().arena
    assert re.fullmatch(r"annotate \"params\['w2'\]\" \(test_suggestions.py:\d+\) as P\('model', None\): [\d.]+ us -> "
                        r"[\d.]+ us, 20.0 MiB -> 17.0 MiB sent, [\d.]+ MiB -> [\d.]+ MiB of memory", str(first))


def test_suggestions_need_the_program(tmp_path):
    mlp().save(tmp_path / "a.plan")
    with pytest.raises(ValueError, match="a plan that was loaded has no program to edit: compile the function"):
        weft.load(tmp_path / "a.plan").suggest()


# Edits

TEXT = """#loc1 = loc("/home/me/mlp.py":9:4)
#loc2 = loc("tanh"(#loc1))
weft.mesh @m = <["data"=2, "model"=2]>
func.func @f(%0: tensor<8x8xf32> {weft.name = "w[0]", weft.sharding = #weft.sharding<@m, [{"data"}, {}]>},
  %1: tensor<8x8xf32> {weft.name = "w[1]", weft.sharding = #weft.sharding<@m, [{"data"}, {}]>},
  %2: tensor<8x8xf32> {weft.name = "w[2]", weft.sharding = #weft.sharding<@m, [{}, {"data"}]>}) -> (tensor<8x8xf32> {weft.name = "y"}) {
%3 = weft.constraint %0 <@m, [{}, {}]> : tensor<8x8xf32> loc(#loc2)
%4 = weft.constraint %3 <@m, [{"data"}, {}]> : tensor<8x8xf32> loc(#loc2)
"""


def test_arguments_of_layers_that_are_alike_are_edited_together():
    edit = Edit.parse('annotate "w[0]" (mlp.py:3) as [{}, {"model"}], which takes 1 KiB more on each rank')
    assert edit.as_dict() == {"text": "annotate \"w[0]\" (mlp.py:3) as P(None, 'model'), which takes 1 KiB more on each rank",
                              "target": "argument", "name": "w[0]", "location": "mlp.py:3", "spec": "P(None, 'model')",
                              "before": None}
    assert edit.apply(TEXT).count('<@m, [{}, {"model"}]>') == 2
    assert 'weft.name = "w[2]", weft.sharding = #weft.sharding<@m, [{}, {"data"}]>' in edit.apply(TEXT)


def test_a_result_without_a_spec_gets_one():
    edit = Edit.parse('annotate result "y" as [{"data"}, {}], which only scatters the sums')
    assert edit.target == "result" and not edit.location
    assert 'weft.name = "y", weft.sharding = #weft.sharding<@m, [{"data"}, {}]>}' in edit.apply(TEXT)


def test_of_constraints_in_a_line_the_one_is_edited_that_is_meant():
    edit = Edit.parse('write the constraint of mlp.py:9 as [{"model"}, {}], not as [{}, {}]')
    assert (edit.target, edit.before) == ("constraint", P(None, None))
    assert '%3 = weft.constraint %0 <@m, [{"model"}, {}]>' in edit.apply(TEXT)
    assert '%4 = weft.constraint %3 <@m, [{"data"}, {}]>' in edit.apply(TEXT)


@pytest.mark.parametrize("text", ['annotate "v" as [{}, {}]', 'annotate "w[0]" as [{"data"}, {}]',
                                  'write the constraint of mlp.py:8 as [{"model"}, {}], not as [{}, {}]'])
def test_edits_of_nothing(text):
    with pytest.raises(ValueError, match="the program has nothing to edit for: "):
        Edit.parse(text).apply(TEXT)


def test_no_edit_is_none():
    assert Edit.parse("") is None
