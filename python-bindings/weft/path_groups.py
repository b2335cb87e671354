# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths that differ in numbers only, as one: ``blocks/{0..47}/attn/wq``."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Hashable, Iterable

# A path component that is a number, or ends in _ and one; or an index in brackets.
_NUMBER = re.compile(r"(?:(?<=/)|^|(?<=_))\d+(?=/|$)|(?<=\[)\d+(?=\])")


@dataclasses.dataclass(frozen=True)
class PathGroup:
    """Some paths that read the same up to numbers, in order."""

    paths: tuple[str, ...]

    def __str__(self) -> str:
        numbers = [sorted(set(column)) for column in zip(*map(_numbers, self.paths))]
        texts = iter([_range_text(values) for values in numbers])
        return _NUMBER.sub(lambda _: next(texts), self.paths[0])


def group_paths(
    paths: Iterable[str], key: Callable[[str], Hashable] = lambda path: None
) -> list[PathGroup]:
    """Groups paths that are alike up to numbers and have the same key; each group has every
    combination of its numbers, so that its text says exactly which paths it has."""
    groups: dict[Hashable, list[str]] = {}
    for path in paths:
        groups.setdefault((_NUMBER.sub("#", path), key(path)), []).append(path)
    result = []
    for members in groups.values():
        combinations = math.prod(len(set(column)) for column in zip(*map(_numbers, members)))
        if combinations == len(members):
            result.append(PathGroup(tuple(members)))
        else:
            result += [PathGroup((path,)) for path in members]
    return result


def _numbers(path: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(path)]


def _range_text(values: list[int]) -> str:
    if len(values) == 1:
        return str(values[0])
    if values == list(range(values[0], values[-1] + 1)):
        return f"{{{values[0]}..{values[-1]}}}"
    return "{" + ",".join(map(str, values)) + "}"
