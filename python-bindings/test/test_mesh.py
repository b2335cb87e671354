# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes: what they are made of, how they print, what they refuse."""

import pickle

import numpy as np
import pytest

from weft import AbstractMesh, AxisType, Mesh, make_mesh


def test_a_mesh_needs_no_devices():
    mesh = Mesh((2, 4), ("data", "model"))
    assert mesh.axis_names == ("data", "model")
    assert mesh.axis_sizes == (2, 4)
    assert mesh.size == 8 and not mesh.empty
    assert mesh.shape == {"data": 2, "model": 4} and list(mesh.shape) == ["data", "model"]
    assert mesh.shape_tuple == (("data", 2), ("model", 4))
    assert mesh.devices.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert mesh.axis_types == (AxisType.Auto, AxisType.Auto)


def test_devices_may_be_numbers_in_any_order():
    mesh = Mesh([[3, 2], [1, 0]], ("x", "y"))
    assert mesh.axis_sizes == (2, 2) and mesh.device_ids.tolist() == [[3, 2], [1, 0]]
    assert Mesh(np.arange(4), "x").axis_sizes == (4,)
    assert mesh != Mesh((2, 2), ("x", "y")) and mesh.abstract_mesh == AbstractMesh((2, 2), ("x", "y"))


def test_devices_may_be_objects_with_an_id():
    class Device:
        def __init__(self, number):
            self.id = number

    assert Mesh([Device(1), Device(0)], "x").devices.tolist() == [1, 0]


def test_make_mesh_takes_the_first_devices_and_makes_explicit_axes():
    mesh = make_mesh((2,), ("x",), devices=[1, 0, 2])
    assert mesh.devices.tolist() == [1, 0]
    assert mesh.axis_types == (AxisType.Explicit,)
    assert make_mesh((2,), "x", (AxisType.Auto,)).axis_types == (AxisType.Auto,)


def test_meshes_print():
    mesh = Mesh((2, 4), ("a", "b"))
    assert repr(mesh) == "Mesh(axis_sizes=(2, 4), axis_names=('a', 'b'), axis_types=(Auto, Auto))"
    assert str(mesh) == "Mesh('a': 2, 'b': 4, axis_types=(Auto, Auto))"
    assert repr(mesh.abstract_mesh) == "AbstractMesh('a': 2, 'b': 4, axis_types=(Auto, Auto))"
    assert repr(AbstractMesh((), ())) == "AbstractMesh((), axis_types=())"


def test_meshes_are_values():
    assert Mesh((2,), "x") == Mesh((2,), "x") and hash(Mesh((2,), "x")) == hash(Mesh((2,), "x"))
    assert Mesh((2,), "x") != AbstractMesh((2,), "x")
    assert Mesh((2,), "x") != Mesh((2,), "x", AxisType.Explicit)
    for mesh in (Mesh([[1, 0]], ("x", "y")), AbstractMesh((2,), "x", AxisType.Manual)):
        assert pickle.loads(pickle.dumps(mesh)) == mesh
    with pytest.raises(AttributeError, match="a Mesh cannot be changed"):
        Mesh((2,), "x").axis_names = ("y",)


def test_update_replaces_parts():
    mesh = Mesh((2, 2), ("x", "y"))
    assert mesh.update(axis_names=("a", "b")).shape == {"a": 2, "b": 2}
    abstract = mesh.abstract_mesh.update(axis_types=(AxisType.Auto, AxisType.Explicit))
    assert abstract.auto_axes == ("x",) and abstract.explicit_axes == ("y",)
    assert abstract.manual_axes == ()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Mesh(np.arange(8), ("a", "b")),
            ValueError,
            "Mesh requires the ndim of its first argument (`devices`) to equal the length of its "
            "second argument (`axis_names`), but got devices.ndim == 1 (shape (8,)) and axis_names "
            "== ('a', 'b'); shapes of 8 devices: (2, 4), (4, 2)",
        ),
        (
            lambda: make_mesh((4, 4), ("a", "b"), devices=range(8)),
            ValueError,
            "number of devices 8 must be >= the product of mesh_shape (4, 4), which is 16; shapes of "
            "8 devices: (2, 4), (4, 2)",
        ),
        (
            lambda: Mesh((2, 2), ("a", "a")),
            ValueError,
            "Mesh axis names must differ, got a twice in ('a', 'a')",
        ),
        (
            lambda: AbstractMesh((2, 2), ("a", None)),
            ValueError,
            "AbstractMesh axis names must be strings without ':', quotes, backslashes and line breaks, got None in ('a', None)",
        ),
        (
            lambda: AbstractMesh((2,), ("a", "b")),
            ValueError,
            "AbstractMesh needs as many axis sizes as axis names, got axis_sizes=(2,) and "
            "axis_names=('a', 'b')",
        ),
        (
            lambda: Mesh((2, 0), ("a", "b")),
            ValueError,
            "Mesh axis sizes must be at least 1, got (2, 0)",
        ),
        (
            lambda: make_mesh("ab", ("a", "b")),
            ValueError,
            "make_mesh axis sizes must be a sequence of ints, got 'ab'",
        ),
        (
            lambda: AbstractMesh((2, 2), ("a", "b"), AxisType.Auto),
            ValueError,
            "number of axis names should match the number of axis_types: got axis_names=('a', 'b') "
            "and axis_types=(Auto,)",
        ),
        (
            lambda: AbstractMesh((2,), ("a",), ("auto",)),
            TypeError,
            "axis_types must be of type weft.AxisType, got ('auto',)",
        ),
        (
            lambda: Mesh([0, 0], "a"),
            ValueError,
            "the devices of a Mesh must differ, got [0, 0]",
        ),
        (
            lambda: Mesh([4, 1, 2, -1], "a"),
            ValueError,
            "the devices of a Mesh of 4 are 0 to 3, in any order, got 4 and -1",
        ),
        (
            lambda: Mesh(["cpu:0"], "a"),
            TypeError,
            "the devices of a Mesh must be device numbers, got 'cpu:0'",
        ),
        (lambda: Mesh([], "a"), ValueError, "Mesh needs at least one device, got none"),
    ],
)
def test_what_a_mesh_refuses(make, error, message):
    with pytest.raises(error) as raised:
        make()
    assert str(raised.value) == message
