# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weft: author, annotate and compile sharded models. Names are those of JAX."""

from . import tree
from .errors import DuplicateSpecError, IndivisibleError, SpecError
from .mesh import AbstractMesh, AxisType, Mesh, make_mesh
from .rules import Rules, rules
from .shape import ShapeDtypeStruct
from .sharding import NamedSharding
from .spec import P, PartitionSpec
from .spec_table import show_specs

__all__ = [
    "AbstractMesh",
    "AxisType",
    "DuplicateSpecError",
    "IndivisibleError",
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "Rules",
    "ShapeDtypeStruct",
    "SpecError",
    "make_mesh",
    "rules",
    "show_specs",
    "tree",
]
