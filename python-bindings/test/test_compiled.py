# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled functions: called, asked, saved and loaded; and programs that are refused."""

import collections
import dataclasses
import json

import numpy as np
import pytest

import weft
from programs import STEP, TWO_ENTRIES, lowered, lowered_step
from weft import signature, tree
from weft.lowered import Lowered, Source


@pytest.fixture(scope="module")
def step():
    return lowered_step().compile()


def reference(w, x):
    y = np.tanh(x @ w)
    return w - x.T @ y, y.sum()


@pytest.fixture
def arrays():
    rng = np.random.default_rng(1)
    return rng.normal(size=(8, 8)).astype("f4"), rng.normal(size=(16, 8)).astype("f4")


def test_a_call_takes_and_returns_trees(step, arrays):
    w, x = arrays
    params, loss = step({"w": w}, x)
    expected_w, expected_loss = reference(w, x)
    np.testing.assert_allclose(params["w"], expected_w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert loss.shape == ()
    assert repr(step) == "Compiled(step, 4 ranks)"


def test_a_donated_argument_stays_valid(step, arrays):
    w, x = arrays
    kept = w.copy()
    first = step({"w": w}, x)
    np.testing.assert_array_equal(w, kept)
    # A call depends on its arguments alone, not on calls before it.
    second = step({"w": w}, x)
    np.testing.assert_array_equal(first[0]["w"], second[0]["w"])
    assert step.donated == ("params['w']",)


def test_shards(step, arrays):
    w, x = arrays
    params, loss = step.call_sharded({"w": w}, x)
    whole, _ = step({"w": w}, x)
    assert isinstance(params["w"], weft.Shards) and len(loss) == 4
    np.testing.assert_array_equal(np.hstack(params["w"].parts[:2]), whole["w"])
    # What comes out as shards may go in.
    again, _ = step({"w": params["w"]}, x)
    np.testing.assert_array_equal(again["w"], step(whole, x)[0]["w"])


def test_numbers_and_64_bit_arrays_become_32_bit_ones(step, arrays):
    w, x = arrays
    narrow, _ = step({"w": w}, x)
    wide, _ = step({"w": w.astype("f8")}, x.astype("f8"))
    np.testing.assert_array_equal(wide["w"], narrow["w"])


def test_arguments_that_do_not_fit_are_all_named(step):
    with pytest.raises(TypeError) as raised:
        step({"w": np.zeros((8, 4), "f4")}, np.zeros((16, 8), "i4"))
    assert str(raised.value) == (
        "2 of 2 arguments do not fit what was compiled:\n"
        "  params['w']: expected float32[8, 8], got float32[8, 4]\n"
        "  x: expected float32[16, 8], got int32[16, 8]"
    )
    with pytest.raises(TypeError, match=r"params\['w'\]: expected 4 shards, one per rank, got 2"):
        step({"w": weft.Shards([np.zeros((8, 4), "f4")] * 2)}, np.zeros((16, 8), "f4"))
    with pytest.raises(TypeError, match=r"expected shards of float32\[8, 4\], got float32\[8, 8\]"):
        step({"w": weft.Shards([np.zeros((8, 8), "f4")] * 4)}, np.zeros((16, 8), "f4"))
    with pytest.raises(TypeError, match=r"x: expected float32\[16, 8\], got a value of type object"):
        step({"w": np.zeros((8, 8), "f4")}, object())


@pytest.fixture(scope="module")
def counted():
    kinds = {"n": weft.ShapeDtypeStruct((), "int32"), "a": weft.ShapeDtypeStruct((2,), "int32")}
    return weft.jit(lambda tree, x: (tree["n"] + tree["a"], x)).lower(
        kinds, weft.ShapeDtypeStruct((), "float32")
    ).compile()


@pytest.mark.parametrize(
    "n, got",
    [
        (3.7, "3.7 of type float"),
        (True, "True of type bool"),
        (2**40, "1099511627776, which int32 cannot hold"),
        (np.int64(-(2**40)), "int64[] with -1099511627776, which int32 cannot hold"),
        (np.float32(3.7), "float32[]"),
    ],
)
def test_numbers_that_would_become_others(counted, n, got):
    with pytest.raises(TypeError) as raised:
        counted({"n": n, "a": np.array([5, 2**40])}, True)
    assert str(raised.value) == (
        "3 of 3 arguments do not fit what was compiled:\n"
        "  tree['a']: expected int32[2], got int64[2] with 1099511627776, which int32 cannot hold\n"
        f"  tree['n']: expected int32[], got {got}\n"
        "  x: expected float32[], got True of type bool"
    )


def test_numbers_that_fit(counted):
    total, x = counted({"n": 2**31 - 8, "a": np.array([5, -(2**31) + 7])}, 3)
    np.testing.assert_array_equal(total, [2**31 - 3, -1])
    assert x == 3 and x.dtype == np.float32


def test_arguments_of_another_structure(step):
    with pytest.raises(TypeError) as raised:
        step({"v": 0}, 0)
    assert str(raised.value) == (
        "the arguments have another structure than what was compiled; missing: params['w']; "
        "not expected: params['v']"
    )
    with pytest.raises(TypeError, match=r"takes 2 arguments \(params, x\), got 1"):
        step({"w": 0})


def test_collectives_have_causes_and_places(step):
    records = step.collectives()
    assert all(isinstance(record, weft.Collective) for record in records)
    gradient = next(r for r in records if r.kind == "all_reduce" and r.axes == ("data",))
    assert (gradient.reduction, gradient.count) == ("sum", 1)
    # Half of the columns of 8x8 floats; a ring of two sends as much as it holds.
    assert gradient.bytes == gradient.total_bytes == 8 * 4 * 4
    line = STEP[: STEP.index("%g = ")].count("\n") + 1
    assert (gradient.file, gradient.line) == ("model.mlir", line)
    assert gradient.cause.startswith('partial sums over "data" of dot_general')


def test_memory_and_cost(step):
    memory, cost = step.memory(), step.cost()
    assert memory.states == 8 * 4 * 4
    assert memory.arena >= memory.states + memory.liveness_bound
    assert memory.call >= memory.liveness_bound > 0
    assert cost.wire_bytes == sum(record.total_bytes for record in step.collectives())
    assert cost.gemms == 2
    assert cost.flops >= 2 * (2 * 8 * 8 * 4)
    assert cost.collectives == sum(record.count for record in step.collectives())
    assert "memory of a rank" in step.report()


def test_shardings(step):
    mesh = weft.AbstractMesh((2, 2), ("data", "model"), (weft.AxisType.Explicit,) * 2)
    columns, rows = weft.P(None, "model"), weft.P("data")
    assert step.input_shardings == {
        "params['w']": weft.NamedSharding(mesh, columns),
        "x": weft.NamedSharding(mesh, rows),
    }
    params, loss = step.output_shardings
    assert params["w"].spec == columns and loss.spec == weft.P()


def test_every_form_has_a_text(step):
    texts = {form: step.as_text(form) for form in ("graph", "sharded", "spmd", "schedule", "plan")}
    assert "weft.dot_general" in texts["graph"] and "weft.all_reduce" not in texts["graph"]
    assert "weft.shardings" in texts["sharded"]
    assert "weft.all_reduce" in texts["spmd"]
    assert "weft.gemm" in texts["schedule"]
    assert texts["plan"] == step.as_text() and texts["plan"].startswith("plan version")
    with pytest.raises(ValueError, match="form must be one of graph, sharded, spmd, schedule, plan"):
        step.as_text("hlo")


def test_lowered_texts():
    program = lowered_step()
    assert program.as_text() == STEP
    assert "weft.all_reduce" in program.as_text("spmd")
    assert 'loc("model.mlir":' in program.as_text("graph", locations=True).replace("#loc", "loc")
    with pytest.raises(ValueError, match="form must be one of graph, sharded, spmd, schedule, got"):
        program.as_text("plan")


def test_options_reach_the_compiler():
    serial = lowered_step().compile(None, overlap_collectives=False)
    assert serial.as_text("schedule") != lowered_step().compile(None).as_text("schedule")
    portable = lowered_step().compile("cpu:x86-64-v3")
    assert "target cpu x86-64-v3 " in portable.as_text()
    with pytest.raises(ValueError, match="target: expected cpu, cpu:<processor>, cuda:<processor> or none"):
        lowered_step().compile("gpu")
    with pytest.raises(ValueError, match="gemm_precision: expected full or tf32, got \"half\""):
        lowered_step().compile(None, gemm_precision="half")
    with pytest.raises(weft.CompileError, match="tf32 is for cuda targets"):
        lowered_step().compile(None, gemm_precision="tf32")


def test_a_cluster_is_named_or_a_file(step, tmp_path):
    """What is wrong with one has no line of the program."""
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n')
    with pytest.raises(ValueError, match="^cannot read the cluster file dgx-h101: No such file or directory; clusters"):
        lowered_step().compile(None, cluster="dgx-h101")
    with pytest.raises(ValueError, match=f'^{file}:1:1: missing key "device" in the file'):
        lowered_step().compile(None, cluster=file)
    for cluster in (3, ["dgx-h100"], b"dgx-h100"):
        for use in (lambda: lowered_step().compile(None, cluster=cluster), lambda: step.suggest(cluster),
                    lambda: step.what_if(cluster=cluster), lambda: weft.sweep(lambda: None, {}, cluster=cluster),
                    lambda: weft.auto(lowered_step(), devices=4, cluster=cluster)):
            with pytest.raises(TypeError) as refused:
                use()
            assert str(refused.value) == ('cluster must be the name of one, as "dgx-h100", or a file, '
                                          f"got {cluster!r} of type {type(cluster).__name__}")


def test_planning_needs_no_machine_code(step):
    planned = lowered_step().compile(None)
    assert planned.collectives() == step.collectives()
    assert planned.memory() == step.memory()
    with pytest.raises(weft.ExecutionError, match="the plan has no machine code"):
        planned({"w": np.zeros((8, 8))}, np.zeros((16, 8)))


def test_save_and_load(step, arrays, tmp_path):
    w, x = arrays
    step.save(tmp_path / "step.plan")
    loaded = weft.load(tmp_path / "step.plan")
    params, loss = loaded({"w": w}, x)
    expected, expected_loss = step({"w": w}, x)
    np.testing.assert_array_equal(params["w"], expected["w"])
    assert loss == expected_loss
    assert loaded.collectives() == step.collectives()
    assert loaded.memory() == step.memory() and loaded.cost() == step.cost()
    assert loaded.as_text() == step.as_text()
    with pytest.raises(ValueError, match="a plan that was loaded has the form plan only, got 'spmd'"):
        loaded.as_text("spmd")


def test_plans_without_a_signature_take_names(tmp_path):
    plan = weft.Plan(Source(TWO_ENTRIES, "model.mlir").compile("cpu"))
    plan.save(tmp_path / "two.plan")
    with pytest.raises(ValueError, match="has several entries; name one of init, step as entry="):
        weft.load(tmp_path / "two.plan")
    with pytest.raises(ValueError, match="has no entry 'train'; name one of init, step"):
        weft.load(tmp_path / "two.plan", entry="train")
    step = weft.load(tmp_path / "two.plan", entry="step")
    result = step({"x": np.ones(4, "f4"), "w": np.zeros(4, "f4")})
    np.testing.assert_array_equal(result["w"], np.ones(4))
    with pytest.raises(TypeError, match="missing: w; not expected: v"):
        step({"x": np.ones(4, "f4"), "v": 0})
    with pytest.raises(TypeError, match="takes one dict of arrays by name: w, x"):
        step(np.ones(4, "f4"), 0)


Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class State:
    step: object
    moments: object


def test_signatures_are_stored():
    result = {"b": [0, (0, None)], "a": Pair(0, {1: 0}), "s": State(0, [0])}
    names = ["x", "y"]
    leaves, structure = tree.flatten(result)
    stored = signature.of_trees(names, tree.structure((0, {"k": 0})), structure)
    assert stored.in_paths == ("x", "y['k']")
    read = signature.read(stored.text)
    assert read.in_paths == stored.in_paths and read.text == stored.text
    assert read.leaves((1, {"k": 2})) == [1, 2]
    numbers = list(range(len(leaves)))
    again = read.unflatten(numbers)
    assert again["b"] == stored.unflatten(numbers)["b"]
    assert again["a"]._fields == ("left", "right") and again["a"].right == {1: again["a"].right[1]}
    assert again["s"].moments == [numbers[-1]] and type(again["s"]).__name__ == "State"
    assert tree.leaves(again) == numbers


def test_a_signature_that_cannot_be_written_is_not_stored():
    odd = signature.of_trees(["x"], tree.structure((0,)), tree.structure({(1, 2): 0}))
    assert odd.text == ""
    assert odd.unflatten([5]) == {(1, 2): 5}


def test_metadata_of_the_plan(step):
    stored = json.loads(step.plan.metadata["python.signature"])
    assert stored["inputs"] == ["params['w']", "x"]


def test_names_of_the_plan_must_be_arguments():
    with pytest.raises(ValueError, match=r"no arguments of its signature: params\['w'\]"):
        lowered(STEP, {"p": {"w": 0}, "x": 0}, (0, 0)).compile(None)


def test_sessions_of_a_compiled_function(step, arrays):
    w, x = arrays
    session = step.session()
    session.set_input("step", "params['w']", w)
    session.set_input("step", "x", x)
    for _ in range(3):
        session.run("step")
    params = {"w": w}
    for _ in range(3):
        params, _ = step(params, x)
    np.testing.assert_array_equal(session.state("params['w']"), params["w"])


# Refused programs

WRONG = """\
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"rows"}]>}) {
  return
}
func.func @g(%y: tensor<4xf32>) {
  %z = weft.constraint %y <@mesh, [{"columns"}]> : tensor<4xf32>
  return
}
"""


def compile_error(text, name="wrong.mlir"):
    with pytest.raises(weft.CompileError) as raised:
        Source(text, name).compile("none")
    return raised.value


def test_syntax_errors_have_a_place_and_the_line():
    error = compile_error("func.func @f(%x: tensor<4xf32>) {\n  %y = arith.addf %x\n}\n")
    assert len(error.errors) == 1
    (diagnostic,) = error.errors
    assert (diagnostic.severity, diagnostic.file) == ("error", "wrong.mlir")
    assert diagnostic.line in (2, 3) and diagnostic.column > 0
    text = str(error)
    assert text.startswith(f"wrong.mlir:{diagnostic.line}:{diagnostic.column}: error: expected")


def test_all_problems_are_reported_at_once():
    error = compile_error(WRONG)
    assert len(error.errors) == 2
    assert str(error).startswith("2 errors\n")
    assert {error.line for error in error.errors} == {2, 6}
    assert any('unknown axis "rows"; the mesh has "data"' in e.message for e in error.errors)
    assert "    func.func @f(%x" in str(error)


def test_errors_of_python_sources_show_their_line(tmp_path):
    source = tmp_path / "model.py"
    source.write_text("a = 1\nb = shard(a)  # here\n")
    text = f"""\
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<4xf32> loc("{source}":2:4)) {{
  %y = weft.constraint %x <@mesh, [{{"rows"}}]> : tensor<4xf32> loc("{source}":2:4)
  return
}}
"""
    error = compile_error(text)
    assert (error.errors[0].file, error.errors[0].line) == (str(source), 2)
    assert "\n    b = shard(a)  # here" in str(error)


def test_long_lines_are_shown_around_the_place():
    arguments = ", ".join(f"%a{i}: tensor<4xf32>" for i in range(1000))
    error = compile_error(f"func.func @f({arguments}) {{ arith.nothing %a0 return }}\n")
    (excerpt,) = str(error).splitlines()[1:]
    assert excerpt.startswith("    ...") and "arith.nothing" in excerpt and len(excerpt) < 200


def test_notes_belong_to_their_error():
    diagnostic = weft.Diagnostic(
        "error", "wrong", "f.py", 3, 1, (weft.Diagnostic("note", "requested here", "g.py", 1, 2),)
    )
    assert str(diagnostic) == "f.py:3:1: error: wrong\n  g.py:1:2: note: requested here"
    assert weft.Diagnostic.of(
        ("error", "wrong", "f.py", 3, 1, [("note", "requested here", "g.py", 1, 2, [])])
    ) == diagnostic


def test_warnings_of_the_compiler_are_warnings():
    shape = "tensor<32768x32768xf32>"
    text = f"""\
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: {shape} {{weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{{"data"}}, {{}}]>}})
    -> ({shape} {{weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{{}}, {{}}]>}}) {{
  %y = math.tanh %x : {shape}
  return %y : {shape}
}}
"""
    with pytest.warns(weft.CompilerWarning, match="model.mlir:"):
        lowered(text, {"x": 0}, 0).compile(None)


def test_an_empty_module():
    assert "nothing to compile" in str(compile_error(""))


def test_lowered_errors():
    with pytest.raises(weft.CompileError, match="rows"):
        Lowered(Source(WRONG, "w.mlir"), lowered_step().signature).as_text("spmd")
