# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions of tensors outside of a traced function.

What is called is compiled for one device, as weft.jit would compile a function that calls it, and
run: so results have the bits that they have in such a function. Plans are kept for calls with
arrays of the same shapes and types, and the same other arguments.
"""

import collections
import functools
import inspect
from typing import Any, Callable, Hashable

import numpy as np

from . import tree as trees
from .arrays import Array
from .tracing.graph import is_tracing
from .tracing.tracer import Tracer

KEPT = 1024
"""So many plans are kept, those used last."""

# Of the functions of packages, what calls them, and the other way round.
_callers: dict[Callable, Callable] = {}
_functions: dict[Callable, Callable] = {}

_programs: collections.OrderedDict[Hashable, "_Program"] = collections.OrderedDict()


def eager(function: Callable) -> Callable:
    """A function of tensors that computes with arrays where nothing is traced."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if is_tracing() else _evaluate(function, args, kwargs)

    return call


def make_eager(names: dict[str, Any], *exceptions: str) -> None:
    """The functions in the namespace of a package, but those that are of numbers and types alone."""
    for name, value in list(names.items()):
        if inspect.isfunction(value) and not name.startswith("_") and name not in exceptions:
            if value not in _callers:
                _callers[value] = eager(value)
                _functions[_callers[value]] = value
            names[name] = _callers[value]


def function_of(function: Callable) -> Callable:
    """The function of tensors behind one of a package."""
    return _functions.get(function, function)


class _Program:
    """A call whose arrays are left open."""

    def __init__(self, function: Callable, leaves: list[Any], treedef: Any):
        from .jit import jit

        self.arrays = [i for i, leaf in enumerate(leaves) if _is_array(leaf)]

        def program(*values: Any) -> Any:
            inside = list(leaves)
            for i, value in zip(self.arrays, values):
                inside[i] = value
            args, kwargs = treedef.unflatten(inside)
            self.results, self.treedef = trees.flatten(function(*args, **kwargs))
            return [result for result in self.results if _is_computed(result)]

        functools.update_wrapper(program, function)
        del program.__wrapped__
        lowered = jit(program).lower(*(leaves[i] for i in self.arrays))
        self.compiled = lowered.compile() if any(map(_is_computed, self.results)) else None
        self.results = [None if _is_computed(result) else result for result in self.results]

    def run(self, leaves: list[Any]) -> Any:
        computed = iter(self.compiled(*(leaves[i] for i in self.arrays)) if self.compiled else ())
        return self.treedef.unflatten(
            next(computed) if result is None else _number(result) for result in self.results)


def _evaluate(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    leaves, treedef = trees.flatten((args, kwargs))
    key = (function, treedef.nodes, tuple(map(_key_of, leaves)))
    try:
        program = _programs.get(key)
    except TypeError:  # a number of an unhashable type
        return _Program(function, leaves, treedef).run(leaves)
    if program is None:
        program = _programs[key] = _Program(function, leaves, treedef)
        if len(_programs) > KEPT:
            _programs.popitem(last=False)
    _programs.move_to_end(key)
    return program.run(leaves)


def _is_array(leaf: Any) -> bool:
    """Integers without dimensions may be sizes and axes: programs are made for their values."""
    return isinstance(leaf, (np.ndarray, Array, np.floating))


def _key_of(leaf: Any) -> Hashable:
    return (leaf.shape, leaf.dtype) if _is_array(leaf) else trees.exact(leaf)


def _is_computed(result: Any) -> bool:
    return isinstance(result, Tracer) and result.splat is None


def _number(result: Any) -> Any:
    """A tensor of one number, or what is no tensor."""
    return np.full(result.shape, result.splat, result.dtype) if isinstance(result, Tracer) else result
