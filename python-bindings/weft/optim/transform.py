# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an optimizer is: a function that makes a state, and one that makes of gradients
what is added to the parameters."""

import dataclasses
from typing import Any, Callable

import numpy as np

from .. import numpy as wnp
from .. import tree as trees
from ..tracing.tracer import Tracer


@dataclasses.dataclass(frozen=True)
class Transform:
    """A transform of gradients.

    `init(params)` is its first state; `update(grads, state, params)` returns what the
    gradients become and the next state. The parts of a chain have their state under `name`.
    """

    name: str
    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]


def chain(*transforms: Transform) -> Transform:
    """Transforms one after the other. Its state has that of each under its name; the second
    of one name is `name_1`."""
    names = _distinct([transform.name for transform in transforms])

    def init(params: Any) -> dict:
        return {name: t.init(params) for name, t in zip(names, transforms)}

    def update(grads: Any, state: dict, params: Any = None) -> tuple[Any, dict]:
        following = {}
        for name, transform in zip(names, transforms):
            grads, following[name] = transform.update(grads, state[name], params)
        return grads, following

    return Transform("chain", init, update)


def _distinct(names: list[str]) -> list[str]:
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 0
        while candidate in distinct:
            number += 1
            candidate = f"{name}_{number}"
        distinct.append(candidate)
    return distinct


def apply_updates(params: Any, updates: Any) -> Any:
    """The parameters plus the updates, in the types of the parameters."""
    return trees.map(lambda p, u: (p + u).astype(p.dtype), params, updates)


def rate_at(learning_rate: Any, count: Any) -> Any:
    """The learning rate of the step after `count` others: a number, or what a schedule says."""
    return learning_rate(count) if callable(learning_rate) else learning_rate


def checked_rate(what: str, learning_rate: Any) -> Any:
    """The learning rate, if it can be one."""
    if isinstance(learning_rate, bool) or not (
            callable(learning_rate) or isinstance(learning_rate, Tracer)
            or np.ndim(learning_rate) == 0 and np.issubdtype(np.asarray(learning_rate).dtype, np.number)):
        raise TypeError(f"{what} takes a learning rate that is a number or a schedule, got "
                        f"{learning_rate!r}")
    return learning_rate


def zeros_like(tree: Any, dtype: Any = None) -> Any:
    return full_like(tree, 0, dtype)


def full_like(tree: Any, value: float, dtype: Any = None) -> Any:
    return trees.map(lambda leaf: wnp.full_like(leaf, value, dtype=dtype), tree)


def counter() -> Any:
    """Steps made so far: none."""
    return wnp.zeros((), wnp.int32)
