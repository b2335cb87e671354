# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The structure of a tree apart from its leaves, and the paths in it."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Key(NamedTuple):
    """One step from a node to a child: a dict key, an index or a field."""

    kind: str  # "key", "index" or "field"
    value: Any

    def __str__(self) -> str:
        return f".{self.value}" if self.kind == "field" else f"[{self.value!r}]"


Path = tuple[Key, ...]


def keystr(path: Path) -> str:
    """A path as Python would be written: ``['blocks'][3]['w1']``."""
    return "".join(str(key) for key in path)


def slashes(path: Path) -> str:
    """A path as rules match it: ``blocks/3/w1``."""
    return "/".join(str(key.value) for key in path)


def distinct_slashes(paths: Sequence[Path]) -> list[str]:
    """The paths of one tree as rules match them. Paths that would read alike, as those of the key
    ``a/b`` and of ``b`` below ``a``, are written as in Python: ``['a/b']`` and ``['a']['b']``."""
    texts = [slashes(path) for path in paths]
    times = collections.Counter(texts)
    return [keystr(path) if times[text] > 1 else text for path, text in zip(paths, texts)]


class Node(NamedTuple):
    """A container of a `TreeDef`: its type, what else makes it (the keys of a dict, the static
    fields of a dataclass) and the number of its children."""

    kind: type
    aux: Any
    arity: int

    @property
    def keys(self) -> Path:
        """The step to each child."""
        if self.kind in (list, tuple):
            return tuple(Key("index", i) for i in range(self.arity))
        if issubclass(self.kind, dict):
            return tuple(Key("key", name) for name in self.aux[0])
        names = self.aux if issubclass(self.kind, tuple) else self.aux[0] if self.aux else ()
        return tuple(Key("field", name) for name in names)

    @property
    def static(self) -> dict[str, Any]:
        """The static fields of a dataclass."""
        if not dataclasses.is_dataclass(self.kind):
            return {}
        return {name: value for name, _, value in self.aux[1]}

    def text(self, children: Sequence[str]) -> str:
        """As Python would write it, for the texts of its children."""
        if self.kind is type(None):
            return "None"
        if self.kind is list:
            return f"[{', '.join(children)}]"
        if self.kind is tuple:
            return f"({', '.join(children)}{',' * (len(children) == 1)})"
        names = [key.value for key in self.keys]
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{n!r}: {c}" for n, c in zip(names, children)) + "}"
        fields = [f"{n}={c}" for n, c in zip(names, children)]
        fields += [f"{n}={value!r}" for n, value in self.static.items()]
        return f"{self.kind.__name__}({', '.join(fields)})"


class TreeDef:
    """The structure of a tree: its containers, with leaves taken out.

    `nodes` are the containers, and None for each leaf, every one before its children. Two
    structures are equal if their containers are of the same types, with equal keys, and static
    fields that are `exact`ly equal.
    """

    __slots__ = ("nodes",)

    def __init__(self, nodes: Iterable[Node | None]):
        self.nodes = tuple(nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeDef) and self.nodes == other.nodes

    def __hash__(self) -> int:
        return hash(self.nodes)

    def __reduce__(self):
        return TreeDef, (self.nodes,)

    @property
    def num_leaves(self) -> int:
        return self.nodes.count(None)

    def fold(self, leaves: Sequence[Any], make: Callable[[Node, list[Any]], Any]) -> Any:
        """What `make` makes of the root and of what it made of its children, from the leaves up."""
        if self.nodes == (None,):
            return leaves[0]
        rest, made = list(leaves), []
        for node in reversed(self.nodes):
            if node is None:
                made.append(rest.pop())
                continue
            first = len(made) - node.arity
            children = made[first:][::-1]
            del made[first:]
            made.append(make(node, children))
        return made[0]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with the given leaves, in order."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"a tree with {self.num_leaves} leaves cannot be made of {len(leaves)}: {self}"
            )
        return self.fold(leaves, _make)

    def nodes_with_paths(self) -> Iterator[tuple[Path, Node | None]]:
        """Every container and leaf with its path, in order."""
        pending: list[Path] = [()]
        for node in self.nodes:
            path = pending.pop()
            yield path, node
            if node is not None:
                pending.extend((*path, key) for key in reversed(node.keys))

    def paths(self) -> list[Path]:
        """The path of every leaf, in order."""
        return [path for path, node in self.nodes_with_paths() if node is None]

    def __str__(self) -> str:
        return f"TreeDef({self.fold(['*'] * self.num_leaves, Node.text)})"

    __repr__ = __str__


LEAF = TreeDef([None])


def branch(kind: type, aux: Any, children: Sequence[TreeDef]) -> TreeDef:
    """The structure of a container of trees of these structures."""
    nodes = [node for child in children for node in child.nodes]
    return TreeDef([Node(kind, aux, len(children)), *nodes])


def _make(node: Node, children: list[Any]) -> Any:
    kind = node.kind
    if kind is type(None):
        return None
    if kind in (list, tuple):
        return kind(children)
    if issubclass(kind, tuple):
        return kind(*children)
    if kind is collections.defaultdict:
        return kind(node.aux[1], zip(node.aux[0], children))
    if issubclass(kind, dict):
        return kind(zip(node.aux[0], children))
    return kind(**dict(zip(node.aux[0], children)), **node.static)


Root = str | Sequence[str]


def place(root: Root, path: Path) -> str:
    """What a path is called in a tree called `root`, or in a tuple whose elements are called so."""
    if isinstance(root, str) or not path:
        return (root if isinstance(root, str) else "") + keystr(path)
    return root[path[0].value] + keystr(path[1:])


def exact(value: Any) -> Any:
    """A value with what == overlooks: its type, of the elements of tuples too, and the sign of a
    zero. 2, 2.0 and True are equal, but make different programs."""
    if isinstance(value, tuple):
        return type(value), tuple(map(exact, value))
    return (type(value), value, math.copysign(1, value)) if isinstance(value, float) else (
        type(value), value)


def unhashable_static(structure: TreeDef) -> tuple[Path, Any] | None:
    """A static field, with its path, that is not hashable."""
    for path, node in structure.nodes_with_paths():
        for name, value in node.static.items() if node else ():
            try:
                hash(value)
            except TypeError:
                return (*path, Key("field", name)), value
    return None


def differences(expected: TreeDef, got: TreeDef, root: Root = "") -> list[str]:
    """Where two structures differ, with what each has there, up to the first container of which
    the children differ."""
    found = []
    for (path, here), (_, there) in zip(expected.nodes_with_paths(), got.nodes_with_paths()):
        if here == there:
            continue
        if here and there and here.kind is there.kind and here.keys == there.keys:
            found += [f"{place(root, (*path, Key('field', name)))}: expected {old}, got {new}"
                      for name, old, new in static_differences(here, there)]
            continue
        old, new = _description(here), _description(there)
        new = "another class of that name" if old == new else new
        found.append(f"{place(root, path) or 'the root'}: expected {old}, got {new}")
        if here is None or there is None or here.keys != there.keys:
            break
    return found


def static_differences(here: Node, there: Node) -> list[tuple[str, str, str]]:
    """The static fields that differ between two dataclasses of one type: name and both values."""
    pairs = [(name, value, there.static[name]) for name, value in here.static.items()]
    return [(name, *_distinct(old, new)) for name, old, new in pairs
            if exact(old) != exact(new)]


def _distinct(old: Any, new: Any) -> tuple[str, str]:
    """Two values as text, with their types if these differ."""
    if type(old) is type(new):
        return repr(old), repr(new)
    return f"{old!r} of type {type(old).__name__}", f"{new!r} of type {type(new).__name__}"


def _description(node: Node | None) -> str:
    if node is None:
        return "a leaf"
    kind = node.kind
    if kind is type(None):
        return "None"
    if kind in (list, tuple):
        return f"a {kind.__name__} of length {node.arity}"
    if issubclass(kind, dict):
        return f"a {kind.__name__} with the keys {', '.join(repr(key.value) for key in node.keys)}"
    return f"a {kind.__module__}.{kind.__qualname__}"
