# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program, as text, with another mesh or other specs. Texts are graphs as `Lowered.as_text()` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .mesh import AbstractMesh, Mesh
from .names import unescape
from .sharding import dims_to_mlir, mesh_to_mlir
from .spec import PartitionSpec
from .wording import DIMS, read_spec

_MESH = re.compile(r"^(?P<indent> *)weft\.mesh @(?P<symbol>\w+) = <\[(?P<axes>[^\]]*)\]>(?: *\{[^}]*\})?$", re.MULTILINE)
_AXIS = re.compile(r'"(?P<name>[^"]*)"=(?P<size>\d+)')
_MODULE = re.compile(r"^module(?: @[\w.$-]+)?(?: attributes \{.*\})? \{\n", re.MULTILINE)
# An argument or a result of an entry.
_VALUE = re.compile(
    rf'(?P<type>tensor<[^<>]*>) \{{weft\.name = "(?P<name>(?:[^"\\]|\\.)*)"'
    rf"(?:, weft\.sharding = #weft\.sharding<@\w+, (?P<dims>{DIMS})[^>]*>)?")
# A value that the program names.
_NAMED = re.compile(r'^(?P<result>%\w+) = weft\.checkpoint_name (?P<value>%\w+) "(?P<name>[^"]*)" : '
                    r"(?P<type>tensor<[^<>]*>)(?P<behind>.*)$", re.MULTILINE)


def mesh_of(text: str) -> AbstractMesh | None:
    """The mesh of a program."""
    match = _MESH.search(text)
    if match is None:
        return None
    axes = [(axis["name"], int(axis["size"])) for axis in _AXIS.finditer(match["axes"])]
    return Mesh(tuple(size for _, size in axes), tuple(name for name, _ in axes))


def with_mesh(text: str, mesh: AbstractMesh) -> str:
    """The program on another mesh; one without any gets it."""
    match = _MESH.search(text)
    if match:
        return text[:match.start()] + match["indent"] + mesh_to_mlir(match["symbol"], mesh) + text[match.end():]
    module = _MODULE.search(text)
    if module is None:
        return f"{mesh_to_mlir('mesh', mesh)}\n{text}"
    return f"{text[:module.end()]}{mesh_to_mlir('mesh', mesh)}\n{text[module.end():]}"


def with_specs(text: str, specs: Callable[[str, int], PartitionSpec | None]) -> str:
    """The program with the specs of arguments and results, by their name and rank; None leaves one as it is. A state
    that is updated in place is both."""
    found = _MESH.search(text)
    symbol = found["symbol"] if found else "mesh"

    def written(match: re.Match) -> str:
        rank = _rank(match["type"])
        spec = specs(_name(match), rank)
        if spec is None:
            return match[0]
        dims = dims_to_mlir(spec, rank)
        return (f'{match["type"]} {{weft.name = "{match["name"]}", '
                f"weft.sharding = #weft.sharding<@{symbol}, {dims}>")

    return _VALUE.sub(written, text)


def with_activations(text: str, specs: Mapping[str, PartitionSpec]) -> str:
    """The program with constraints on the values that it names by `weft.checkpoint_name`, as a `weft.Layout` writes them."""
    found = _MESH.search(text)

    def constrained(match: re.Match) -> str:
        spec = specs.get(match["name"])
        if spec is None:
            return match[0]
        held = f"%held_{match['result'][1:]}"
        dims = dims_to_mlir(spec, _rank(match["type"]))
        return (f"{held} = weft.constraint {match['value']} <@{found['symbol']}, {dims}> : {match['type']}{match['behind']}\n"
                + match[0].replace(f"weft.checkpoint_name {match['value']} ", f"weft.checkpoint_name {held} ", 1))

    return _NAMED.sub(constrained, text) if specs and found else text


def checkpoint_names(text: str) -> Mapping[str, int]:
    """The names that a program gives to values, with the least rank of these."""
    found: dict[str, int] = {}
    for match in _NAMED.finditer(text):
        rank = _rank(match["type"])
        found[match["name"]] = min(rank, found.get(match["name"], rank))
    return found


def named_values(text: str) -> Mapping[str, int]:
    """Names and ranks of the arguments and results of a program."""
    return {_name(match): _rank(match["type"]) for match in _VALUE.finditer(text)}


def written_specs(text: str) -> Mapping[str, PartitionSpec]:
    """Of the arguments and results that have any."""
    found = {_name(match): match["dims"] for match in _VALUE.finditer(text) if match["dims"]}
    specs = {dims: read_spec(dims) for dims in dict.fromkeys(found.values())}
    return {name: specs[dims] for name, dims in found.items()}


def _name(match: re.Match) -> str:
    """As Python has it; MLIR writes bytes as two digits behind a backslash."""
    written = match["name"]
    if "\\" in written:
        written = re.sub(r"(?:\\[0-9A-F]{2})+", lambda m: bytes.fromhex(m[0].replace("\\", "")).decode(), written)
    return unescape(written) if "%" in written else written


def _rank(tensor: str) -> int:
    return len(re.findall(r"\d+x", tensor))
