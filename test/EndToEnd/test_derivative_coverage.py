# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op of graphs has a derivative that is compared with differences, or a reason why
not."""

import re

import pytest

from conftest import succeed
from test_derivatives import program

INTEGERS = "integers and booleans carry no cotangent"
BITS = "the bits of a number have no derivative"
NO_OPERAND = "it has no operand"
LATER = "the partitioner makes it, after derivatives are taken"
SECOND = "it is a derivative; nobody has written the second one of attention"
ROUNDS = "differences drown in the rounding; test/Autodiff/derivatives.mlir has cases"
NEVER = "no front end makes it, and no kernel computes it"

# Op -> why there is no case for it.
WITHOUT_CASE = {op: reason for reason, ops in {
    INTEGERS: """
        arith.addi arith.addui_extended arith.andi arith.ceildivsi arith.ceildivui arith.cmpf arith.cmpi
        arith.divsi arith.divui arith.extsi arith.extui arith.floordivsi arith.fptosi arith.fptoui
        arith.index_cast arith.index_castui arith.maxsi arith.maxui arith.minsi arith.minui
        arith.mulsi_extended arith.muli arith.mului_extended arith.ori arith.remsi arith.remui
        arith.shli arith.shrsi arith.shrui arith.sitofp arith.subi arith.trunci arith.uitofp arith.xori
        math.absi math.ctlz math.ctpop math.cttz math.ipowi math.isfinite math.isinf
        math.isnan math.isnormal weft.argsort""",
    BITS: "arith.bitcast",
    NO_OPERAND: "arith.constant weft.iota",
    LATER: "weft.mask_padding weft.reshard",
    SECOND: "weft.attention_grad",
    ROUNDS: "arith.extf arith.truncf",
    NEVER: "arith.scaling_extf arith.scaling_truncf",
}.items() for op in ops.split()}


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """Op of graphs -> what it states."""
    empty = tmp_path_factory.mktemp("ops") / "empty.mlir"
    empty.write_text("module {}\n")
    run = succeed("shard-opt", empty, "--weft-print-op-interfaces", "-o", "/dev/null")
    return {op: interfaces.split(", ") for op, interfaces in
            re.findall(r"remark: ([\w.]+): (.*)", run.stderr)}


def test_every_op_has_a_case_or_a_reason(stated):
    assert {"arith.addf", "math.exp", "weft.reduce", "weft.softmax"} <= set(stated)
    cases = set(re.findall(r"\b(?:arith|math|weft)\.\w+", program()))
    differentiable = {op for op, interfaces in stated.items() if "derivative" in interfaces}
    missing = {op for op in stated if op not in WITHOUT_CASE and not (op in cases and op in differentiable)}
    assert not missing, "no derivative, or no case in derivative_cases.py"


def test_reasons_are_of_ops_that_need_one(stated):
    assert set(WITHOUT_CASE) <= set(stated)
    differentiable = {op for op in WITHOUT_CASE if "derivative" in stated[op]}
    assert all(WITHOUT_CASE[op] == ROUNDS for op in differentiable)
