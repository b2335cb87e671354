# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.visualize`: every rank stands in the part that it holds."""

import re

import numpy as np
import pytest

import weft
from weft import P

MESH = weft.Mesh((2, 4), ("data", "model"))


def grid(drawing):
    """Rows of cells."""
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in str(drawing).splitlines() if line[0] == "│"]


@pytest.mark.parametrize("spec, expected", [
    (P("data", "model"), [["0", "1", "2", "3"], ["4", "5", "6", "7"]]),
    (P("model", "data"), [["0", "4"], ["1", "5"], ["2", "6"], ["3", "7"]]),
    (P(None, "model"), [["0,4", "1,5", "2,6", "3,7"]]),
    (P("data"), [["0-3"], ["4-7"]]),
    (P(), [["0-7"]]),
    (P(("model", "data")), [["0"], ["4"], ["1"], ["5"], ["2"], ["6"], ["3"], ["7"]]),
])
def test_matrices(spec, expected):
    assert grid(weft.visualize(spec, (16, 8), MESH)) == expected
    assert grid(weft.visualize(weft.NamedSharding(MESH, spec), (16, 8))) == expected


def test_the_title_and_frame():
    assert str(weft.visualize(P("data"), (8, 4), weft.Mesh((2,), ("data",)))) == (
        "8x4 as P('data',) on data=2: 4x4 a rank\n┌───┐\n│ 0 │\n├───┤\n│ 1 │\n└───┘")


def test_arrays_and_descriptions():
    array = weft.device_put(np.zeros((8, 4), "float32"), weft.NamedSharding(MESH, P("data")))
    described = weft.ShapeDtypeStruct((8, 4), "float32", sharding=weft.NamedSharding(MESH, P("data")))
    assert str(weft.visualize(array)) == str(weft.visualize(described)) == str(weft.visualize(P("data"), (8, 4), MESH))


def test_vectors_scalars_and_more_dimensions():
    assert grid(weft.visualize(P("model"), (8,), MESH)) == [["0,4", "1,5", "2,6", "3,7"]]
    assert grid(weft.visualize(P(), (), MESH)) == [["0-7"]]
    drawing = weft.visualize(P("data", None, "model"), (4, 2, 8), MESH)
    assert [title for title, _ in drawing.grids] == ["[0:2, :, :]", "[2:4, :, :]"]
    assert grid(drawing) == [["0", "1", "2", "3"], ["4", "5", "6", "7"]]


def test_large_meshes_fit_into_a_terminal():
    drawing = str(weft.visualize(P("x", "y"), (1024, 1024), weft.Mesh((64, 64), ("x", "y"))))
    assert max(map(len, drawing.splitlines()[1:])) <= 80 and len(drawing.splitlines()) < 40 and "..." in drawing


def test_padding_has_no_rank_of_its_own():
    assert grid(weft.visualize(P("model"), (5,), MESH))[0][:3] == ["0,4", "1,5", "2,6"]


def test_a_notebook_gets_a_table():
    page = weft.visualize(P("data", "model"), (8, 8), MESH)._repr_html_()
    assert page.count("<td") == 8 and re.search(r">7</td>", page) and "<script" not in page


@pytest.mark.parametrize("arguments, error, expected", [
    ((P("data"), (8,)), ValueError, "give the mesh that P\\('data',\\) is on"),
    ((weft.NamedSharding(MESH, P("data")),), ValueError, "give the shape of the array"),
    ((np.zeros(8),), TypeError, "visualize draws an array with a sharding"),
    ((P("modle"), (8,), MESH), ValueError, "did you mean 'model'?"),
    ((P("data", "model"), (8,), MESH), ValueError, "2"),
])
def test_errors(arguments, error, expected):
    with pytest.raises(error, match=expected):
        weft.visualize(*arguments)
