# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of many transcendental functions call each of them instead of repeating its code."""

import pytest
from conftest import succeed

ROW = "tensor<4096xf32>"


def chain(op, links):
    lines = ['weft.mesh @mesh = <["x"=1]>', f"func.func @main(%y0: {ROW}) -> {ROW} {{",
             f"%a = arith.constant dense<1.25> : {ROW}", f"%b = arith.constant dense<0.5> : {ROW}"]
    for i in range(links):
        lines += [f"%s{i} = math.{op} %y{i} : {ROW}", f"%m{i} = arith.mulf %s{i}, %a : {ROW}",
                  f"%y{i + 1} = arith.addf %m{i}, %b : {ROW}"]
    return "\n".join([*lines, f"return %y{links} : {ROW}", "}"])


def plan_bytes(text, folder):
    source, plan = folder / "chain.mlir", folder / "chain.plan"
    source.write_text(text)
    succeed("shard-compile", source, "-o", plan)
    return plan.stat().st_size


@pytest.mark.parametrize("op", ["sin", "tanh", "exp", "log1p"])
def test_code_of_a_chain_has_a_call_for_each_link(op, tmp_path):
    few, many = 60, 460
    grown = plan_bytes(chain(op, many), tmp_path) - plan_bytes(chain(op, few), tmp_path)
    # Inlined, a link takes 150 (tanh) to 1,100 bytes (sin).
    assert grown / (many - few) < 64
