# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What thousands of arguments of one program take grows with their number, not with its square."""

import os
import subprocess

import pytest
from conftest import binaries

FEW, MANY = 1000, 6000
ROW = "tensor<4xf32>"


def program(results, body):
    return lambda count: "\n".join([
        'weft.mesh @mesh = <["x"=1]>',
        f"func.func @main({', '.join(f'%a{i}: {ROW}' for i in range(count))}) -> ({results(count)}) {{",
        *body(count), "}"])


def total(count):
    yield f"%s0 = arith.addf %a0, %a0 : {ROW}"
    for i in range(1, count):
        yield f"%s{i} = arith.addf %s{i - 1}, %a{i} : {ROW}"
    yield f"return %s{count - 1} : {ROW}"


def stacked(count):
    names, types = (", ".join(each.format(i) for i in range(count)) for each in ("%a{}", ROW))
    yield f"%r = weft.concat {names} dim = 0 : ({types}) -> tensor<{4 * count}xf32>"
    yield f"return %r : tensor<{4 * count}xf32>"


def updated(count):
    for i in range(count):
        yield f"%r{i} = arith.mulf %a{i}, %a{i} : {ROW}"
    yield f"return {', '.join(f'%r{i}' for i in range(count))} : {', '.join([ROW] * count)}"


PROGRAMS = {
    "total": program(lambda count: ROW, total),
    "stacked": program(lambda count: f"tensor<{4 * count}xf32>", stacked),
    "updated": program(lambda count: ", ".join([ROW] * count), updated),
}


def compiled(text, folder):
    """Bytes of memory that compiling took at most, and of the plan."""
    source, plan = folder / "many.mlir", folder / "many.plan"
    source.write_text(text)
    child = subprocess.Popen([binaries() / "shard-compile", source, "-o", plan], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_maxrss * 1024, plan.stat().st_size


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_and_plan_are_linear_in_arguments(name, tmp_path):
    few, many = (compiled(PROGRAMS[name](count), tmp_path) for count in (FEW, MANY))
    memory, plan = ((y - x) / (MANY - FEW) for x, y in zip(few, many))
    # A list of all arguments for each of them alone is 8 * MANY bytes.
    assert memory < 16 * 1024
    assert plan < 1024
