# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs and meshes from text, as command lines have them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .mesh import AbstractMesh, Mesh
from .spec import PartitionSpec


def parse_spec(text: str) -> PartitionSpec:
    """A spec as Python writes it; nothing is evaluated.

    >>> parse_spec("P(('data', 'model'), None)")
    P(('data', 'model'), None)
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("P", "PartitionSpec"):
            unreduced = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
            return PartitionSpec(*map(ast.literal_eval, call.args), **unreduced)
    except (SyntaxError, ValueError, TypeError) as error:
        raise ValueError(f"{text!r} is no spec such as P('data', None): {error}") from None
    raise ValueError(f"{text!r} is no spec such as P('data', None)")


def as_mesh(given: Any) -> AbstractMesh:
    """A mesh, of itself, sizes by axis, or a text.

    >>> as_mesh("data=2,model=4")
    Mesh(axis_sizes=(2, 4), axis_names=('data', 'model'), axis_types=(Auto, Auto))
    """
    if isinstance(given, AbstractMesh):
        return given
    if isinstance(given, str):
        given = _sizes(given)
    if not isinstance(given, Mapping):
        raise TypeError(f"a mesh is a weft.Mesh, sizes by axis or a text such as \"data=2,model=4\", got {given!r}")
    return Mesh(tuple(given.values()), tuple(given))


def _sizes(text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for item in text.split(","):
        name, _, size = (part.strip() for part in item.partition("="))
        if not name or not size.isdecimal() or int(size) < 1:
            raise ValueError(f"a mesh is AXIS=SIZE,AXIS=SIZE,... with sizes of at least 1, got {text!r}")
        if name in sizes:
            raise ValueError(f"the mesh {text!r} has the axis {name!r} twice")
        sizes[name] = int(size)
    return sizes
