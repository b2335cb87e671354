# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What specs are legal is said where they are written, in Python, without the compiler. The
compiler has the same rules."""

import random
import re

import pytest

import weft
from weft import P
from weft.legality import violations
from weft.sharding import mesh_to_mlir, to_mlir
from weft.spec import Axis

_compiler = pytest.importorskip("weft._compiler", reason="the compiler's module is not built")

MESH = weft.Mesh((2, 12, 8, 1), ("a", "b", "c", "d"), (weft.AxisType.Explicit,) * 4)


def drawn_axes(choose, most):
    """Axes and parts of axes, which they may not have."""
    def axis():
        name = choose.choice("abbbccd")
        return name if choose.random() < 0.4 else str(Axis(name, choose.randint(1, 6), choose.randint(1, 6)))

    return tuple(axis() for _ in range(choose.randint(0, most)))


def drawn_spec(choose):
    dims = [drawn_axes(choose, 2) for _ in range(2)]
    try:
        return P(*dims, unreduced=set(drawn_axes(choose, 1)))
    except ValueError:  # an axis has one of the two uses
        return P(*dims)


@pytest.mark.parametrize("seed", range(5))
def test_the_compiler_has_the_same_rules(seed):
    choose = random.Random(seed)
    specs = [drawn_spec(choose) for _ in range(2000)]
    arguments = ", ".join(
        f"%x{i}: tensor<8x8xf32> {{weft.sharding = #weft.sharding{to_mlir('mesh', MESH, spec, 2)}}}"
        for i, spec in enumerate(specs))
    text = f"module {{\n{mesh_to_mlir('mesh', MESH)}\nfunc.func @f({arguments}) {{\n  return\n}}\n}}\n"
    messages = [record[1] for record in _compiler.lower(text, "f.mlir", form="graph")[1]]
    refused = {int(re.match(r"sharding of argument (\d+):", message)[1]) for message in messages}
    assert {i for i, spec in enumerate(specs) if violations(spec, MESH)} == refused
    assert 100 < len(refused) < 1900
