# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The specs of a program as rules, to be pasted into it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .mesh import AbstractMesh
from .spec import PartitionSpec

_KEY = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\"|(\d+))\]|\.(\w+)")
_REST = (".*", PartitionSpec())


def slashed(name: str) -> tuple[str, str]:
    """The argument that a name is of, and the path in it as rules match it: ``params`` and ``blocks/0/wq``."""
    keys = ["".join(filter(None, match.groups())) for match in _KEY.finditer(name)]
    return _KEY.sub("", name), "/".join(keys)


def rules_of(specs: Mapping[str, PartitionSpec]) -> list[tuple[str, PartitionSpec]]:
    """The fewest components of paths that tell specs apart, as patterns; what is whole is left to the last rule.

    >>> rules_of({"0/wq": PartitionSpec(None, "model"), "1/wq": PartitionSpec(None, "model"), "0/scale": PartitionSpec()})
    [('.*/wq', P(None, 'model')), ('.*', P())]
    """
    paths = {path: _trimmed(spec) for path, spec in specs.items()}
    found: list[tuple[str, PartitionSpec]] = []
    for path, spec in paths.items():
        if spec and not any(re.fullmatch(pattern, path) for pattern, _ in found):
            found.append((_shortest_pattern(path, spec, paths), spec))
    covered = all(any(re.fullmatch(pattern, path) for pattern, _ in found) for path in paths)
    return found if covered else [*found, _REST]


def _shortest_pattern(path: str, spec: PartitionSpec, paths: Mapping[str, PartitionSpec]) -> str:
    """Of the path, with any number in place of numbers, if that is of one spec."""
    parts = path.split("/")
    for number in range(1, len(parts) + 1):
        for write in (_any_number, re.escape):
            pattern = "/".join(map(write, parts[-number:]))
            pattern = pattern if number == len(parts) else f".*/{pattern}"
            if all(other == spec for each, other in paths.items() if re.fullmatch(pattern, each)):
                return pattern
    return re.escape(path)


def _any_number(part: str) -> str:
    return r"\d+" if part.isdecimal() else re.escape(part)


def _trimmed(spec: PartitionSpec) -> PartitionSpec:
    """Without whole dimensions at its end."""
    entries = [*spec]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def arguments_text(specs: Mapping[str, PartitionSpec]) -> str:
    """What `in_shardings` is of arguments with these specs, by their names; one argument a line."""
    by_argument: dict[str, dict[str, PartitionSpec]] = {}
    for name, spec in specs.items():
        argument, path = slashed(name)
        by_argument.setdefault(argument, {})[path] = spec
    return "(\n" + "".join(f"    {_argument_text(name, paths)}\n" for name, paths in by_argument.items()) + ")"


def _argument_text(name: str, paths: Mapping[str, PartitionSpec]) -> str:
    trimmed = {_trimmed(spec) for spec in paths.values()}
    if len(trimmed) == 1:
        return f"{trimmed.pop()!r},  # {name}"
    lines = [f"        ({_quoted(pattern)}, {spec!r}),\n" for pattern, spec in rules_of(paths)]
    return f"weft.rules([  # {name}\n{''.join(lines)}    ]),"


def _quoted(pattern: str) -> str:
    return f'r"{pattern}"' if "\\" in pattern else f'"{pattern}"'


def mesh_text(mesh: AbstractMesh) -> str:
    """``weft.Mesh((2, 4), ("data", "model"))``"""
    return f"weft.Mesh({_tuple(mesh.axis_sizes)}, {_tuple(mesh.axis_names)})"


def _tuple(items: Sequence[Any]) -> str:
    texts = [f'"{each}"' if isinstance(each, str) else str(each) for each in items]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
