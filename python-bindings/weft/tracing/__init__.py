# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls a Python function once, on stand-ins for tensors, and writes down as a graph
in MLIR what it does with them."""

from .errors import ConcretizationTypeError, NoTraceError, ShapeError, UnexpectedTracerError
from .program import TracedProgram, trace
from .tracer import Tracer

__all__ = ["ConcretizationTypeError", "NoTraceError", "ShapeError", "TracedProgram", "Tracer",
           "UnexpectedTracerError", "trace"]
