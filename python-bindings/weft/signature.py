# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the trees that a caller passes and gets map to the inputs and outputs of a plan.

A plan knows names only. A `Signature` knows the trees; it is stored with a plan as text, so
that a loaded plan is called as the function was.
"""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Sequence
from typing import Any, ClassVar

from . import tree as trees
from .errors import count
from .tree import TreeDef

METADATA_KEY = "python.signature"


@dataclasses.dataclass(frozen=True)
class Signature:
    """The paths of the arguments that were lowered, and the structure of the result. `text` is
    what is stored, empty if the trees cannot be written down."""

    in_paths: tuple[str, ...]
    out_tree: TreeDef
    text: str = ""
    # Whether results that replace donated arguments stay on the ranks, whatever those were: functions
    # of JAX take arrays of NumPy, but no others.
    results_stay: ClassVar[bool] = True

    def leaves(self, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        """The leaves of the arguments, which have the structure that was lowered."""
        raise NotImplementedError

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The result of its leaves."""
        return self.out_tree.unflatten(leaves)


@dataclasses.dataclass(frozen=True)
class _OfTrees(Signature):
    """Of a function whose tuple of arguments, which are called `names`, has the structure
    `in_tree`."""

    names: tuple[str, ...] = ()
    in_tree: TreeDef = trees.LEAF

    def leaves(self, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        values = tuple(in_order(self.names, args, kwargs or {}))
        leaves, structure = trees.flatten(values, root=self.names)
        if structure != self.in_tree:
            raise other_structure(
                _path_differences(self.in_paths, paths_of(self.names, structure))
                or trees.differences(self.in_tree, structure, self.names))
        return leaves


@dataclasses.dataclass(frozen=True)
class _Stored(Signature):
    """Of a plan that was loaded. Containers may be others than were lowered, those of results
    say, as long as the paths are the same; `static` are the static fields, as text, by path."""

    names: tuple[str, ...] = ()
    static: tuple[tuple[str, str], ...] = ()

    def leaves(self, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        values = tuple(in_order(self.names, args, kwargs or {}))
        leaves, structure = trees.flatten(values, root=self.names)
        check_paths(self.in_paths, paths_of(self.names, structure))
        found = static_texts(self.names, structure)
        problems = [f"{path}: expected {text}, got {found[path]}" for path, text in self.static
                    if found.get(path, text) != text]
        if problems:
            raise other_structure(problems)
        return leaves


@dataclasses.dataclass(frozen=True)
class _OfNames(Signature):
    """One dict of arrays by name, in and out: of a plan without a signature."""

    def leaves(self, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        if kwargs or len(args) != 1 or not isinstance(args[0], dict):
            raise TypeError(f"takes one dict of arrays by name: {', '.join(self.in_paths)}")
        problems = _path_differences(self.in_paths, [*args[0]])
        if problems:
            raise other_structure(problems)
        return [args[0][name] for name in self.in_paths]


def of_trees(names: Sequence[str], in_tree: TreeDef, out_tree: TreeDef) -> Signature:
    """The signature of a function whose tuple of arguments has the structure `in_tree`."""
    names, paths = tuple(names), paths_of(names, in_tree)
    text = write(names, paths, out_tree, static_texts(names, in_tree))
    return _OfTrees(paths, out_tree, text, names, in_tree)


def of_names(inputs: Sequence[str], outputs: Sequence[str]) -> Signature:
    """One dict of arrays by name, in and out: for a plan without a signature."""
    out_tree = trees.branch(dict, (tuple(outputs), None), [trees.LEAF] * len(outputs))
    return _OfNames(tuple(sorted(inputs)), out_tree)


def paths_of(names: Sequence[str], structure: TreeDef) -> tuple[str, ...]:
    """The paths of the leaves of arguments that are called `names`."""
    return tuple(trees.place(names, path) for path in structure.paths())


def static_texts(names: Sequence[str], structure: TreeDef) -> dict[str, str]:
    """The static fields of arguments by path; those without a text that another process would
    write as well are left out."""
    texts = {
        trees.place(names, (*path, trees.Key("field", name))): repr(value)
        for path, node in structure.nodes_with_paths() if node is not None
        for name, value in node.static.items()
    }
    return {path: text for path, text in texts.items() if " at 0x" not in text}


def in_order(names: Sequence[str], args: tuple, kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that are called `names`, some by position and the others by name."""
    if not kwargs and len(args) == len(names):
        return list(args)
    if not kwargs or len(args) > len(names):
        raise TypeError(f"takes {count(len(names), 'argument')} ({', '.join(names)}), got {len(args)}")
    given = dict(zip(names, args))
    problems = {
        "missing": [n for n in names if n not in given and n not in kwargs],
        "not expected": [n for n in kwargs if n not in names],
        "given twice": [n for n in kwargs if n in given],
    }
    if any(problems.values()):
        what = [f"{problem}: {', '.join(which)}" for problem, which in problems.items() if which]
        raise TypeError(
            f"takes {count(len(names), 'argument')} ({', '.join(names)}); {'; '.join(what)}"
        )
    given |= kwargs
    return [given[name] for name in names]


_OTHER_STRUCTURE = "the arguments have another structure than what was compiled"


def check_paths(expected: tuple[str, ...], got: tuple[str, ...]) -> None:
    """Raises for paths that are not those which were lowered."""
    if got != expected:
        raise other_structure(_path_differences(expected, got) or
                               ["their leaves come in another order"])


def _path_differences(expected: Sequence[str], got: Sequence[str]) -> list[str]:
    missing = [path for path in expected if path not in set(got)]
    extra = [path for path in got if path not in set(expected)]
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    return parts + ([f"not expected: {', '.join(extra)}"] if extra else [])


def other_structure(problems: Sequence[str]) -> TypeError:
    """The error for arguments that differ so from what was lowered."""
    return TypeError("the arguments have another structure than what was compiled; "
                     + "; ".join(problems))


# Trees as JSON. A container that this module does not know, or a key that is neither a string
# nor a number, makes the signature one that cannot be written down.


class _Opaque(Exception):
    pass


def write(names: Sequence[str], paths: Sequence[str], out_tree: TreeDef,
          static: dict[str, str] | None = None) -> str:
    try:
        out = out_tree.fold(["*"] * out_tree.num_leaves, _node_to_json)
    except _Opaque:
        return ""
    stored = {"arguments": list(names), "inputs": list(paths), "result": out}
    return json.dumps(stored | ({"static": static} if static else {}))


def read(text: str) -> Signature:
    """The signature that was stored. Dataclasses and named tuples of results come back as named
    tuples of the same name and fields, without those that are static."""
    stored = json.loads(text)
    return _Stored(tuple(stored["inputs"]), _from_json(stored["result"]), text,
                   tuple(stored["arguments"]), tuple(stored.get("static", {}).items()))


def _node_to_json(node: trees.Node, children: list[Any]) -> Any:
    kind = node.kind
    if kind is type(None):
        return None
    if kind in (list, tuple):
        return {kind.__name__: children}
    keys = [key.value for key in node.keys]
    if issubclass(kind, dict):
        if not all(isinstance(key, (str, int)) for key in keys):
            raise _Opaque
        return {"dict": [[key, child] for key, child in zip(keys, children)]}
    return {"record": [kind.__name__, *([key, child] for key, child in zip(keys, children))]}


def _from_json(value: Any) -> TreeDef:
    if value == "*":
        return trees.LEAF
    if value is None:
        return trees.branch(type(None), None, [])
    ((kind, items),) = value.items()
    if kind in ("list", "tuple"):
        return trees.branch({"list": list, "tuple": tuple}[kind], None, [*map(_from_json, items)])
    if kind == "record":
        name, *items = items
    names = tuple(key for key, _ in items)
    children = [_from_json(child) for _, child in items]
    if kind == "record":
        return trees.branch(collections.namedtuple(name, names), names, children)
    return trees.branch(dict, (names, None), children)
