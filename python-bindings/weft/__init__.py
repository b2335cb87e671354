# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weft: author, annotate and compile sharded models. Names are those of JAX."""

from . import tree
from .autodiff import grad, stop_gradient, value_and_grad
from .constraint import with_sharding_constraint
from .errors import DuplicateSpecError, IndivisibleError, SpecError
from .mesh import AbstractMesh, AxisType, Mesh, make_mesh
from .rules import Rules, rules
from .shape import ShapeDtypeStruct
from .sharding import NamedSharding
from .spec import P, PartitionSpec
from .spec_table import show_specs
from .tracing import ConcretizationTypeError, NoTraceError, ShapeError, UnexpectedTracerError

from . import lax, nn, numpy, random

__all__ = [
    "AbstractMesh",
    "AxisType",
    "ConcretizationTypeError",
    "DuplicateSpecError",
    "IndivisibleError",
    "Mesh",
    "NamedSharding",
    "NoTraceError",
    "P",
    "PartitionSpec",
    "Rules",
    "ShapeDtypeStruct",
    "ShapeError",
    "SpecError",
    "UnexpectedTracerError",
    "grad",
    "lax",
    "make_mesh",
    "nn",
    "numpy",
    "random",
    "rules",
    "show_specs",
    "stop_gradient",
    "tree",
    "value_and_grad",
    "with_sharding_constraint",
]
