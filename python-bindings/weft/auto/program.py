# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that is to be sharded, in texts: with any number of micro-batches and, where it can be made shorter, of
layers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import tree as trees
from ..jit import Parameters, jit
from ..lowered import Source
from ..names import unescape
from ..shape import ShapeDtypeStruct

_INDEX = re.compile(r"(?<=\[)\d+(?=\])")
_ENTRY = re.compile(r"func\.func (?:public )?@[\w.$-]+\((?P<arguments>.*?)\) -> (?P<results>.*?)\{$", re.MULTILINE | re.DOTALL)
_ARGUMENT = re.compile(r'(?P<value>%\w+): tensor<(?P<type>[^<>]*)>(?: \{weft\.name = "(?P<name>(?:[^"\\]|\\.)*)")?')
_BYTES = {"f64": 8, "i64": 8, "ui64": 8, "f32": 4, "i32": 4, "ui32": 4, "bf16": 2, "f16": 2, "i16": 2, "ui16": 2}


@dataclasses.dataclass(frozen=True)
class Argument:
    """Of the function that is sharded."""

    name: str
    shape: tuple[int, ...]
    bytes: int
    is_state: bool
    """A result takes its place."""
    is_differentiated: bool = False
    """It is a parameter."""


def alike(name: str) -> str:
    """The name of all layers that are alike: without indices."""
    return _INDEX.sub("*", name)


class Program:
    """One entry, as text."""

    layers = 0
    """How many are alike and can be left out; 0 if none."""
    splits_batch = False
    """Whether the text may have any number of micro-batches and rows."""

    def source(self, size: Size) -> Source:
        """Of a size."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Size:
    """Of a text. 0 is what the program has."""

    layers: int = 0
    microbatches: int = 1
    rows: int = 0
    """Of the batch."""


class FunctionProgram(Program):
    """A function of weft.numpy with its arguments."""

    splits_batch = True

    def __init__(self, function: Callable, arguments: tuple, donate_argnums: Any):
        self.function, self.arguments, self.donate_argnums = function, arguments, donate_argnums
        self._names = [Parameters(function).name(i) for i in range(len(arguments))]
        self._sources: dict[Size, Source] = {}
        self._rows: set[tuple[str, int]] = set()
        self.layers = _longest_repetition(arguments)

    def set_batch(self, rows: Iterable[tuple[str, int]]) -> None:
        """Which dimensions of arguments, by names without indices, are its rows."""
        self._rows = set(rows)

    def all_arguments(self, few: Iterable[Argument]) -> tuple[Argument, ...]:
        """Those of all layers, of which a program of a few has some of each kind."""
        kinds = {alike(each.name): each for each in few}
        paths = trees.structure(self.arguments).paths()
        return tuple(dataclasses.replace(kinds[alike(name)], name=name) for name in (trees.place(self._names, path) for path in paths))

    def source(self, size: Size) -> Source:
        if size not in self._sources:
            arguments = self._with_rows(self.arguments, size.rows) if size.rows else self.arguments
            if size.layers:
                arguments = _shortened(arguments, self.layers, size.layers)
            microbatches = size.microbatches if size.microbatches > 1 else None
            self._sources[size] = jit(self.function, donate_argnums=self.donate_argnums,
                                      microbatches=microbatches).lower(*arguments).source
        return self._sources[size]

    def _with_rows(self, arguments: tuple, rows: int) -> tuple:
        leaves, structure = trees.flatten(arguments)
        paths = [trees.place(self._names, path) for path in structure.paths()]
        return structure.unflatten(self._leaf(path, leaf, rows) for path, leaf in zip(paths, leaves))

    def _leaf(self, path: str, leaf: Any, rows: int) -> Any:
        dims = [dim for name, dim in self._rows if name == alike(path)]
        if not dims:
            return leaf
        shape = [rows if dim in dims else each for dim, each in enumerate(leaf.shape)]
        return ShapeDtypeStruct(shape, leaf.dtype)


class TextProgram(Program):
    """A graph in text, which is as large as it is."""

    def __init__(self, source: Source):
        self._source = source

    def source(self, size: Size) -> Source:
        return self._source


def read_arguments(text: str) -> list[Argument]:
    """Of the first entry of a program. A state is an argument whose name a result has."""
    entry = _ENTRY.search(text)
    of_results = set(re.findall(r'weft\.name = "((?:[^"\\]|\\.)*)"', entry["results"]))
    differentiated = _differentiated(text[entry.end():].partition("\n}")[0])
    found = []
    for match in _ARGUMENT.finditer(entry["arguments"]):
        *sizes, element = match["type"].split("x")
        shape = tuple(map(int, sizes))
        size = _BYTES.get(element, 1)
        for each in shape:
            size *= each
        found.append(Argument(unescape(match["name"] or match["value"]), shape, size, match["name"] in of_results,
                              match["value"] in differentiated))
    return found


def _differentiated(body: str) -> set[str]:
    """The values that a gradient is taken by, and what these are made of by casts, uses and constraints."""
    made: dict[str, str] = {}
    for match in re.finditer(r"^ *(%\w+) = (?:weft|arith)\.[\w.]+ (%\w+)(?! *,)", body, re.MULTILINE):
        made.setdefault(match[1], match[2])
    found = set()
    for match in re.finditer(r"weft\.value_and_grad @[\w.$-]+\(([^)]*)\) wrt = \[([\d, ]*)\]", body):
        operands = [each.strip() for each in match[1].split(",")]
        for number in filter(None, match[2].replace(" ", "").split(",")):
            value = operands[int(number)]
            while value in made:
                value = made[value]
            found.add(value)
    return found


# Layers that are alike

def _sequences(tree: Any) -> Iterable[list]:
    """All lists and tuples in a tree, the outer before the inner."""
    if isinstance(tree, Mapping):
        for each in tree.values():
            yield from _sequences(each)
    elif isinstance(tree, (list, tuple)):
        yield tree
        for each in tree:
            yield from _sequences(each)


def _is_repetition(sequence: Any) -> bool:
    """Whether the elements are trees of the same arrays."""
    if not isinstance(sequence, list) or len(sequence) < 3:
        return False
    kinds = {(structure.nodes, tuple((tuple(leaf.shape), str(leaf.dtype)) for leaf in leaves))
             for leaves, structure in map(trees.flatten, sequence) if all(hasattr(leaf, "shape") for leaf in leaves)}
    return len(kinds) == 1


def _longest_repetition(arguments: tuple) -> int:
    """The length of the lists of layers; 0 if there are none, or of several lengths."""
    lengths = {len(each) for each in _sequences(arguments) if _is_repetition(each)}
    return lengths.pop() if len(lengths) == 1 else 0


def _shortened(tree: Any, length: int, wanted: int) -> Any:
    """The tree with so many layers."""
    if isinstance(tree, list) and len(tree) == length and _is_repetition(tree):
        return [_shortened(each, length, wanted) for each in (tree * -(-wanted // length))[:wanted]]
    if isinstance(tree, dict):
        return type(tree)((key, _shortened(each, length, wanted)) for key, each in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_shortened(each, length, wanted) for each in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_shortened(each, length, wanted) for each in tree)
    return tree
