# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What JAX refuses on Explicit axes, Weft compiles, and says what it costs and why."""

import pytest

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct

MESH = weft.make_mesh((2, 2), ("x", "y"))
SQUARE = ShapeDtypeStruct((8, 8), "float32")


def collectives(function, *specs, out_shardings=None):
    """(kind, axes, cause) of what the function of square arrays of the given specs sends."""
    jitted = weft.jit(function, mesh=MESH, in_shardings=specs, out_shardings=out_shardings)
    records = jitted.lower(*[SQUARE] * len(specs)).compile(None).collectives()
    assert all(record.file.endswith("test_explicit_axes.py") for record in records)
    return [(record.kind, record.axes, record.cause.split(" (")[0]) for record in records]


def product(a, b):
    return a @ b


def total(a, b):
    return a + b


def test_both_contracting_dimensions_are_sharded():
    partial = 'partial sums over "x" of dot_general'
    assert collectives(product, P(None, "x"), P("x")) == [("all_reduce", ("x",), partial)]
    assert collectives(product, P(None, "x"), P("x"), out_shardings=P("x")) == [
        ("reduce_scatter", ("x",), partial)
    ]


def test_operands_of_an_elementwise_op_disagree():
    cause = '''"b" held as P(None, 'x'), needed as P('x', None) by add'''
    assert collectives(total, P("x"), P(None, "x")) == [("all_to_all", ("x",), cause)]


def test_a_sum_of_an_unreduced_and_another_value():
    ((kind, axes, cause),) = collectives(total, P(unreduced={"x"}), P())
    assert (kind, axes) == ("all_reduce", ("x",)) and '"a"' in cause


def test_a_sum_of_unreduced_values_is_reduced_once():
    unreduced = P(unreduced={"x"})
    (record,) = collectives(total, unreduced, unreduced)
    assert record[:2] == ("all_reduce", ("x",))


def test_a_reshape_that_a_sharding_cannot_follow():
    found = collectives(lambda a: wnp.reshape(a, (64,)), P(None, "x"))
    assert found == [
        ("all_gather", ("x",), '''"a" held as P(None, 'x'), needed as P(None, None) by reshape''')
    ]


def test_a_constraint_that_differs_from_the_sharding():
    def constrained(spec):
        return collectives(lambda a: weft.with_sharding_constraint(a, spec), P("x"))

    assert constrained(P("x")) == []
    assert [record[0] for record in constrained(P("y"))] == ["permute"]


def test_reduced_axes():
    with pytest.raises(NotImplementedError, match="`reduced` axes are not supported"):
        collectives(lambda a: a, P(reduced={"x"}))
