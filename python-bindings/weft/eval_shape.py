# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.eval_shape`: what a function would return."""

from typing import Any, Callable

from .tracing import trace


def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """The result of fun(*args, **kwargs) as a tree of `ShapeDtypeStruct`s. Arguments are trees
    of arrays, numbers or `ShapeDtypeStruct`s; nothing is computed."""
    def of_trees(args: tuple, kwargs: dict) -> Any:
        return fun(*args, **kwargs)

    program = trace(of_trees, (args, kwargs), arg_names=("args", "kwargs"))
    return program.out_tree.unflatten(struct for _, struct in program.outputs)
