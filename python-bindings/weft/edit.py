# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Edit`: one line to write otherwise, as reasons suggest it, and a program with it.

    annotate "params['w2']" (mlp.py:15) as P('model', None)
    annotate result "y" as P('data', None)
    write the constraint of mlp.py:9 as P('data', None), not as P(None, None)
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from .names import escape, unescape
from .sharding import dims_to_mlir
from .spec import PartitionSpec
from .wording import DIMS, as_python, read_spec

_INDEX = re.compile(r"(?<=\[)\d+(?=\])")
_ANNOTATE = re.compile(rf'annotate (result )?"(?P<name>[^"]*)"(?: \((?P<line>[^()]*)\))? as (?P<spec>{DIMS})')
_CONSTRAINT = re.compile(rf"write the constraint of (?P<line>\S+) as (?P<spec>{DIMS}), not as (?P<before>{DIMS})")

_NAMED = r'weft\.name = "(?P<name>(?:[^"\\]|\\.)*)"'
_SHARDING = rf"#weft\.sharding<(?P<mesh>@\w+), (?P<dims>{DIMS})[^>]*>"
_VALUE = re.compile(rf"{_NAMED}(?:, weft\.sharding = {_SHARDING})?")
_MARKER = re.compile(rf"(?P<head>.* = weft\.constraint \S+ )<(?P<mesh>@\w+), (?P<dims>{DIMS})>(?P<behind>.*)loc\((?P<loc>#\w+)\)$")
_ALIAS = re.compile(r"(?P<name>#\w+) = loc\((?P<text>.*)\)$")
_LINE = re.compile(r'"(?P<file>[^"]*)":(?P<line>\d+)')


@dataclasses.dataclass(frozen=True)
class Edit:
    """What to write in the program."""

    target: str
    """``argument``, ``result`` or ``constraint``."""
    name: str
    """The path of the argument or result; layers that are alike get the same. Empty for a constraint."""
    location: str
    """The line where it stands, ``mlp.py:15``; empty if it is unknown."""
    spec: PartitionSpec
    """The new one."""
    before: PartitionSpec | None
    """That of the constraint, as several may stand in one line."""
    text: str
    """All of it in words."""

    @staticmethod
    def parse(text: str) -> Edit | None:
        """From the words of the compiler; None if there is nothing to write."""
        if match := _ANNOTATE.match(text):
            return Edit("result" if match[1] else "argument", unescape(match["name"]), match["line"] or "",
                        read_spec(match["spec"]), None, as_python(text).replace(f'"{match["name"]}"', f'"{unescape(match["name"])}"'))
        if match := _CONSTRAINT.match(text):
            return Edit("constraint", "", match["line"], read_spec(match["spec"]), read_spec(match["before"]), as_python(text))
        return None

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """As data; specs as Python writes them."""
        return {"text": self.text, "target": self.target, "name": self.name, "location": self.location,
                "spec": repr(self.spec), "before": None if self.before is None else repr(self.before)}

    def apply(self, text: str) -> str:
        """The program with the edit: `text` is a graph as `Lowered.as_text()` and shard-opt write it,
        an op on a line, without aliases of shardings, and for constraints with locations. A state
        that is updated in place is an argument and a result, and both are written. Raises
        `ValueError` if the program has nothing of the kind, or has it written so already."""
        if self.target == "constraint":
            found = _write_constraints(text, self.location, self.before, lambda rank: dims_to_mlir(self.spec, rank))
        else:
            found = self._apply_to_values(text)
        if found == text:
            raise ValueError(f"the program has nothing to edit for: {self}")
        return found

    def _apply_to_values(self, text: str) -> str:
        named = [match for match in _VALUE.finditer(text) if match["name"] == escape(self.name)]
        written = {match["dims"] for match in named if match["dims"]}
        mesh = next(iter(re.findall(r"^ *weft\.mesh (@\w+)", text, re.MULTILINE)), "@mesh")
        alike = _INDEX.sub("*", escape(self.name))

        def edited(match: re.Match) -> str:
            if _INDEX.sub("*", match["name"]) != alike or (match["dims"] or next(iter(written), None)) not in (written or {None}):
                return match[0]
            if not match["dims"] and written:  # a result that follows its argument
                return match[0]
            dims = dims_to_mlir(self.spec, len(self.spec))
            return f'weft.name = "{match["name"]}", weft.sharding = #weft.sharding<{match["mesh"] or mesh}, {dims}>'

        return _VALUE.sub(edited, text)


@dataclasses.dataclass(frozen=True)
class Constraint:
    """The constraints of one line that have the same spec."""

    location: str
    """``mlp.py:9``"""
    spec: PartitionSpec
    number: int

    def left_out(self, text: str) -> str:
        """The program without them: all their dimensions are open."""
        return _write_constraints(text, self.location, self.spec, lambda rank: f"[{', '.join(['{?}'] * rank)}]")


def constraints_of(text: str) -> list[Constraint]:
    """Of a program, in its order; those without a line are left."""
    found: dict[tuple[str, PartitionSpec], int] = {}
    for location, spec, _ in _markers(text.split("\n")):
        if location:
            found[location, spec] = found.get((location, spec), 0) + 1
    return [Constraint(location, spec, number) for (location, spec), number in found.items()]


def _markers(lines: list[str]) -> Iterator[tuple[str, PartitionSpec, tuple[int, re.Match]]]:
    """Line of the model, spec, and where in the text it is, of all constraints."""
    aliases = locations_of(lines)
    for number, line in enumerate(lines):
        if match := _MARKER.match(line):
            yield line_of(match["loc"], aliases), read_spec(match["dims"]), (number, match)


def _write_constraints(text: str, location: str, spec: PartitionSpec, dims: Callable[[int], str]) -> str:
    """The text with the constraints of a line and spec written as `dims` of their rank."""
    lines = text.split("\n")
    for where, written, (at, match) in list(_markers(lines)):
        if (where, written) == (location, spec):
            lines[at] = f"{match['head']}<{match['mesh']}, {dims(len(spec))}>{match['behind']}loc({match['loc']})"
    return "\n".join(lines)


def locations_of(lines: list[str]) -> dict[str, str]:
    """The locations that a text gives names, ``#loc1``."""
    return {match["name"]: match["text"] for line in lines if (match := _ALIAS.match(line))}


def line_of(name: str, aliases: dict[str, str]) -> str:
    """``mlp.py:9``, of a location that may have names and phrases."""
    for _ in aliases:
        text = aliases.get(name, "")
        if match := _LINE.search(text):
            return f"{match['file'].rsplit('/', 1)[-1]}:{match['line']}"
        inner = re.search(r"#loc\w*", text)
        if inner is None:
            break
        name = inner[0]
    return ""
