# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft lint` finds what was planted, and its edits remove it."""

import json

import pytest
from test_lock import mlp

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main
from weft.lint import RULES, lint, lint_program
from weft.models import gpt

SIZES = {"sizes": (1024, 4096), "rows": 512}
GOOD = {"w1": P("data", "model"), "w2": P("model", "data")}


def found(compiled, **options):
    return {(each.rule, each.subject): each for each in lint(compiled.plan, **options)}


def test_a_plan_that_splits_everything_has_no_findings():
    assert not found(mlp(GOOD, **SIZES))


def test_states_that_no_axis_splits():
    planted = found(mlp({"w1": P(), "w2": P("model")}, **SIZES))
    (finding,) = planted.values()
    assert (finding.rule, finding.subject) == ("replicated-state", "params['w1']")
    assert finding.text == "float32[1024, 4096] takes 16.0 MiB on every rank: no axis splits it"
    assert finding.edit == "P('data', None), of which a rank holds 8.00 MiB"
    assert not found(mlp({"w1": P("data", None), "w2": P("model")}, **SIZES))
    assert not found(mlp({"w1": P(), "w2": P("model")}, **SIZES), least_bytes=17 << 20)


def test_the_axis_of_a_pipeline_splits_no_state():
    settings = dict(layers=4, hidden=64, heads=4, vocabulary=128, sequence=32, micro_batch=1, global_batch=8, pipeline=2)
    assert not found(gpt(**settings).lower().compile(None), least_bytes=1)
    half = found(gpt(**settings, data=2).lower().compile(None), least_bytes=1)
    finding = half["replicated-state", "state['params']['blocks'][*]['attn']['bk']"]
    assert (finding.text, finding.edit) == ("2 x float32[64] takes 512 B on every rank: no axis splits it",
                                            "P('data',), of which a rank holds 256 B")


def test_arguments_that_no_axis_splits():
    compiled = mlp(GOOD, batch=P(), **SIZES)
    assert set(found(compiled, least_bytes=1 << 20)) == {("replicated-value", "x"), ("replicated-value", "y")}


def step(function, specs, shapes, mesh):
    arguments = [weft.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return weft.jit(function, mesh=mesh, in_shardings=specs).lower(*arguments).compile(None)


def test_axes_that_split_nothing():
    mesh = weft.Mesh((2, 4), ("data", "model"))
    planted = found(step(lambda x: wnp.tanh(x), (P("data"),), [(64, 64)], mesh))
    (finding,) = planted.values()
    assert (finding.rule, finding.subject) == ("unused-axis", "model")
    assert "4 ranks compute the same" in finding.text
    assert not found(step(lambda x: wnp.tanh(x), (P("data", "model"),), [(64, 64)], mesh))


def test_annotations_that_contradict_each_other():
    mesh = weft.Mesh((4,), ("data",))
    planted = found(step(lambda x: weft.with_sharding_constraint(x, P(None, "data")), (P("data", None),), [(64, 64)], mesh))
    (finding,) = planted.values()
    assert (finding.rule, finding.subject) == ("contradiction", "x")
    assert "annotated as P('data', None)" in finding.text and "annotated as P(None, 'data')" in finding.text
    assert finding.edit
    assert not found(step(lambda x: weft.with_sharding_constraint(x, P("data")), (P("data", None),), [(64, 64)], mesh))


def test_padding_above_a_share():
    mesh = weft.Mesh((4,), ("data",))
    compiled = step(lambda x: wnp.tanh(x), (P("data"),), [(9, 64)], mesh)
    finding = found(compiled)["padding", "x"]
    assert finding.text.startswith("dimension 0 of size 9 is padded to 12 (25.0% of it)")
    assert finding.edit == "a size of 8 or 12, which 4 shards divide"
    assert not found(compiled, most_padding=0.3)


def microbatched(gather):
    """Gradients of four micro-batches of a layer whose weight rests in shards."""
    mesh = weft.Mesh((4,), ("data",))
    layout = weft.Layout(mesh, rest={"w": P("data")}, compute={"w": P()}, gather=gather)

    def train_step(params, x):
        def loss(params, x):
            return (wnp.tanh(x @ params["w"]) ** 2).mean()

        value, gradients = weft.microbatches(weft.value_and_grad(loss), 4)(params, x)
        return weft.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value

    shape = weft.ShapeDtypeStruct
    jitted = weft.jit(train_step, layout=layout, in_shardings=({"w": P("data")}, P("data")), donate_argnums=0)
    return jitted.lower({"w": shape((256, 256), "float32")}, shape((64, 256), "float32")).compile(None)


def test_collectives_that_a_loop_repeats():
    (finding,) = found(microbatched("use")).values()
    assert (finding.rule, finding.subject) == ("loop-collective", "params['w']")
    assert "all_gather over data, 192 KiB, is done 4 times in a call" in finding.text
    assert 'gather="step"' in finding.edit
    assert not found(microbatched("step"))


# Of programs

def constrained(spec):
    mesh = weft.Mesh((4,), ("data",))
    return step(lambda x: weft.with_sharding_constraint(wnp.tanh(x), spec) * 2.0, (P("data"),), [(64, 64)], mesh)


def test_constraints_without_effect():
    (finding,) = lint_program(constrained(P("data", None)))
    assert finding.rule == "no-effect" and finding.subject.startswith("test_lint.py:")
    assert finding.text == "the constraint as P('data', None) changes nothing: the plan without it is the same"
    assert [each.rule for each in lint_program(constrained(P(None, "data")))] == []


def over_nodes(mesh):
    """Tensor parallelism of eight ranks beside two replicas; what it sends is most."""
    def loss(params, x):
        return ((wnp.tanh(x @ params["w1"]) @ params["w2"]) ** 2).sum()

    shape = weft.ShapeDtypeStruct
    params = {"w1": shape((512, 2048), "float32"), "w2": shape((2048, 512), "float32")}
    return weft.jit(weft.value_and_grad(loss), mesh=mesh, in_shardings=(
        {"w1": P(None, "model"), "w2": P("model")}, P("data"))).lower(params, shape((32768, 512), "float32")).compile(None)


def test_axes_in_an_order_that_sends_over_slow_links():
    (finding,) = lint_program(over_nodes(weft.Mesh((8, 2), ("model", "data"))))
    assert (finding.rule, finding.subject) == ("axis-order", "model, data")
    assert finding.edit == "a mesh of (2, 8) with the axes ('data', 'model')"
    assert not lint_program(over_nodes(weft.Mesh((2, 8), ("data", "model"))))
    assert not lint_program(over_nodes(weft.Mesh((8, 2), ("model", "data"))), least_gain=0.99)


def test_a_loaded_plan_has_no_program(tmp_path):
    constrained(P("data")).save(tmp_path / "a.plan")
    with pytest.raises(ValueError, match="a plan that was loaded has no program to look at"):
        lint_program(weft.load(tmp_path / "a.plan"))


# The command

def test_the_command_reads_programs(tmp_path, capsys):
    (tmp_path / "a.mlir").write_text(constrained(P("data", None))._source.text)
    assert main(["lint", str(tmp_path / "a.mlir"), "--werror"]) == 1
    assert "[no-effect]" in capsys.readouterr().out
    assert main(["lint", str(tmp_path / "a.mlir"), "--werror", "--allow=no-effect=said for the reader"]) == 0
    (tmp_path / "b.mlir").write_text("func.func @f(")
    assert main(["lint", str(tmp_path / "b.mlir")]) == 2
    assert "b.mlir" in capsys.readouterr().err


@pytest.fixture
def plan(tmp_path):
    mlp({"w1": P(), "w2": P("model")}, **SIZES).save(tmp_path / "a.plan")
    return str(tmp_path / "a.plan")


def test_the_command(plan, capsys):
    assert main(["lint", plan]) == 0
    out = capsys.readouterr().out
    assert out.startswith("step: params['w1']: float32[1024, 4096] takes 16.0 MiB on every rank")
    assert "[replicated-state]" in out and "    edit: P('data', None)" in out
    assert main(["lint", plan, "--werror"]) == 1
    assert main(["lint", plan, "--werror", "--least-mib=17"]) == 0
    assert "nothing found in" in capsys.readouterr().out


def test_what_is_meant_is_allowed_with_a_reason(plan, capsys):
    for what in ("replicated-state", "replicated-state:params['w1']"):
        assert main(["lint", plan, "--werror", f"--allow={what}=small enough"]) == 0
        assert f"allowed: {what}, 1 finding: small enough" in capsys.readouterr().out
    assert main(["lint", plan, "--werror", "--allow=replicated-state:params['w2']=other"]) == 1


def test_json(plan, capsys):
    assert main(["lint", plan, "--json", "--allow=padding=none"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["findings"][0]["rule"] == "replicated-state" and data["findings"][0]["entry"] == "step"
    assert data["allowed"] == [{"what": "padding", "reason": "none", "number": 0}]


@pytest.mark.parametrize("option, message", [
    ("replicated-stat=x", "--allow: there is no rule 'replicated-stat', did you mean replicated-state?"),
    ("zzz=x", f"--allow: there is no rule 'zzz'; the rules are {', '.join(RULES)}"),
    ("padding", "--allow: say why padding is meant: --allow=padding=REASON"),
    ("padding= ", "--allow: say why padding is meant: --allow=padding=REASON"),
])
def test_allowances_that_are_none(plan, capsys, option, message):
    assert main(["lint", plan, f"--allow={option}"]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
