# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verified runs: faults are found where they are planted, and what is right is called right."""

import json
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import verified
import verified_pipelines

import weft
import weft.numpy as wnp
from weft import P, Plan
from weft.compiled import Compiled
from weft.lowered import Source
from weft.verify import draw, verify_plans

CASES = [(model, mesh) for model in verified.MODELS for mesh in verified.MESHES]
# Every model, and every mesh more than once.
SAMPLE = [(model, verified.MESHES[i % len(verified.MESHES)]) for i, model in enumerate(verified.MODELS)]


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        cases = CASES if metafunc.config.getoption("--verified-models") else SAMPLE
        metafunc.parametrize("model, mesh", cases, ids=lambda each: each if isinstance(each, str) else str(each[0]))


def test_models_are_right(model, mesh):
    found = verified.clean(model, mesh)
    assert found, str(found)
    assert found.values > 0 and found.ranks == np.prod(mesh[0]) and found.largest <= 1


def test_faults_are_located(pytestconfig):
    seed = pytestconfig.getoption("--faults-seed")
    number = 100 if pytestconfig.getoption("--verified-models") else 50
    print(f"seed {seed}")
    missed, kinds = [], Counter()
    for subject, fault, found in verified.plant(seed, number):
        kinds[fault.kind] += 1
        if not verified.is_located(subject, fault, found):
            missed.append(f"{fault.kind} in {subject.model} on {subject.mesh}: {fault.line}\n{found}")
    assert kinds == {kind: number // 5 for kind in verified.KINDS}
    assert len(missed) <= number // 20, f"of {number} faults with --faults-seed={seed}:\n" + "\n".join(missed)


def test_faults_of_messages_are_located(pytestconfig):
    seed = pytestconfig.getoption("--faults-seed")
    number = 30 if pytestconfig.getoption("--verified-models") else 12
    print(f"seed {seed}")
    missed, kinds = [], Counter()
    for subject, fault, found in verified_pipelines.plant(seed, number):
        kinds[fault.kind] += 1
        if not verified.is_located(subject, fault, found) or not any(each.received for each in found.wrong):
            missed.append(f"{fault.kind} in {subject.model}: {fault.line}\n{found}")
    assert kinds == {kind: number // len(verified_pipelines.KINDS) for kind in verified_pipelines.KINDS}
    assert len(missed) <= number // 30, f"of {number} faults with --faults-seed={seed}:\n" + "\n".join(missed)


@pytest.mark.parametrize("pipeline", verified_pipelines.PIPELINES)
def test_pipelines_are_right(pipeline):
    subject = verified_pipelines.Subject(pipeline)
    found = verify_plans(subject.plan, subject.reference, subject.inputs, entry=subject.plan.entries[0].name)
    assert found and found.values > 50, str(found)


def test_what_is_said_of_a_message():
    """A stage sends what it had of the micro-batch before."""
    subject = verified_pipelines.Subject("mlp, 1f1b")
    names, text = next(verified_pipelines.stale_buffers(subject.program))
    assert names == ["0F:0"]
    wrong = subject.find(verified.Fault("", "", text, frozenset())).wrong[0]
    assert wrong.name.startswith("dot_general (verified_pipelines.py:") and wrong.where == "pipe = 1" and wrong.ranks == (1,)
    (received,) = wrong.received
    assert received.startswith("tanh (verified_pipelines.py:")


def forward(x, w):
    return wnp.tanh(x @ w).sum(axis=1)


MESH = weft.make_mesh((2, 2), ("data", "model"))


def compiled(function=forward):
    jitted = weft.jit(function, mesh=MESH, in_shardings=(P("data", "model"), P("model", None)))
    return jitted.lower(verified.array(8, 16), verified.array(16, 4)).compile()


def test_of_a_compiled_function():
    found = weft.verify(compiled())
    assert found and found.ranks == 4 and found.wrong == () and found.behind == 0
    assert str(found).startswith(f"{found.values} values of entry forward on 4 ranks: all right; the largest error is ")
    x, w = np.ones((8, 16), np.float32), np.ones((16, 4), np.float32)
    assert weft.verify(compiled(), x, w).values == found.values
    with pytest.raises(TypeError, match="x: expected float32"):
        weft.verify(compiled(), x[:4], w)


def test_squares_of_what_one_device_rounds():
    """Of a gradient whose sum is in float32 on the ranks and in bfloat16 on one device: both factors are off by as much
    as they can be."""
    compiled = weft.models.gpt(layers=2, hidden=64, heads=4, vocabulary=128, sequence=32, global_batch=8, data=2, tensor=2,
                               micro_batch=4).lower().compile()
    assert weft.verify(compiled, seed=0)


@pytest.mark.parametrize("function", [lambda x: x @ x.T, lambda x: (x[:, None, :] * x[None, :, :]).sum(0)])
def test_padding_that_is_gathered(function):
    x = np.random.default_rng(0).standard_normal((7, 5)).astype(np.float32)
    compiled = weft.jit(function, mesh=weft.Mesh((4,), ("a",)), in_shardings=P("a")).lower(x).compile()
    assert weft.verify(compiled, x)


def test_sums_of_many_cancelling_terms():
    """Rounding errors of the size of the result are within the bound, which is that of the terms."""
    x = np.random.default_rng(0).standard_normal((8, 4096)).astype(np.float32) * 1e3
    x[:, 2048:] = -x[:, :2048]
    jitted = weft.jit(lambda x, w: x @ w, mesh=MESH, in_shardings=(P("data", "model"), P("model", None)))
    w = np.ones((4096, 4), np.float32)
    assert weft.verify(jitted.lower(x, w).compile(), x, w)


def planted(tmp_path):
    """A plan in which the sum over "model" is one over "data", with its reference."""
    lowered = compiled()
    graph, options = verified.verifiable(weft.jit(forward, mesh=MESH, in_shardings=(
        P("data", "model"), P("model", None))).lower(verified.array(8, 16), verified.array(16, 4)))
    text = graph.lower("spmd", verified="values", **options)
    line = next(line for line in text.split("\n") if "weft.all_reduce" in line)
    faulty = text.replace(line, line.replace('over <@mesh, {"model"}>', 'over <@mesh, {"data"}>'))
    weft.Plan(graph.compile("cpu", verified="reference", **options)).save(tmp_path / "reference.plan")
    weft.Plan(weft.lowered.Source(faulty, graph.name).compile("cpu", **options)).save(tmp_path / "faulty.plan")
    return lowered, tmp_path / "faulty.plan", tmp_path / "reference.plan"


def test_what_is_said_of_a_fault(tmp_path):
    _, faulty, reference = planted(tmp_path)
    found = weft.verify(weft.load(faulty), reference=reference)
    assert not found
    wrong, = found.wrong
    assert wrong.is_moved and wrong.name.startswith('partial sums over "model" of dot_general (test_verify.py:')
    assert wrong.ranks == (0, 1, 2, 3) and wrong.where == "" and wrong.differing == ("model",)
    assert wrong.elements == wrong.of == 32 and abs(wrong.value - wrong.expected) > wrong.bound > 0
    assert max(map(len, str(found).splitlines())) <= 80


def weft_command(*arguments):
    return subprocess.run([sys.executable, "-m", "weft", "verify", *map(str, arguments)], capture_output=True, text=True)


def test_command(tmp_path):
    right, faulty, reference = planted(tmp_path)
    done = weft_command(faulty, reference)
    assert done.returncode == 1 and "one is wrong" in done.stdout
    as_json = json.loads(weft_command(faulty, reference, "--json").stdout)
    assert as_json["forward"]["wrong"][0]["differing"] == ["model"]
    program = tmp_path / "forward.mlir"
    program.write_text(right._source.text)
    done = weft_command(program)
    assert done.returncode == 0 and ": all right; " in done.stdout


def test_bad_input(tmp_path):
    right, faulty, reference = planted(tmp_path)
    right.save(tmp_path / "usual.plan")
    with pytest.raises(weft.ExecutionError, match='entry "forward" of the plan was not made to be verified; compile it with'):
        weft.verify(weft.load(tmp_path / "usual.plan"), reference=reference)
    with pytest.raises(weft.ExecutionError, match='the reference is of another program: it has no entry "forward" for one device'):
        weft.verify(weft.load(faulty), reference=faulty)
    with pytest.raises(ValueError, match="a plan that was loaded takes the reference"):
        weft.verify(weft.load(faulty))
    with pytest.raises(ValueError, match="a compiled function takes none"):
        weft.verify(right, reference=reference)
    done = weft_command(faulty)
    assert done.returncode == 2 and "name a program (.mlir), or a plan and its reference" in done.stderr
    assert weft_command(tmp_path / "none.plan", reference).returncode == 2


@pytest.mark.parametrize("layout", [{"tensor": 2, "data": 2, "sharded": "fsdp"}, {"data": 4, "sharded": "zero1"},
                                    {"tensor": 4, "sequence_parallel": True, "recomputation": "selective"}], ids=str)
def test_micro_batches_in_two_types(layout):
    """Parameters in f32, matmuls in bf16, sums of gradients over data in f32."""
    step = weft.models.gpt(layers=1, hidden=32, heads=4, vocabulary=48, sequence=16, global_batch=8, micro_batch=1, **layout)
    found = weft.verify(step.lower().compile())
    assert found, str(found)


def test_a_fault_in_a_loop_has_its_micro_batch(tmp_path):
    lowered = verified.MODELS["micro-batches"]().lower((2, 2), ("data", "model"))
    graph, options = verified.verifiable(lowered)
    text = graph.lower("spmd", verified="values", target="cpu", **options)
    faulty = re.sub(r'(weft.all_reduce sum .* over <@mesh, \{)"model"', r'\1"data"', text, count=1)
    assert faulty != text
    reference = Plan(graph.compile("cpu", verified="reference", **options))
    plan = Plan(Source(faulty, graph.name).compile("cpu", **options))
    found = verify_plans(plan, reference, draw(plan.entries[0], 0), entry=plan.entries[0].name)
    (wrong,) = found.wrong
    assert wrong.is_moved and wrong.differing == ("model",) and len(wrong.index) == 3 and wrong.index[0] < 3


def gpt_pipeline(**options):
    sizes = dict(layers=2, hidden=32, heads=4, vocabulary=48, sequence=16, global_batch=4, micro_batch=1, pipeline=2)
    return weft.models.gpt(**sizes | options).lower()


@pytest.mark.parametrize("options", [{}, {"data": 2, "global_batch": 8}, {"schedule": "zb-h1"}, {"context": 4}],
                         ids=["1f1b", "data", "zb-h1", "ring"])
def test_pipelines(options):
    """The values of all stages, and the same bits as without the pipeline. The loop over a ring of four uses values that
    stand in front of it."""
    compiled = gpt_pipeline(**options).compile()
    found = weft.verify(compiled)
    assert found and found.values > 100 and found.changed == ()
    assert str(found).endswith("with the pipeline: the same bits of all results")


def test_stages_and_microbatches_that_the_compiler_makes():
    def loss(w, x):
        for each in w:
            x = wnp.tanh(x @ each)
        return (x**2).mean()

    def step(w, x):
        value, gradients = weft.value_and_grad(loss)(w, x)
        return [a - 0.1 * g for a, g in zip(w, gradients)], value

    array = weft.ShapeDtypeStruct((8, 8), "float32")
    pipeline = weft.Pipeline("pipe", stages="auto", microbatches=4)
    compiled = weft.jit(step, mesh=weft.make_mesh((2,), ("pipe",)), pipeline=pipeline).lower([array] * 4, array).compile()
    found = weft.verify(compiled)
    assert found and found.values > 4 and str(found).endswith("with the pipeline: the same bits of all results")


def test_what_a_pipeline_changes_is_named():
    compiled = gpt_pipeline().compile()
    lowering = {key: value for key, value in compiled._options.items() if key != "target"}
    text = compiled._source.lower("schedule", locations=True, **lowering)
    faulty = text.replace("math.tanh", "math.sin", 1)
    assert faulty != text
    plan = Plan(Source(faulty, "faulty.mlir").compile("cpu"))
    found = weft.verify(Compiled(plan, compiled.signature, source=compiled._source, options=compiled._options))
    assert not found and not found.wrong and "out[1]" in found.changed
    assert re.search(rf"with the pipeline: other bits of {len(found.changed)} of \d+ results, such as"
                     r"(\n  \S+: at \[[\d, ]+\] \S+, without \S+){4}$", str(found)), str(found)


def test_gradients_that_come_back_from_another_order():
    """Of a fused matrix in shards, whose columns are exchanged, sums of bf16 are rounded on each rank that has a part."""
    def loss(params, x):
        wide = x @ params["fused"]
        parts = [wide[:, begin:begin + 128] for begin in (0, 128, 256)]
        return sum((wnp.tanh(part) @ params[name]).astype("float32").sum() for part, name in zip(parts, "qkv"))

    array = lambda *shape: weft.ShapeDtypeStruct(shape, "bfloat16")
    specs = {"fused": P("data", "model")} | {name: P("model", "data") for name in "qkv"}
    jitted = weft.jit(weft.value_and_grad(loss), mesh=weft.make_mesh((2, 4), ("data", "model")),
                      in_shardings=(specs, P("data")), out_shardings=(P(), specs))
    compiled = jitted.lower({"fused": array(128, 384)} | {name: array(128, 128) for name in "qkv"}, array(8192, 128)).compile()
    assert "exchange" in {each.kind for each in compiled.collectives()}
    found = weft.verify(compiled)
    assert found, str(found)
