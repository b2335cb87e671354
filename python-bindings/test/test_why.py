# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective goes back to what the user wrote, to what holds where nobody wrote anything, or to a
choice with its price; and what is said to remove it does."""

import dataclasses
import json
import pathlib
import re

import pytest
import reported
import tiny_models
from parallelisms import PARALLELISMS, lower_step
from test_lock import mlp

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main
from weft.columns import WIDTH
from weft.why import MOST_LINES, matching

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRICE = re.compile(r"chosen by cost.*: .*\d")


FRAGMENTS = ["chosen by cost over all of @", "of collectives, as propagated", ", which leaves partial results", "annotate result",
             ", which splits another dimension of", ", which takes no partial results", "what is held taken by",
             "more on each rank", "more in the same call"]


def explained(compiled):
    """The reason of every collective; each is checked."""
    found = matching(compiled, "")
    assert [why.collective for why in found] == compiled.collectives()
    for why in found:
        assert why.reason and why.reason.chain, str(why)
        for end, text in why.reason.chain:
            assert {"annotation": " annotated as P(" in text,
                    "choice": bool(PRICE.search(text)),
                    "default": "no annotation" in text,
                    "operation": ": by " in text}[end], (end, text)
        # One of the two ends is something that somebody decided.
        assert {end for end, _ in why.reason.chain} - {"operation"}, str(why)
        lines = str(why).splitlines()
        assert len(lines) <= MOST_LINES, str(why)
        assert all(len(line) <= WIDTH or " " not in line.strip() for line in lines), str(why)
        assert "weft." not in str(why), str(why)
    return found


@pytest.mark.parametrize("way", PARALLELISMS)
@pytest.mark.parametrize("model", tiny_models.MODELS)
def test_collectives_of_every_parallelism_are_explained(model, way):
    assert explained(lower_step(tiny_models.MODELS[model], tiny_models.adamw(), way).compile(None))


def test_collectives_of_pipelines_are_explained():
    assert explained(reported.pipelined())


@pytest.mark.parametrize("name, mesh", [("mlp_lm", "data=2,model=4"), ("mlp_lm", "data=4,model=2"), ("mlp_lm_fsdp", "data=4")])
def test_collectives_of_the_examples_are_explained(name, mesh):
    text = (ROOT / f"examples/mlp_lm/{name}.mlir").read_text()
    plan = weft.Plan(weft.lowered.Source(text, f"{name}.mlir").compile("none", mesh=mesh))
    assert sum(len(explained(weft.Compiled(plan, entry=entry.name))) for entry in plan.entries)


@pytest.fixture(scope="module")
def compiled():
    return mlp({"w1": P(None, "model"), "w2": P(None, "model")}, sizes=(1024, 4096), rows=512)


def test_both_ends_lead_to_the_annotations_with_their_lines(compiled):
    why = compiled.why("all_gather over model")
    (held, needed) = why.reason.chain
    assert held[0] == "annotation"
    assert re.match(r"""held over "model": "params\['w1'\]" \(argument 0\) annotated as P\(None, 'model'\) """
                    r"""\(test_why.py:\d+\), through dot_general \(mlp.py:3\), tanh \(mlp.py:3\)""", held[1])
    assert "params['w2']" in needed[1] and "annotated as P(None, 'model')" in needed[1]


def test_a_collective_is_found_by_itself_or_a_text(compiled):
    for each in compiled.collectives():
        assert compiled.why(each).collective == each
    with pytest.raises(ValueError, match=r"step has no collective with 'all_gathre over model' in call, cause or "
                                         r"location; there is\n  all_gather over model"):
        compiled.why("all_gathre over model")
    with pytest.raises(ValueError, match=r"step has \d collectives with 'over' in call, cause or location:\n  all_"):
        compiled.why("over")
    with pytest.raises(ValueError, match="step has no such collective"):
        mlp(mesh=(4, 1)).why(compiled.why("all_gather over model").collective)


def test_the_edit_removes_the_collective(compiled):
    """The transposed spec of w2 is what makes the activations move."""
    why = compiled.why("all_gather over model")
    assert why.reason.edit.text.startswith("annotate \"params['w2']\" (test_why.py:")
    better = mlp({"w1": P(None, "model"), "w2": P("model", None)}, sizes=(1024, 4096), rows=512)
    assert "all_gather" not in {each.kind for each in better.collectives()}
    assert better.cost().wire_bytes < compiled.cost().wire_bytes


def test_alternatives_have_bytes_and_times(compiled):
    why = compiled.why("all_gather over model")
    plan, *others = why.reason.alternatives
    assert plan.text == "as it is" and plan.bytes == why.collective.bytes and others
    assert all(each.seconds > 0 for each in (plan, *others))


def test_lines_of_specs_are_their_own():
    shape = weft.ShapeDtypeStruct((8, 8), "float32")
    rows = P("x", None)
    line = test_lines_of_specs_are_their_own.__code__.co_firstlineno + 2
    made = weft.jit(lambda a: wnp.tanh(a), mesh=weft.Mesh((2,), ("x",)), in_shardings=rows,
                    out_shardings=P(None, None)).lower(shape).compile(None)
    (why,) = explained(made)
    assert f"annotated as P('x', None) (test_why.py:{line})" in why.reason.chain[0][1]
    assert P("x").position != rows.position and P("x", None) == rows and hash(P("x", None)) == hash(rows)


def test_ways_that_are_too_long_are_left_out(compiled):
    why = compiled.why("all_gather over model")
    far = ", through " + ", ".join(f"tanh (model.py:{line})" for line in range(200)) + ""
    reason = dataclasses.replace(why.reason, chain=tuple((end, text + far) for end, text in why.reason.chain))
    text = str(dataclasses.replace(why, reason=reason))
    assert len(text.splitlines()) <= MOST_LINES and "model.py:150" not in text and "edit: " in text


# The command

@pytest.fixture
def plan(tmp_path, compiled):
    compiled.save(tmp_path / "a.plan")
    return str(tmp_path / "a.plan")


def test_the_command_prints_what_python_says(plan, compiled, capsys):
    assert main(["why", plan, "all_gather over model"]) == 0
    assert str(compiled.why("all_gather over model")) in capsys.readouterr().out
    assert main(["why", plan]) == 0
    printed = capsys.readouterr().out
    assert all(str(compiled.why(each)) in printed for each in compiled.collectives())


def test_json_has_the_same(plan, compiled, capsys):
    assert main(["why", plan, "all_gather", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["step"]
    why = compiled.why("all_gather over model")
    assert found["chain"] == [{"end": end, "text": text} for end, text in why.reason.chain]
    assert found["alternatives"][0]["bytes"] == found["bytes"] == why.collective.bytes
    assert found["edit"] == {
        "text": str(why.reason.edit), "target": "argument", "name": "params['w2']",
        "location": why.reason.edit.location, "spec": "P('model', None)", "before": None}
    assert found["predicted_us"] > 0


def test_names_that_nothing_has_are_an_error(plan, capsys):
    assert main(["why", plan, "broadcast"]) == 2
    assert "a.plan has no collective with 'broadcast' in its call, cause or location" in capsys.readouterr().err


def test_a_plan_without_collectives_is_an_error(tmp_path, capsys):
    mlp(mesh=(1, 1)).save(tmp_path / "one.plan")
    assert main(["why", str(tmp_path / "one.plan")]) == 2
    assert "one.plan has no collectives" in capsys.readouterr().err


def test_ends_and_edits_are_said_in_words(compiled):
    """Of the fixtures together."""
    shape = weft.ShapeDtypeStruct((64, 64), "float32")
    free = weft.jit(lambda a, b: wnp.tanh(a) @ b, mesh=weft.Mesh((4,), ("x",)), in_shardings=(P("x"), P("x")),
                    out_shardings=P(None, None)).lower(shape, shape).compile(None)
    texts = [str(why) for each in (compiled, free, lower_step(tiny_models.MODELS["gpt2"], tiny_models.adamw(), "fsdp+tp")
                                   .compile(None)) for why in matching(each, "")]
    said = " ".join(" ".join(texts).split())
    for fragment in FRAGMENTS:
        assert fragment in said, fragment
