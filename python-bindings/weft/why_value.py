# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why values have their shardings, from the text of the sharded graph."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .columns import wrapped
from .edit import line_of, locations_of
from .names import unescape
from .wording import DIMS, as_python, read_spec

if TYPE_CHECKING:
    from .compiled import Compiled
    from .spec import PartitionSpec

_OP = re.compile(r' *%\S+ = "?(?P<op>[\w.]+)"?.* : (?P<types>.*) loc\((?P<loc>#\w+)\)$')
_ARGUMENT = re.compile(r'%arg\d+: (?P<type>tensor<[^>]*>) \{(?=[^%]*?weft\.name = "(?P<name>(?:[^"\\]|\\.)*)")')
_SHARDING = re.compile(rf"#weft\.sharding<@\w+, (?P<dims>{DIMS})")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\w.$-]+ = |[\[\]{},]')
_ESCAPE = re.compile(r"\\([0-9A-F]{2})")
_TYPE = re.compile(r"tensor<([^>]*)>")


@dataclasses.dataclass(frozen=True)
class WhyValue:
    """A value with what stands behind its sharding."""

    name: str
    """``"x"`` of an argument, ``dot_general (mlp.py:8)`` of what an op makes."""
    type: str
    """Global: ``512x1024xf32``."""
    spec: PartitionSpec
    annotation: str
    """What the user wrote of the value itself, or empty."""
    axes: dict[str, str]
    """By axis that splits it: where it came from, or that it was chosen by cost."""

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.type} as {self.spec!r}"]
        if self.annotation:
            lines.append(f"  - {self.annotation}")
        lines += [f'  - "{axis}": {text}' for axis, text in self.axes.items() if text != self.annotation]
        if not self.axes and not self.annotation:
            lines.append("  - whole: no annotation reaches it")
        return "\n".join(part for line in lines for part in wrapped(line, "", "    "))

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "spec": repr(self.spec)}


def why_value(compiled: Compiled, value: str) -> list[WhyValue]:
    """See `Compiled.why_value`."""
    if compiled._source is None:
        raise ValueError("a plan that was loaded has no values but arguments and results: compile the function")
    options = {key: option for key, option in compiled._options.items() if key != "target"}
    every = list(_values(compiled._source.lower("sharded", locations=True, **options)))
    found = [each for each in every if each.name.strip('"') == value] or [each for each in every if value in each.name]
    if not found:
        raise ValueError(f"{compiled.entry.name} has no value with {value!r} in its name, op or location")
    return list({str(each): each for each in found}.values())


def _values(text: str) -> Iterator[WhyValue]:
    lines = text.split("\n")
    aliases = locations_of(lines)
    for line in lines:
        if "func.func" in line:
            parts = list(_ARGUMENT.finditer(line))
            ends = [part.start() for part in parts[1:]] + [len(line)]
            for part, end in zip(parts, ends):
                body = line[part.end():end]
                yield _value(f'"{unescape(_unescaped(part["name"]))}"', part["type"], _SHARDING.search(body), _attribute(body, "provenance"))
        elif match := _OP.match(line):
            shardings = _attribute_text(line, "shardings")
            types = _TYPE.findall(match["types"].rpartition("->")[2])
            where = line_of(match["loc"], aliases)
            name = as_python(f"{match['op']} ({where})" if where else match["op"])
            of_results = _attribute(line, "provenance") or []
            for number, sharding in enumerate(_SHARDING.finditer(shardings)):
                provenance = of_results[number] if number < len(of_results) else {}
                yield _value(name, f"tensor<{types[min(number, len(types) - 1)]}>" if types else "", sharding, provenance)


def _value(name: str, type: str, sharding: re.Match | None, provenance: Any) -> WhyValue:
    spec, provenance = read_spec(sharding["dims"] if sharding else "[]"), provenance or {}
    axes = {}
    for axis in (axis for of_dim in spec.dim_axes() for axis in of_dim):
        way = provenance.get("axes", {}).get(axis.name)
        axes[str(axis)] = (as_python(way[0] + (", through " + ", ".join(way[1:]) if way[1:] else ""))
                           if way else "chosen by cost")
    return WhyValue(name, type.removeprefix("tensor<").removesuffix(">"), spec, as_python(provenance.get("annotation", "")), axes)


def _attribute_text(line: str, name: str) -> str:
    """The list or dictionary of ``weft.<name> = ...``."""
    start = line.find(f"weft.{name} = ")
    if start < 0:
        return ""
    start += len(f"weft.{name} = ")
    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', line[start:]):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 0:
            return line[start:start + token.end()]
    return ""


def _attribute(line: str, name: str) -> Any:
    """The same as data."""
    tokens = _TOKEN.findall(_attribute_text(line, name))
    text = "".join(token if token in "[]{}," else json.dumps(token[:-3]) + ":" if token.endswith(" = ")
                   else json.dumps(_unescaped(token[1:-1])) for token in tokens)
    return json.loads(text) if text else None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text).replace("\\\\", "\\")
