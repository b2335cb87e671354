# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which result takes the place of which donated argument."""

import dataclasses
from typing import Any, Sequence

from ..sharding import NamedSharding


@dataclasses.dataclass(frozen=True)
class Named:
    """An argument or result: its path, its type and the sharding that was asked for."""

    path: str
    type: Any
    sharding: NamedSharding | None = None

    def fits(self, other: "Named") -> bool:
        """Whether one can take the other's place: it is one value, with one sharding."""
        return self.type == other.type and not self.is_sharded_unlike(other)

    def is_sharded_unlike(self, other: "Named") -> bool:
        specs = [_dims(s.spec) for s in (self.sharding, other.sharding) if s is not None]
        return len(specs) == 2 and specs[0] != specs[1]


def _dims(spec: Any) -> tuple:
    dims = spec.dim_axes()
    while dims and not dims[-1]:
        dims.pop()
    return dims, spec.unreduced


def match_donations(arguments: Sequence[Named], results: Sequence[Named]) -> dict[int, Named]:
    """For the number of a result, the argument whose next value it is.

    An argument and a result match that have one type and not two shardings. Results whose
    path ends as an argument's does choose first, so that `state['w']` becomes
    `out[0]['w']` wherever it stands; the others take what is left in order, as in JAX.
    """
    free = list(arguments)
    chosen: dict[int, Named] = {}
    for by_path in (True, False):
        for number, result in enumerate(results):
            if number in chosen:
                continue
            for place, argument in enumerate(free):
                if argument.fits(result) and (not by_path or _ends_alike(argument.path, result.path)):
                    chosen[number] = argument
                    del free[place]
                    break
    return chosen


def explain_unused(arguments: Sequence[Named], results: Sequence[Named],
                   chosen: dict[int, Named]) -> str:
    """Which donated arguments no result replaces, and why; empty if there are none."""
    lines = []
    used = set(map(id, chosen.values()))
    for argument in arguments:
        if id(argument) in used:
            continue
        left = [r for i, r in enumerate(results) if i not in chosen and r.type == argument.type]
        lines.append(f"donated argument {argument.path} is not used: {_reason(argument, left)}")
    return "\n".join(lines)


def _reason(argument: Named, left: Sequence[Named]) -> str:
    """`left` are the results of its type that replace no other argument."""
    shape, element = argument.type
    if not left:
        return (f"no result has its type, {element.name}{list(shape)}, and could replace it; "
                "do not donate it")
    result = next((r for r in left if _ends_alike(argument.path, r.path)), left[0])
    return (f"it is sharded as {argument.sharding.spec}, and {result.path}, which could replace it, "
            f"as {result.sharding.spec}; give both one sharding, or do not donate it")


def _ends_alike(argument: str, result: str) -> bool:
    """Whether the path below the argument is the end of the path of the result."""
    starts = [at for at in (argument.find("["), argument.find(".")) if at >= 0]
    return bool(starts) and result.endswith(argument[min(starts):])
