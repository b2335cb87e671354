# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees of values: dicts, lists, tuples, named tuples and dataclasses.

A model's parameters are a tree whose leaves are arrays. What is no container of
those kinds is a leaf; ``None`` is a tree without leaves. Order of leaves, key
paths and prefix trees are those of ``jax.tree``, so a tree means the same here.

    >>> import weft.tree
    >>> params = {"blocks": [{"w": 1.0, "b": 2.0}], "scale": 3.0}
    >>> weft.tree.flatten_with_paths(params, "params")[0]
    [("params['blocks'][0]['b']", 2.0), ("params['blocks'][0]['w']", 1.0), ("params['scale']", 3.0)]
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .treedef import (
    LEAF, Key, Node, Path, Root, TreeDef, branch, differences, distinct_slashes, exact, keystr,
    place, slashes, static_differences, unhashable_static)

Tree = Any
IsLeaf = Callable[[Any], bool] | None


class _UnsortableKeys(Exception):
    """Of a dict; the text says of which types they are."""


def _sorted_keys(node: dict) -> list[Any]:
    try:
        return sorted(node)
    except TypeError:
        kinds = sorted({type(key).__name__ for key in node})
        raise _UnsortableKeys(", ".join(kinds)) from None


# A container as a node and its children.
_Opened = tuple[Node, Sequence[Any]]


def _open_sequence(value: list | tuple) -> _Opened:
    return Node(type(value), None, len(value)), value


def _open_dict(value: dict) -> _Opened:
    kind = type(value)
    names = list(value) if kind is collections.OrderedDict else _sorted_keys(value)
    aux = (tuple(names), getattr(value, "default_factory", None))
    return Node(kind, aux, len(names)), [value[name] for name in names]


def _open_namedtuple(value: Any) -> _Opened:
    return Node(type(value), value._fields, len(value)), value


def _dataclass_opener(kind: type) -> Callable[[Any], _Opened]:
    children, static = [], []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        marked = field.metadata.get("static", False) or not field.metadata.get("pytree_node", True)
        (static if marked else children).append(field.name)

    def open_(value: Any) -> _Opened:
        given = [(name, getattr(value, name)) for name in static]
        aux = (tuple(children), tuple((name, exact(v), v) for name, v in given))
        return Node(kind, aux, len(children)), [getattr(value, name) for name in children]

    return open_


@functools.lru_cache(maxsize=1024)
def _opener(kind: type) -> Callable[[Any], _Opened] | None:
    """What opens a container of this type; None for leaves."""
    if kind is type(None):
        return lambda value: (Node(kind, None, 0), ())
    if kind in (list, tuple):
        return _open_sequence
    if kind in (dict, collections.OrderedDict, collections.defaultdict):
        return _open_dict
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _open_namedtuple
    return _dataclass_opener(kind) if dataclasses.is_dataclass(kind) else None


def _too_deep(root: Root) -> RecursionError:
    what = root if isinstance(root, str) and root else "the tree"
    return RecursionError(
        f"{what} is nested more than {sys.getrecursionlimit()} levels deep, or contains itself"
    )


def _unsortable(where: str, kinds: _UnsortableKeys) -> ValueError:
    return ValueError(
        f"the keys of the dict at {where or 'the root of the tree'} cannot be sorted: "
        f"they are of types {kinds}; use keys of one type"
    )


def flatten(tree: Tree, is_leaf: IsLeaf = None, *, root: Root = "") -> tuple[list[Any], TreeDef]:
    """The leaves of a tree in order, and its structure. In errors the tree is called `root`, or
    its elements are."""
    leaves: list[Any] = []
    nodes: list[Node | None] = []
    limit = sys.getrecursionlimit()
    levels = [iter((tree,))]  # what is left of each container that is open
    while levels:
        for value in levels[-1]:
            kind = type(value)
            opener = None if kind is np.ndarray else _opener(kind)
            if opener is None or (is_leaf is not None and is_leaf(value)):
                leaves.append(value)
                nodes.append(None)
                continue
            try:
                node, children = opener(value)
            except _UnsortableKeys as kinds:
                *_, (path, _) = TreeDef([*nodes, None]).nodes_with_paths()
                raise _unsortable(place(root, path), kinds) from None
            nodes.append(node)
            levels.append(iter(children))
            if len(levels) > limit:
                raise _too_deep(root)
            break
        else:
            levels.pop()
    return leaves, TreeDef(nodes)


def flatten_with_keys(
    tree: Tree, is_leaf: IsLeaf = None, *, root: Root = ""
) -> tuple[list[tuple[Path, Any]], TreeDef]:
    """The leaves of a tree with their paths, and its structure."""
    found, treedef = flatten(tree, is_leaf, root=root)
    return list(zip(treedef.paths(), found)), treedef


def flatten_with_paths(
    tree: Tree, root: Root = "", is_leaf: IsLeaf = None
) -> tuple[list[tuple[str, Any]], TreeDef]:
    """As `flatten_with_keys`, with paths as text that begins with `root`."""
    leaves, treedef = flatten_with_keys(tree, is_leaf, root=root)
    return [(place(root, path), leaf) for path, leaf in leaves], treedef


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Tree:
    """The tree of structure `treedef` with the given leaves."""
    return treedef.unflatten(leaves)


def leaves(tree: Tree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Tree, is_leaf: IsLeaf = None) -> TreeDef:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def map(f: Callable, tree: Tree, *rest: Tree, is_leaf: IsLeaf = None) -> Tree:
    """The tree of `f` of each leaf and of what stands at its place in each tree of
    `rest`, which must have `tree` as a prefix."""
    first, treedef = flatten(tree, is_leaf)
    others = [_subtrees(tree, other, is_leaf) for other in rest]
    return treedef.unflatten(f(*each) for each in zip(first, *others))


def _subtrees(prefix: Tree, tree: Tree, is_leaf: IsLeaf) -> list[Tree]:
    """What stands in `tree` at the place of each leaf of `prefix`."""
    found: list[Tree] = []
    problems: list[str] = []
    _match(prefix, tree, (), is_leaf, lambda path, leaf, subtree: found.append(subtree), problems)
    if problems:
        raise ValueError("the trees differ in structure:\n  " + "\n  ".join(problems))
    return found


def broadcast_prefix(
    prefix: Tree,
    tree: Tree,
    is_leaf: IsLeaf = None,
    *,
    name: str = "prefix",
    root: str = "",
) -> list[Any]:
    """The leaf of `prefix` that governs each leaf of `tree`: a leaf of the prefix stands
    for all leaves below its place.

    Every place where `prefix` is no prefix of `tree` is reported in one `ValueError`;
    `name` is what the prefix is called there and `root` what the tree is called.
    """
    return [leaf for _, leaf in broadcast_prefix_with_keys(prefix, tree, is_leaf, name=name, root=root)]


def broadcast_prefix_with_keys(
    prefix: Tree,
    tree: Tree,
    is_leaf: IsLeaf = None,
    *,
    name: str = "prefix",
    root: str = "",
    spread: Callable[[Any, Tree], list[Any] | None] = lambda leaf, subtree: None,
) -> list[tuple[Path, Any]]:
    """As `broadcast_prefix`, each leaf with its path in `prefix`. `spread` may give a leaf of
    the prefix other values for the leaves of its subtree than copies of itself."""
    result: list[tuple[Path, Any]] = []
    problems: list[str] = []

    def at_leaf(path: Path, leaf: Any, subtree: Tree) -> None:
        values = spread(leaf, subtree)
        if values is None:
            values = [leaf] * structure(subtree).num_leaves
        result.extend((path, value) for value in values)

    _match(prefix, tree, (), is_leaf, at_leaf, problems)
    if problems:
        raise ValueError(
            f"{name} is not a prefix of the tree{' ' + root if root else ''}:\n  "
            + "\n  ".join(problems)
        )
    return result


def _match(
    prefix: Tree,
    tree: Tree,
    path: Path,
    is_leaf: IsLeaf,
    at_leaf: Callable[[Path, Any, Tree], None],
    problems: list[str],
) -> None:
    """Calls `at_leaf` for each leaf of `prefix`; collects where the structures differ."""
    here = None if is_leaf is not None and is_leaf(prefix) else _opened(prefix, path)
    if here is None:
        at_leaf(path, prefix, tree)
        return
    there = _opened(tree, path)
    mismatch = _mismatch(here[0], there and there[0], tree)
    if mismatch:
        problems.append(f"{keystr(path) or 'at the root'}: {mismatch}")
        return
    for key, child, subtree in zip(here[0].keys, here[1], there[1]):
        _match(child, subtree, (*path, key), is_leaf, at_leaf, problems)


def _opened(value: Any, path: Path) -> _Opened | None:
    opener = _opener(type(value))
    if len(path) > sys.getrecursionlimit() // 2:
        raise _too_deep("")
    try:
        return opener and opener(value)
    except _UnsortableKeys as kinds:
        raise _unsortable(keystr(path), kinds) from None


def _mismatch(here: Node, there: Node | None, tree: Tree) -> str | None:
    """Why two nodes are not of one structure, if they are not."""
    if there is None or there.kind is not here.kind:
        found = f"a leaf ({type(tree).__name__})" if there is None else _noun(there.kind)
        return f"{_noun(here.kind)} here, {found} in the tree"
    if here == there:
        return None
    if here.kind in (list, tuple):
        return f"{here.kind.__name__} of length {here.arity} here, {there.arity} in the tree"
    static = [f"static field {name} is {old} here, {new} in the tree"
              for name, old, new in static_differences(here, there)]
    return (_key_difference(here.keys, there.keys) or "; ".join(static)
            or f"{here.aux!r} here, {there.aux!r} in the tree")


def _noun(kind: type) -> str:
    return "None (a tree without leaves)" if kind is type(None) else f"a {kind.__name__}"


def _key_difference(here: Sequence[Key], there: Sequence[Key]) -> str:
    extra = [repr(k.value) for k in here if k not in there]
    missing = [repr(k.value) for k in there if k not in here]
    parts = [f"keys {', '.join(extra)} are not in the tree"] if extra else []
    parts += [f"keys {', '.join(missing)} of the tree are missing"] if missing else []
    if not parts and list(here) != list(there):
        parts = ["the same keys in another order"]
    return "; ".join(parts)
