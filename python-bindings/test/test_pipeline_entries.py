# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plan whose entries initialize, train and evaluate: of them only the one that trains has
micro-batches, and all have the states in the same stages."""

import subprocess

import numpy as np
import pytest
from running import BINARIES

import weft

WIDTH, ROWS, MICROBATCHES = 4, 2, 4


def program(stages, data="", is_cut=True):
    """A layer a stage; the first matrix is that of the last layer as well, so that two stages have it."""
    matrix, names = f"tensor<{WIDTH}x{WIDTH}xf32>", [f"w{i}" for i in range(stages)]
    loop = f'<"step", {MICROBATCHES}>'

    def argument(name, kind, split=""):
        dims = ", ".join(["{}"] * (kind.count("x") - split.count("{"))) if not split else split
        return f'%{name}: {kind} {{weft.name = "{name}", weft.sharding = #weft.sharding<@mesh, [{dims}]>}}'

    def results(names, kind=matrix):
        return ", ".join(f'{kind} {{weft.name = "{name}"}}' for name in names)

    def layers(rows, boundary):
        kind, lines, x = f"tensor<{rows}x{WIDTH}xf32>", [], "%x"
        for i, name in enumerate([*names, "w0"]):
            lines += [f"%d{i} = weft.dot_general {x}, %{name} contracting = [1] x [0] : ({kind}, {matrix}) -> {kind}",
                      f"%t{i} = math.tanh %d{i} : {kind}"]
            x = f"%t{i}"
            if i + 1 < stages and boundary:
                lines += [f"%b{i} = weft.stage_boundary {x} : {kind}"]
                x = f"%b{i}"
        return "\n  ".join([*lines, f"%loss = weft.reduce sum {x} dims = [0, 1] : {kind} -> tensor<f32>"])

    part = f"tensor<{ROWS}x{WIDTH}xf32>"
    uses = "\n  ".join(f"%u{name} = weft.microbatch_use %{name} of {loop} : {matrix}" for name in names)
    updates = "\n  ".join(f"%s{name} = weft.microbatch_sum %g{name} of {loop} : {matrix}\n"
                          f"  %m{name}_new = arith.addf %m{name}, %s{name} : {matrix}\n"
                          f"  %{name}_new = arith.subf %{name}, %m{name}_new : {matrix}" for name in names)
    matrices, moments = [argument(name, matrix) for name in names], [argument(f"m{name}", matrix) for name in names]
    states = [*names, *(f"m{name}" for name in names)]
    first = "\n  ".join(
        f"%f{i} = arith.constant dense<{0.3 + 0.1 * i}> : {matrix}\n  %r{i} = arith.mulf %f{i}, %scales : {matrix}"
        for i in range(stages))
    news = ", ".join(f"%{name}_new" for name in states)
    types = ", ".join([matrix] * len(states))
    return f"""
weft.mesh @mesh = <["pipe"=RANKS{data}]>
func.func @init({argument("scale", "tensor<f32>")}) -> ({results(states)}) {{
  %scales = weft.broadcast %scale dims = [] : tensor<f32> -> {matrix}
  {first}
  %zero = arith.constant dense<0.0> : {matrix}
  return {", ".join(f"%r{i}" for i in range(stages))}, {", ".join(["%zero"] * stages)} : {types}
}}
func.func @step({", ".join([*matrices, *moments])}, {argument("batch", f"tensor<{ROWS}x{MICROBATCHES}x{WIDTH}xf32>", "{SPLIT}, {}, {}")})
    -> ({results(states)}, tensor<f32> {{weft.name = "loss"}}) {{
  {uses}
  %x = weft.microbatch_slice %batch dim = 1 of {loop} : tensor<{ROWS}x{MICROBATCHES}x{WIDTH}xf32> -> {part}
  %l, {", ".join(f"%g{name}" for name in names)} = weft.value_and_grad @model({", ".join(f"%u{name}" for name in names)}, %x)
      wrt = {list(range(stages))} : ({", ".join([matrix] * stages)}, {part}) -> (tensor<f32>, {", ".join([matrix] * stages)})
  %sum = weft.microbatch_sum %l of {loop} : tensor<f32>
  {updates}
  return {news}, %sum : {types}, tensor<f32>
}}
func.func private @model({", ".join(f"%{name}: {matrix}" for name in names)}, %x: {part}) -> tensor<f32> {{
  {layers(ROWS, True)}
  return %loss : tensor<f32>
}}
func.func @evaluate({", ".join(matrices)}, {argument("x", f"tensor<6x{WIDTH}xf32>", "{SPLIT}, {}")}) -> (tensor<f32> {{weft.name = "held out"}}) {{
  {layers(6, is_cut)}
  return %loss : tensor<f32>
}}
func.func @norm({", ".join([*matrices, *moments])}) -> (tensor<f32> {{weft.name = "norm"}}) {{
  {" ".join(f"%q{i} = arith.mulf %w{i}, %w{i} : {matrix} %n{i} = weft.reduce sum %q{i} dims = [0, 1] : {matrix} -> tensor<f32>" for i in range(stages))}
  %a1 = arith.addf %n0, %n1 : tensor<f32>
  {" ".join(f"%a{i} = arith.addf %a{i - 1}, %n{i} : tensor<f32>" for i in range(2, stages))}
  return %a{stages - 1} : tensor<f32>
}}
"""


def compiled(tmp_path, text, pipeline, stages, ranks):
    source, plan = tmp_path / "entries.mlir", tmp_path / "entries.plan"
    text = text.replace("RANKS", str(ranks))
    source.write_text(text.replace("{SPLIT}", '{"data"}' if '"data"' in text else "{}"))
    options = ["--pipeline", pipeline] if pipeline else []
    done = subprocess.run([BINARIES / "shard-compile", source, "-o", plan, *options], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return weft.load(plan, entry="step")


def run(plan, stages):
    r = np.random.default_rng(0)
    session = plan.session()
    session.set_input("init", "scale", np.float32(0.5))
    session.set_input("evaluate", "x", r.normal(size=(6, WIDTH)).astype(np.float32))
    session.run("init")
    states = [f"{kind}{i}" for kind in ("w", "mw") for i in range(stages)]
    found = [session.state(name) for name in states]
    for _ in range(3):
        session.set_input("step", "batch", r.normal(size=(ROWS, MICROBATCHES, WIDTH)).astype(np.float32))
        for entry, result in (("step", "loss"), ("evaluate", "held out"), ("norm", "norm")):
            session.run(entry)
            found.append(session.output(result))
        found += [session.state(name) for name in states]
    return [np.array(x) for x in found]


@pytest.mark.parametrize(("stages", "ranks", "pipeline", "data"), [
    (2, 2, "axis=pipe", ""), (3, 3, "axis=pipe schedule=zb-h1", ""), (4, 2, "axis=pipe schedule=zb-v", ""),
    (4, 2, "axis=pipe schedule=interleaved-1f1b", ', "data"=2'), (2, 2, "axis=pipe schedule=auto", ', "data"=2')])
def test_entries_have_the_bits_without_a_pipeline(tmp_path, stages, ranks, pipeline, data):
    text = program(stages, data)
    plan = compiled(tmp_path, text, pipeline, stages, ranks)
    found, wanted = run(plan, stages), run(compiled(tmp_path, text, None, stages, ranks), stages)
    assert len(found) == len(wanted) and float(found[2 * stages]) != 0
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_has_no_boundaries_is_where_its_parameters_are(tmp_path):
    text = program(3, is_cut=False)
    found, wanted = (run(compiled(tmp_path, text, pipeline, 3, 3), 3) for pipeline in ("axis=pipe", None))
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


def test_states_are_made_in_their_stages(tmp_path):
    """Of a parameter of two stages the first sends the second its copy, of all others nothing is sent."""
    compiled(tmp_path, program(3), "axis=pipe", 3, 3)
    plan = weft.load(tmp_path / "entries.plan", entry="init")
    assert [(m.label, m.bytes, m.count) for m in plan.messages()] == [
        ("level 0 of the update of stage 0 for stage 2", WIDTH * WIDTH * 4, 1)]
    # It has no micro-batches.
    report = plan.report().split("entry step")[0]
    assert "pipeline of 3 ranks, along" in report and "estimated" not in report
    first, middle, last = weft.load(tmp_path / "entries.plan", entry="step").memory().roles
    assert first.highest["parameters"] == middle.highest["parameters"] == last.highest["parameters"] // 2
