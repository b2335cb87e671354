# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function that exceeds its budget does not compile, and the message says what helps."""

import json

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main
from weft.budget import read_budget
from weft.models import gpt

GOOD = {"w1": P(None, "model"), "w2": P("model")}
BAD = {"w1": P(None, "model"), "w2": P(None, "model")}


def step(params, x, y):
    def loss(params, x, y):
        return ((wnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2).mean()

    value, gradients = weft.value_and_grad(loss)(params, x, y)
    return weft.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value


def compiled(specs=BAD, **budget):
    shape = weft.ShapeDtypeStruct
    jitted = weft.jit(step, mesh=weft.Mesh((2, 2), ("data", "model")), in_shardings=(specs, P("data"), P("data")),
                      donate_argnums=0)
    params = {"w1": shape((1024, 4096), "float32"), "w2": shape((4096, 1024), "float32")}
    return weft.budget(**budget)(jitted).lower(params, *[shape((512, 1024), "float32")] * 2).compile(None)


@pytest.mark.parametrize("budget, text", [
    ({"bytes": "18 MiB"}, "20.0 MiB sent by a rank, the budget is 18.0 MiB"),
    ({"communication": {"model": "0 all_gather"}}, "1 all_gather over model, the budget is 0"),
    ({"communication": {"model": "2 MiB"}}, "4.00 MiB sent over model, the budget is 2.00 MiB"),
    ({"reshard": "1 MiB"}, "all_gather over model of 2.00 MiB that is not acknowledged, the budget is 1.00 MiB: tanh ("),
    ({"step": "10 us"}, "a step of 286.5 us, the budget is 10.0 us"),
    ({"peak": "30 MiB"}, "37.5 MiB of memory, the budget is 30.0 MiB"),
])
def test_each_number_is_held_to(budget, text):
    with pytest.raises(weft.BudgetError) as caught:
        compiled(**budget)
    assert str(caught.value).startswith("step exceeds its budget:\n  ") and text in str(caught.value)


def test_what_is_within_its_budget_compiles():
    assert compiled(GOOD, bytes="18 MiB", communication={"model": "1 all_reduce, 0 all_gather", "data": "20 MiB"},
                    peak="40.1 MiB", step="300 us", reshard="1 MiB").cost().wire_bytes


def test_the_remedy_is_the_cheapest_that_meets_it():
    with pytest.raises(weft.BudgetError) as caught:
        compiled(bytes="18 MiB")
    assert str(caught.value).splitlines()[-1].startswith("remedy: annotate \"params['w2']\" (test_budget.py:")
    assert "as P('model', None)" in str(caught.value) and "20.0 MiB -> 17.0 MiB sent" in str(caught.value)


def test_where_nothing_helps_that_is_said():
    with pytest.raises(weft.BudgetError, match="no edit of a single annotation that was tried meets it"):
        compiled(GOOD, step="1 us")


def test_all_that_is_exceeded_is_said():
    with pytest.raises(weft.BudgetError) as caught:
        compiled(bytes="18 MiB", peak="1 MiB")
    assert len(str(caught.value).splitlines()) == 4 and "nearest remedy: " in str(caught.value)


def test_reshards_that_are_acknowledged():
    assert compiled(reshard="1 MiB", acknowledged=["tanh"])
    # Both are on one line, which the cause names once.
    assert compiled(reshard="1 MiB", acknowledged=["by dot_general there"])
    assert compiled(reshard="1 MiB", acknowledged=["by dot_general (test_budget.py:"])


def test_calls_of_each_layer():
    sizes = {"layers": 2, "hidden": 256, "heads": 8, "vocabulary": 1024, "sequence": 64, "tensor": 2}
    plan = gpt(**sizes)
    calls = sum(each.count for each in plan.lower().compile(None).collectives()
                if each.kind == "all_reduce" and each.axes == ("tensor",))
    jitted = lambda number: weft.budget(communication={"tensor": f"{number} all_reduce/layer"})(plan.jit())
    assert jitted(calls).lower(plan.state(), plan.batch()).compile(None)
    with pytest.raises(weft.BudgetError, match=r"\d+ all_reduce over tensor, the budget is 1 a layer of 2"):
        jitted(1).lower(plan.state(), plan.batch()).compile(None)


def test_a_call_compiles_under_the_budget():
    tight = weft.budget(peak=1)(weft.jit(lambda x: wnp.tanh(x)))
    with pytest.raises(weft.BudgetError, match="of memory, the budget is 1 B"):
        tight(np.zeros(4, np.float32))


# Bad input

def test_budgets_that_cannot_be_read():
    with pytest.raises(ValueError) as caught:
        weft.budget(bytes="many", step="3 weeks", communication={"model": "2 all_reduces", "data": "all"})
    assert str(caught.value) == (
        "budget: communication over model: 'all_reduces' is no collective; there are all_reduce, all_gather, "
        "reduce_scatter, all_to_all, permute, exchange; communication over data: 'all' is not bytes, such as 20 MiB; "
        "bytes: 'many' is not bytes, such as 20 MiB; step: '3 weeks' is not a time, such as 300 us")


def test_budgets_of_other_types():
    with pytest.raises(ValueError) as caught:
        weft.budget(bytes=-1, communication="2 all_reduce", acknowledged=[3, ""])
    assert str(caught.value) == (
        "budget: communication must be by mesh axis, such as {'model': '2 all_reduce'}, got '2 all_reduce'; acknowledged: 3 "
        "is no text of a cause; acknowledged: '' is no text of a cause; bytes: -1 is not bytes, such as 20 MiB")


def test_one_text_is_acknowledged_whole():
    assert read_budget(reshard=1, acknowledged="gather").acknowledged == ("gather",)


def test_axes_that_the_mesh_does_not_have():
    with pytest.raises(ValueError, match='budget: the mesh has no axis "tensor", its axes are data, model'):
        compiled(communication={"tensor": "1 all_reduce"})


def test_functions_that_are_not_jitted():
    with pytest.raises(TypeError, match="budget is for what weft.jit returns, got <function step.*: write @weft.budget above"):
        weft.budget(bytes=1)(step)


# In lock files

@pytest.fixture
def locked(tmp_path):
    """A plan, its lock file with a budget, and one that exceeds it."""
    compiled(GOOD).save(tmp_path / "good.plan")
    compiled(BAD).save(tmp_path / "bad.plan")
    path = tmp_path / "a.lock"
    assert main(["lock", str(tmp_path / "good.plan"), "-o", str(path)]) == 0
    path.write_text(path.read_text() + """
[entry.step.budget]
bytes = "18 MiB"
communication = { model = "1 all_reduce, 0 all_gather" }
acknowledged = ["tanh"]
""")
    return tmp_path


def test_a_lock_file_holds_plans_to_its_budget(locked, capsys):
    good, bad, lock = (str(locked / name) for name in ("good.plan", "bad.plan", "a.lock"))
    assert main(["check", good, lock]) == 0
    capsys.readouterr()
    assert main(["check", bad, lock]) == 1
    assert capsys.readouterr().out.endswith(f"{bad} exceeds the budget of {lock}\n"
                                            "  step: 1 all_gather over model, the budget is 0\n"
                                            "  step: 20.0 MiB sent by a rank, the budget is 18.0 MiB\n")
    assert main(["check", bad, lock, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["exceeded"]) == 2


def test_budgets_are_kept_where_the_file_is_written_again(locked, capsys):
    good, bad, lock = (str(locked / name) for name in ("good.plan", "bad.plan", "a.lock"))
    assert main(["lock", bad, "-o", lock]) == 0
    assert main(["check", bad, lock]) == 1
    assert capsys.readouterr().out.startswith(f"{bad} exceeds the budget of {lock}")
    assert main(["lock", good, "-o", lock]) == 0 and main(["check", good, lock]) == 0
    before = (locked / "a.lock").read_text()
    assert main(["lock", good, "-o", lock]) == 0 and (locked / "a.lock").read_text() == before


@pytest.mark.parametrize("line, message", [('bytes = "many"', "bytes: 'many' is not bytes"),
                                           ("byte = 3", "a budget has no 'byte'"),
                                           ('communication = "x"', "got 'x'; change it there"),
                                           ("acknowledged = [3]", "acknowledged: 3 is no text of a cause; change it there")])
def test_lock_files_with_budgets_that_cannot_be_read(locked, capsys, line, message):
    before = (locked / "a.lock").read_text().partition(".budget]\n")[0]
    (locked / "a.lock").write_text(f"{before}.budget]\n{line}\n")
    assert main(["check", str(locked / "good.plan"), str(locked / "a.lock")]) == 2
    assert message in capsys.readouterr().err
