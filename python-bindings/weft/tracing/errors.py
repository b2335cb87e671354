# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is raised while a function is traced. Every message starts with the line of
the user's code, since tracebacks of traced code are long."""


class ShapeError(TypeError, ValueError):
    """Shapes that do not go together. JAX raises TypeError for some and ValueError
    for others; either catches this."""


class ConcretizationTypeError(TypeError):
    """Python code asked for the number in a tensor that has none yet."""


class UnexpectedTracerError(Exception):
    """A tensor was used outside of the function in which it was made."""


class NoTraceError(RuntimeError):
    """A function of weft.numpy was called while nothing is traced."""


for _error in (ShapeError, ConcretizationTypeError, UnexpectedTracerError, NoTraceError):
    _error.__module__ = "weft"
