# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which result takes the place of which donated argument."""

from typing import Any, Sequence

Named = tuple[str, Any]  # path and type


def match_donations(arguments: Sequence[Named], results: Sequence[Named]) -> dict[int, str]:
    """For the number of a result, the path of the argument whose next value it is.

    An argument and a result match that have one type. Results whose path ends as an
    argument's does choose first, so that `state['w']` becomes `out[0]['w']` wherever
    it stands; the others take what is left in order, as in JAX.
    """
    free = list(arguments)
    chosen: dict[int, str] = {}
    for by_path in (True, False):
        for number, (path, type_) in enumerate(results):
            if number in chosen:
                continue
            for place, (argument, argument_type) in enumerate(free):
                if argument_type == type_ and (not by_path or _ends_alike(argument, path)):
                    chosen[number] = argument
                    del free[place]
                    break
    return chosen


def _ends_alike(argument: str, result: str) -> bool:
    """Whether the path below the argument is the end of the path of the result."""
    starts = [at for at in (argument.find("["), argument.find(".")) if at >= 0]
    return bool(starts) and result.endswith(argument[min(starts):])
