# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partition specs and shape structs as values."""

import pickle

import numpy as np
import pytest

from weft import Mesh, NamedSharding, P, PartitionSpec, ShapeDtypeStruct, SpecError
from weft import tree


def test_entries_are_canonical():
    assert P(("x",)) == P("x") and P(["x", "y"]) == P(("x", "y"))
    assert P(()) == P(None) and P([]) == P(None)
    assert P("x") != P("x", None) and P("x") != ("x",)
    assert P is PartitionSpec


def test_specs_print():
    assert repr(P()) == "P()"
    assert repr(P("x")) == "P('x',)"
    assert repr(P(None, ("x", "y"), P.UNCONSTRAINED)) == "P(None, ('x', 'y'), UNCONSTRAINED)"
    assert repr(P("x", unreduced={"z", "y"})) == "P('x', unreduced={'y', 'z'})"
    assert repr(P("x", None, unreduced={"y"}, reduced={"z"})) == (
        "P('x', None, unreduced={'y'}, reduced={'z'})"
    )
    assert repr(P(unreduced={"y"})) == "P(unreduced={'y'})"


def test_specs_are_leaves_and_values():
    spec = P("x", P.UNCONSTRAINED, unreduced={"y"})
    assert tree.leaves({"w": spec}) == [spec]
    assert hash(spec) == hash(P("x", P.UNCONSTRAINED, unreduced={"y"}))
    copy = pickle.loads(pickle.dumps(spec))
    assert copy == spec and copy.partitions[1] is P.UNCONSTRAINED


def test_specs_are_sequences():
    spec = P("x", None, ("y", "z"))
    assert len(spec) == 3 and list(spec) == ["x", None, ("y", "z")]
    assert spec[0] == "x" and spec.index(["y", "z"]) == 2 and spec.count(None) == 1
    assert P("x") + P("y", unreduced={"z"}) == P("x", "y", unreduced={"z"})
    assert P("x") + (None,) == P("x", None) and (None,) + P("x") == P(None, "x")
    assert spec.update(partitions=("x",), unreduced={"y"}) == P("x", unreduced={"y"})


def test_a_dimension_may_be_open_beyond_its_axes():
    spec = P(("x", P.UNCONSTRAINED), P.UNCONSTRAINED, "y")
    assert [spec.is_open(dim) for dim in range(4)] == [True, True, False, False]
    assert repr(spec) == "P(('x', UNCONSTRAINED), UNCONSTRAINED, 'y')"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: P("a", 1),
            TypeError,
            "entry 1 of a PartitionSpec is 1, a int; expected an axis name, a tuple of axis names, None "
            "or P.UNCONSTRAINED",
        ),
        (
            lambda: P(("a", None)),
            TypeError,
            "entry 0 of a PartitionSpec is ('a', None); expected axis names in a tuple (and "
            "P.UNCONSTRAINED after the last, to leave the dimension open)",
        ),
        (
            lambda: P("a:2"),
            ValueError,
            "'a:2' is not an axis: expected 'name', or 'name:(pre)size' for a part of one",
        ),
        (
            lambda: P(unreduced={None}),
            ValueError,
            "unreduced cannot contain None: all its elements should refer to mesh axes",
        ),
        (
            lambda: P(reduced={None}),
            ValueError,
            "reduced cannot contain None: all its elements should refer to mesh axes",
        ),
        (lambda: P(unreduced={1}), TypeError, "unreduced must contain axis names, got 1"),
        (
            lambda: P(unreduced=["a"]),
            TypeError,
            "unreduced of a PartitionSpec must be a set of axis names, got ['a'], a list; write "
            "unreduced={'x'}",
        ),
        (
            lambda: P(unreduced={"a", "b"}, reduced={"a"}),
            ValueError,
            "`unreduced` and `reduced` of a PartitionSpec cannot overlap: {'a'} is in "
            "unreduced={'a', 'b'} and in reduced={'a'}",
        ),
        (
            lambda: P("a", ("b", "c"), unreduced={"b"}),
            ValueError,
            "partitions cannot overlap with unreduced axes: {'b'} splits a dimension in ('a', "
            "('b', 'c')) and is in unreduced={'b'}; an axis has one of the two uses",
        ),
        (
            lambda: P("a", reduced={"a"}),
            ValueError,
            "partitions cannot overlap with reduced axes: {'a'} splits a dimension in ('a',) and is "
            "in reduced={'a'}; an axis has one of the two uses",
        ),
        (
            lambda: P("a", unreduced={"b"})[0],
            ValueError,
            "indexing of P('a', unreduced={'b'}) would lose its unreduced and reduced axes; use "
            ".partitions",
        ),
        (
            lambda: list(P("a", reduced={"b"})),
            ValueError,
            "iteration of P('a', reduced={'b'}) would lose its unreduced and reduced axes; use "
            ".partitions",
        ),
        (
            lambda: P("a", reduced={"b"}) + ("c",),
            ValueError,
            "the sum with a tuple of P('a', reduced={'b'}) would lose its unreduced and reduced "
            "axes; use .partitions",
        ),
        (
            lambda: type("Q", (P,), {}),
            TypeError,
            "PartitionSpec cannot be subclassed",
        ),
        (
            lambda: setattr(P("a"), "unreduced", ()),
            AttributeError,
            "a PartitionSpec cannot be changed; use .update()",
        ),
        (lambda: P("a") + 1, TypeError, None),
        (
            lambda: ShapeDtypeStruct((2,), None),
            ValueError,
            "ShapeDtypeStruct: dtype must be specified",
        ),
        (
            lambda: ShapeDtypeStruct((2, -1), "float32"),
            ValueError,
            "ShapeDtypeStruct: sizes cannot be negative, got shape (2, -1)",
        ),
        (
            lambda: ShapeDtypeStruct((2,), "float32", sharding="x"),
            ValueError,
            "the sharding of a ShapeDtypeStruct must be a NamedSharding or a PartitionSpec, got 'x' "
            "of type str",
        ),
        (
            lambda: ShapeDtypeStruct((), "float32", sharding=P("x")),
            SpecError,
            "P('x',) is only valid for values of rank at least 1, but was applied to a value of rank "
            "0; for scalars the spec is P()",
        ),
        (
            lambda: setattr(ShapeDtypeStruct((), "int8"), "shape", (1,)),
            AttributeError,
            "a ShapeDtypeStruct cannot be changed; use .update(shape=...)",
        ),
        (
            lambda: ShapeDtypeStruct((), "int8").update(size=1),
            TypeError,
            "a ShapeDtypeStruct has no size",
        ),
        (lambda: len(ShapeDtypeStruct((), "int8")), TypeError, "len() of a ShapeDtypeStruct without dimensions"),
    ],
)
def test_what_specs_and_structs_refuse(make, error, message):
    with pytest.raises(error) as raised:
        make()
    assert message is None or str(raised.value) == message


def test_shape_structs_are_values():
    struct = ShapeDtypeStruct([8, 4], np.float32)
    assert struct.shape == (8, 4) and struct.dtype == np.dtype("float32")
    assert struct.ndim == 2 and struct.size == 32 and struct.nbytes == 128 and len(struct) == 8
    assert repr(struct) == "ShapeDtypeStruct(shape=(8, 4), dtype=float32)"
    assert struct == ShapeDtypeStruct((8, 4), "float32") and tree.leaves([struct]) == [struct]
    sharding = NamedSharding(Mesh((2,), "x"), P("x"))
    annotated = struct.update(sharding=sharding, weak_type=True)
    assert annotated.sharding is sharding and pickle.loads(pickle.dumps(annotated)) == annotated
    assert repr(annotated) == (
        "ShapeDtypeStruct(shape=(8, 4), dtype=float32, "
        "sharding=NamedSharding(mesh=Mesh('x': 2, axis_types=(Auto,)), spec=P('x',)), weak_type=True)"
    )
    assert ShapeDtypeStruct.like(np.zeros((2, 3), np.int8)) == ShapeDtypeStruct((2, 3), "int8")
    assert ShapeDtypeStruct.like(annotated) == annotated


def test_machine_learning_types_need_ml_dtypes(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="dtype 'bfloat17' is none of NumPy's; with the package ml_dty"):
        ShapeDtypeStruct((2,), "bfloat17")


def test_machine_learning_types():
    pytest.importorskip("ml_dtypes", reason="bfloat16 is a type of the package ml_dtypes")
    assert ShapeDtypeStruct((2,), "bfloat16").nbytes == 4
    with pytest.raises(TypeError, match="neither a type of NumPy nor of ml_dtypes"):
        ShapeDtypeStruct((2,), "bfloat17")
