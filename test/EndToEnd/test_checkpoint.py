# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recomputation takes less memory and changes no bit."""

import functools
import re

import numpy as np
import pytest

from conftest import succeed

LAYERS, BATCH, WIDTH, HIDDEN = 6, 64, 32, 256
X = f"tensor<{BATCH}x{WIDTH}xf32>"
U = f"tensor<{BATCH}x{HIDDEN}xf32>"
W = f"tensor<{WIDTH}x{HIDDEN}xf32>"
V = f"tensor<{HIDDEN}x{WIDTH}xf32>"

LAYER = f"""
func.func private @layer(%x: {X}, %w: {W}, %v: {V}) -> {X} {{
  %u = weft.dot_general %x, %w contracting = [1] x [0] : ({X}, {W}) -> {U}
  %t = math.tanh %u : {U}
  %a = arith.mulf %u, %t : {U}
  %s = weft.dot_general %a, %v contracting = [1] x [0] : ({U}, {V}) -> {X}
  %h = math.tanh %s : {X}
  %y = arith.addf %x, %h : {X}
  return %y : {X}
}}"""


def program(policy):
    """The gradients of a chain of layers; a policy of None is a plain call."""
    call, end = ("call", "") if policy is None else ("weft.checkpoint", f' policy = "{policy}"')
    names = [f"{kind}{layer}" for layer in range(LAYERS) for kind in "wv"]
    kinds = [W, V] * LAYERS
    lines = [f"  %x{i + 1} = {call} @layer(%x{i}, %w{i}, %v{i}){end} : ({X}, {W}, {V}) -> {X}"
             for i in range(LAYERS)]
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
    inputs = ", ".join(f'%{name}: {kind} {{weft.name = "{name}"}}'
                       for name, kind in zip(names, kinds, strict=True))
    results = ", ".join(f'{kind} {{weft.name = "d_{name}"}}'
                        for name, kind in zip(names, kinds, strict=True))
    count, types = len(names), ", ".join(kinds)
    batch = '{weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}'
    return f"""
weft.mesh @mesh = <["data"=1]>
{LAYER}
func.func private @loss(%x0: {X}, {arguments}) -> tensor<f32> {{
{chr(10).join(lines)}
  %squares = arith.mulf %x{LAYERS}, %x{LAYERS} : {X}
  %l = weft.reduce sum %squares dims = [0, 1] : {X} -> tensor<f32>
  return %l : tensor<f32>
}}
func.func @gradients(%x: {X} {batch}, {inputs})
    -> (tensor<f32> {{weft.name = "loss"}}, {results}) {{
  %g:{count + 1} = weft.value_and_grad @loss(%x, {", ".join("%" + name for name in names)})
      wrt = {list(range(1, count + 1))} : ({X}, {types}) -> (tensor<f32>, {types})
  return {", ".join(f"%g#{i}" for i in range(count + 1))} : tensor<f32>, {types}
}}"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Arena bytes, multiplications and outputs of a policy on a mesh."""
    folder = tmp_path_factory.mktemp("checkpoint")
    random = np.random.default_rng(0)
    shapes = {"x": (BATCH, WIDTH)}
    for layer in range(LAYERS):
        shapes |= {f"w{layer}": (WIDTH, HIDDEN), f"v{layer}": (HIDDEN, WIDTH)}
    inputs = []
    for name, shape in shapes.items():
        np.save(folder / f"{name}.npy", random.normal(0, 0.2, shape).astype(np.float32))
        inputs += ["--input", f"{name}={folder / name}.npy"]
    outputs = ["loss", *(f"d_{name}" for name in shapes if name != "x")]

    @functools.cache
    def at(policy, devices):
        source, plan = folder / f"{policy}.mlir", folder / f"{policy}.plan"
        source.write_text(program(policy))
        # What kernels recompute frees the same tensors without a policy.
        succeed("shard-compile", source, "--mesh", f"data={devices}", "--recompute-in-kernels=false", "-o", plan)
        dump = succeed("shard-run", plan, "--dump=gradients").stdout
        flags = [flag for name in outputs
                 for flag in ("--output", f"{name}={folder / name}.{policy}.npy")]
        succeed("shard-run", plan, "--quiet", *inputs, *flags)
        return (int(re.search(r"arena (\d+) bytes", dump)[1]), dump.count(" gemm "),
                {name: np.load(folder / f"{name}.{policy}.npy") for name in outputs})
    return at


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("policy", ["nothing", "dots", "everything"])
def test_no_bit_changes(run, policy, devices):
    expected, found = run(None, devices)[2], run(policy, devices)[2]
    for name, value in expected.items():
        assert np.isfinite(value).all()
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("devices", [1, 2])
def test_what_is_kept(run, devices):
    plain, nothing, dots, everything = (run(policy, devices)
                                        for policy in (None, "nothing", "dots", "everything"))
    assert everything[:2] == plain[:2]
    # Both products of a layer are formed again, or neither.
    assert nothing[1] == plain[1] + 2 * LAYERS
    assert dots[1] == plain[1]
    # Between forward and backward a layer holds at least one tensor of the
    # hidden width, and with "nothing" none.
    hidden = BATCH * HIDDEN * 4 // devices
    assert nothing[0] <= plain[0] - (LAYERS - 2) * hidden
    assert dots[0] <= plain[0]
