# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.value_and_grad against central differences in f64, op by op.

All cases are one plan with two entries: @losses, run once for every change of
an operand's element, and @gradients, run once.
"""

import csv

import numpy as np
import pytest

from conftest import succeed
from derivative_cases import CASES, tensor

STEP = 1e-6


def entry(name, call, outputs):
    """An entry with the operands of all cases; `call` gives the line and the
    results of one case."""
    arguments = [f'%{case.name}_{i}: {tensor(shape)} {{weft.name = "{case.name}.{i}"}}'
                 for case in CASES for i, shape in enumerate(case.shapes)]
    results = [result for case in CASES for result in outputs(case)]
    lines = "\n".join(call(case) for case in CASES)
    types = [f'{kind} {{weft.name = "{label}"}}' for _, kind, label in results]
    return (f"func.func @{name}({', '.join(arguments)}) -> ({', '.join(types)}) {{\n{lines}\n"
            f"  return {', '.join(value for value, _, _ in results)}"
            f" : {', '.join(kind for _, kind, _ in results)}\n}}\n")


def operands(case):
    return ", ".join(f"%{case.name}_{i}" for i in range(len(case.shapes)))


def types(case):
    return ", ".join(map(tensor, case.shapes))


def program():
    """Both entries and the functions of the cases."""
    losses = entry(
        "losses",
        lambda case: f"  %{case.name} = call @{case.name}({operands(case)})"
                     f" : ({types(case)}) -> tensor<f64>",
        lambda case: [(f"%{case.name}", "tensor<f64>", f"{case.name}.loss")])
    gradients = entry(
        "gradients",
        lambda case: f"  %{case.name}:{len(case.shapes) + 1} = weft.value_and_grad"
                     f" @{case.name}({operands(case)}) wrt = {list(range(len(case.shapes)))}"
                     f" : ({types(case)}) -> (tensor<f64>, {types(case)})",
        lambda case: [(f"%{case.name}#{i + 1}", tensor(shape), f"{case.name}.{i}.gradient")
                      for i, shape in enumerate(case.shapes)])
    return "\n".join(['weft.mesh @mesh = <["x"=2]>', losses, gradients,
                      *(case.function() for case in CASES)])


def changes(case):
    """For each operand a stack: every element of every operand moved down, then
    up."""
    values = case.operands()
    stacks = [[] for _ in values]
    for moved, operand in enumerate(values):
        for at in np.ndindex(operand.shape):
            for step in (-STEP, STEP):
                for i, value in enumerate(values):
                    changed = value.copy()
                    if i == moved:
                        changed[at] += step
                    stacks[i].append(changed)
    return [np.stack(stack) for stack in stacks]


@pytest.fixture(scope="module")
def derivatives(tmp_path_factory):
    """(numeric, computed) gradients of each case, by its operands."""
    folder = tmp_path_factory.mktemp("derivatives")
    source, plan = folder / "cases.mlir", folder / "cases.plan"
    source.write_text(program())
    succeed("shard-compile", source, "-o", plan)

    steps, stacked, plain, outputs = 0, [], [], []
    for case in CASES:
        for i, (stack, value) in enumerate(zip(changes(case), case.operands(), strict=True)):
            name = f"{case.name}.{i}"
            np.save(folder / f"{name}.stack.npy", stack)
            np.save(folder / f"{name}.npy", value)
            stacked += ["--input", f"{name}={folder / name}.stack.npy"]
            plain += ["--input", f"{name}={folder / name}.npy"]
            outputs += ["--output", f"{name}.gradient={folder / name}.gradient.npy"]
            steps = max(steps, len(stack))
    metrics = folder / "losses.csv"
    succeed("shard-run", plan, "--entry", "losses", "--steps", steps, "--quiet",
            "--metrics", metrics, *stacked)
    succeed("shard-run", plan, "--entry", "gradients", "--quiet", *plain, *outputs)

    with open(metrics, newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for case in CASES:
        sizes = [int(np.prod(shape)) for shape in case.shapes]
        losses = np.array([float(row[f"{case.name}.loss"]) for row in rows[:2 * sum(sizes)]])
        pairs = losses.reshape(-1, 2)
        slopes = np.split((pairs[:, 1] - pairs[:, 0]) / (2 * STEP), np.cumsum(sizes)[:-1])
        found[case.name] = [
            (slope.reshape(shape), np.load(folder / f"{case.name}.{i}.gradient.npy"))
            for i, (slope, shape) in enumerate(zip(slopes, case.shapes, strict=True))]
    return found


# Where there is no derivative: op, operands, the cotangents for a cotangent of 1.
KINKS = {
    "maximumf": ("arith.maximumf %x, %y", [1, 2, 2], [1, 1, 3], [0.5, 1, 0], [0.5, 0, 1]),
    "minimumf": ("arith.minimumf %x, %y", [1, 2, 2], [1, 1, 3], [0.5, 0, 1], [0.5, 1, 0]),
    "absf": ("math.absf %x", [-1, 0, 2], [0, 0, 0], [-1, 1, 1], [0, 0, 0]),
}


@pytest.mark.parametrize("kink", KINKS)
def test_equal_arguments_share_as_in_jax(tmp_path, kink):
    op, x, y, *expected = KINKS[kink]
    (tmp_path / "kink.mlir").write_text(f"""
func.func private @loss(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<f64> {{
  %r = {op} : tensor<3xf64>
  %loss = weft.reduce sum %r dims = [0] : tensor<3xf64> -> tensor<f64>
  return %loss : tensor<f64>
}}
func.func @gradients(%x: tensor<3xf64> {{weft.name = "x"}}, %y: tensor<3xf64> {{weft.name = "y"}})
    -> (tensor<3xf64> {{weft.name = "dx"}}, tensor<3xf64> {{weft.name = "dy"}}) {{
  %r:3 = weft.value_and_grad @loss(%x, %y) wrt = [0, 1]
      : (tensor<3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>, tensor<3xf64>)
  return %r#1, %r#2 : tensor<3xf64>, tensor<3xf64>
}}""")
    check(tmp_path, "kink", dict(x=x, y=y), dict(dx=expected[0], dy=expected[1]))


def test_equal_elements_share_a_maximum(tmp_path):
    (tmp_path / "tie.mlir").write_text("""
func.func private @loss(%x: tensor<2x4xf64>) -> tensor<f64> {
  %r = weft.reduce max %x dims = [1] : tensor<2x4xf64> -> tensor<2xf64>
  %loss = weft.reduce sum %r dims = [0] : tensor<2xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
func.func @gradients(%x: tensor<2x4xf64> {weft.name = "x"}) -> (tensor<2x4xf64> {weft.name = "dx"}) {
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<2x4xf64>) -> (tensor<f64>, tensor<2x4xf64>)
  return %r#1 : tensor<2x4xf64>
}""")
    check(tmp_path, "tie", dict(x=[[3, 1, 3, 0], [1, 2, 0, 1]]),
          dict(dx=[[0.5, 0, 0.5, 0], [0, 1, 0, 0]]))


def check(folder, name, inputs, outputs):
    """Compiles and runs <name>.mlir and compares outputs exactly."""
    succeed("shard-compile", folder / f"{name}.mlir", "-o", folder / f"{name}.plan")
    flags = []
    for key, value in inputs.items():
        np.save(folder / f"{key}.npy", np.array(value, np.float64))
        flags += ["--input", f"{key}={folder / key}.npy"]
    for key in outputs:
        flags += ["--output", f"{key}={folder / key}.npy"]
    succeed("shard-run", folder / f"{name}.plan", "--quiet", *flags)
    for key, value in outputs.items():
        np.testing.assert_array_equal(np.load(folder / f"{key}.npy"), value, err_msg=key)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_gradient_equals_finite_differences(derivatives, case):
    for i, (numeric, computed) in enumerate(derivatives[case.name]):
        np.testing.assert_allclose(computed, numeric, rtol=1e-6, atol=1e-7,
                                   err_msg=f"operand {i}")
