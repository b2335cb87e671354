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
from collections.abc import Callable, Sequence
from typing import Any

from . import tree as trees
from .errors import count
from .tree import TreeDef

METADATA_KEY = "python.signature"

Leaves = list[tuple[str, Any]]


@dataclasses.dataclass(frozen=True)
class Signature:
    """`flatten` gives the leaves of the arguments, those by position and those by name, with
    their paths; `unflatten` makes the result of its leaves; `in_paths` are the paths of the
    function that was lowered. `text` is what is stored, empty if the trees cannot be written
    down."""

    in_paths: tuple[str, ...]
    flatten: Callable[[tuple, dict[str, Any]], Leaves]
    unflatten: Callable[[Sequence[Any]], Any]
    text: str = ""

    def leaves(self, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        """The leaves of the arguments, which have the structure that was lowered."""
        leaves = self.flatten(args, kwargs or {})
        paths = tuple(path for path, _ in leaves)
        if paths != self.in_paths:
            raise TypeError(_difference(self.in_paths, paths))
        return [leaf for _, leaf in leaves]


def of_trees(arg_names: Sequence[str], in_tree: TreeDef, out_tree: TreeDef) -> Signature:
    """The signature of a function whose tuple of arguments has the structure `in_tree`."""

    def flatten(args: tuple, kwargs: dict[str, Any]) -> Leaves:
        return [
            leaf
            for name, arg in zip(arg_names, in_order(arg_names, args, kwargs))
            for leaf in trees.flatten_with_paths(arg, name)[0]
        ]

    paths = tuple(
        name + trees.keystr(path)
        for name, child in zip(arg_names, in_tree.children)
        for path in child.paths()
    )
    return Signature(paths, flatten, out_tree.unflatten, write(arg_names, paths, out_tree))


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


def of_names(inputs: Sequence[str], outputs: Sequence[str]) -> Signature:
    """One dict of arrays by name, in and out: for a plan without a signature."""
    paths = tuple(sorted(inputs))
    position = {name: i for i, name in enumerate(paths)}

    def flatten(args: tuple, kwargs: dict[str, Any]) -> Leaves:
        if kwargs or len(args) != 1 or not isinstance(args[0], dict):
            raise TypeError(f"takes one dict of arrays by name: {', '.join(paths)}")
        known = [name for name in args[0] if name in position]
        unknown = [name for name in args[0] if name not in position]
        return [(name, args[0][name]) for name in sorted(known) + unknown]

    return Signature(paths, flatten, lambda leaves: dict(zip(outputs, leaves)))


def _difference(expected: Sequence[str], got: Sequence[str]) -> str:
    missing = [path for path in expected if path not in set(got)]
    extra = [path for path in got if path not in set(expected)]
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    parts += [f"not expected: {', '.join(extra)}"] if extra else []
    return "the arguments have another structure than what was compiled; " + (
        "; ".join(parts) or "their leaves come in another order"
    )


# Trees as JSON. A container that this module does not know, or a key that is neither a string
# nor a number, makes the signature one that cannot be written down.


class _Opaque(Exception):
    pass


def write(arg_names: Sequence[str], paths: Sequence[str], out_tree: TreeDef) -> str:
    try:
        out = _to_json(out_tree)
    except _Opaque:
        return ""
    return json.dumps({"arguments": list(arg_names), "inputs": list(paths), "result": out})


def read(text: str) -> Signature:
    """The signature that was stored. Dataclasses and named tuples of results come back as named
    tuples of the same name and fields."""
    stored = json.loads(text)
    names, out_tree = stored["arguments"], _from_json(stored["result"])
    paths = tuple(stored["inputs"])
    # Of arguments only the paths are stored: what they are called with has the containers.
    each_a_leaf = TreeDef(tuple, len(names), (), tuple(trees.LEAF for _ in names))
    signature = of_trees(names, each_a_leaf, out_tree)
    return dataclasses.replace(signature, in_paths=paths, text=text)


def _to_json(tree: TreeDef) -> Any:
    kind = tree.kind
    if kind is None:
        return "*"
    children = [_to_json(child) for child in tree.children]
    if kind is type(None):
        return None
    if kind in (list, tuple):
        return {kind.__name__: children}
    keys = [key.value for key in tree.keys]
    if issubclass(kind, dict):
        if not all(isinstance(key, (str, int)) for key in keys):
            raise _Opaque
        return {"dict": [[key, child] for key, child in zip(keys, children)]}
    if all(key.kind == "field" for key in tree.keys):
        return {"record": [kind.__name__, *([key, child] for key, child in zip(keys, children))]}
    raise _Opaque


def _from_json(value: Any) -> TreeDef:
    if value == "*":
        return trees.LEAF
    if value is None:
        return TreeDef(type(None))
    ((kind, items),) = value.items()
    if kind in ("list", "tuple"):
        children = tuple(_from_json(item) for item in items)
        keys = tuple(trees.Key("index", i) for i in range(len(children)))
        return TreeDef({"list": list, "tuple": tuple}[kind], len(children), keys, children)
    if kind == "record":
        name, *items = items
    names = tuple(key for key, _ in items)
    children = tuple(_from_json(child) for _, child in items)
    if kind == "record":
        record = collections.namedtuple(name, names)
        return TreeDef(record, names, tuple(trees.Key("field", n) for n in names), children)
    return TreeDef(dict, (names, None), tuple(trees.Key("key", n) for n in names), children)
