# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What padding around windows a word or a list of amounts means, as in jax.lax."""

import operator
from typing import Any, Sequence

from ..tracing.errors import ShapeError
from ..tracing.locations import user_line

Amounts = list[tuple[int, int]]


def _whole(name: str, numbers: Any, function: str) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, numbers))
    except TypeError:
        raise TypeError(f"{user_line()}: {function}: {name} must be of whole numbers, got {numbers!r}") from None


def amounts_of(padding: Any, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int],
               function: str) -> Amounts:
    """(low, high) of each dimension: "VALID" adds nothing, "SAME" as much as makes ceil(size /
    stride) windows, the odd element behind; "SAME_LOWER" in front."""
    if isinstance(padding, str):
        word = padding.upper()
        if word == "VALID":
            return [(0, 0)] * len(sizes)
        if word not in ("SAME", "SAME_LOWER"):
            raise ValueError(f"{user_line()}: {function}: padding must be SAME, SAME_LOWER, VALID or a "
                             f"pair for each dimension, got {padding!r}")
        totals = [max((-(-size // stride) - 1) * stride + window - size, 0)
                  for size, window, stride in zip(sizes, windows, strides)]
        return [(n // 2, n - n // 2) if word == "SAME" else (n - n // 2, n // 2) for n in totals]
    pairs = [_whole("padding", pair, function) for pair in padding]
    if len(pairs) != len(sizes) or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(f"{user_line()}: {function}: padding must have a pair for each of "
                         f"{len(sizes)} dimensions, got {padding!r}")
    return pairs


def numbers_of(name: str, numbers: Any, count: int, function: str) -> tuple[int, ...]:
    """Ones for None; a number of at least 1 for each dimension."""
    numbers = (1,) * count if numbers is None else _whole(name, numbers, function)
    if len(numbers) != count or any(n < 1 for n in numbers):
        raise ShapeError(f"{user_line()}: {function}: {name} must have a number of at least 1 for each "
                         f"of {count} dimensions, got {numbers}")
    return numbers


def check_counts(shape: Sequence[int], counts: Sequence[int], sizes: Sequence[int], windows: Sequence[int],
                 function: str) -> None:
    """What has no elements has no windows; of other shapes that is a mistake."""
    if 0 in shape:
        return
    for dim, (count, size, window) in enumerate(zip(counts, sizes, windows)):
        if count < 1:
            raise ShapeError(f"{user_line()}: {function}: a window of {window} elements does not fit in "
                             f"dimension {dim}, which has {size} with its padding")
