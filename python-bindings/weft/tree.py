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
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Tree = Any
IsLeaf = Callable[[Any], bool] | None


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


@dataclasses.dataclass(frozen=True)
class TreeDef:
    """The structure of a tree: its containers, with leaves taken out.

    `kind` is the container's type, ``None`` for a leaf; `aux` is what else makes
    it: the keys of a dict, the static fields of a dataclass.
    """

    kind: type | None
    aux: Any = None
    keys: Path = ()
    children: tuple[TreeDef, ...] = ()

    @property
    def num_leaves(self) -> int:
        return 1 if self.kind is None else sum(c.num_leaves for c in self.children)

    def unflatten(self, leaves: Iterable[Any]) -> Tree:
        """The tree of this structure with the given leaves, in order."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"a tree with {self.num_leaves} leaves cannot be made of {len(leaves)}: {self}"
            )
        return self._build(iter(leaves))

    def _build(self, leaves) -> Tree:
        if self.kind is None:
            return next(leaves)
        return _make(self, [child._build(leaves) for child in self.children])

    def paths(self) -> list[Path]:
        """The path of every leaf, in order."""
        if self.kind is None:
            return [()]
        return [
            (key, *rest)
            for key, child in zip(self.keys, self.children)
            for rest in child.paths()
        ]

    def __str__(self) -> str:
        return f"TreeDef({self._text()})"

    __repr__ = __str__

    def _text(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind is type(None):
            return "None"
        parts = [child._text() for child in self.children]
        if self.kind is list:
            return f"[{', '.join(parts)}]"
        if self.kind is tuple:
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if all(key.kind == "key" for key in self.keys) and issubclass(self.kind, dict):
            return "{" + ", ".join(f"{k.value!r}: {p}" for k, p in zip(self.keys, parts)) + "}"
        fields = [f"{key.value}={part}" for key, part in zip(self.keys, parts)]
        return f"{self.kind.__name__}({', '.join(fields)})"


LEAF = TreeDef(None)


def _is_namedtuple(node: Any) -> bool:
    return isinstance(node, tuple) and hasattr(type(node), "_fields")


def _dynamic_fields(node: Any) -> tuple[list[str], list[str]]:
    """Names of the fields of a dataclass that are children, and of the static ones."""
    children, static = [], []
    for field in dataclasses.fields(node):
        if not field.init:
            continue
        marked = field.metadata.get("static", False) or not field.metadata.get("pytree_node", True)
        (static if marked else children).append(field.name)
    return children, static


def _sorted_keys(node: dict, path: Path) -> list[Any]:
    try:
        return sorted(node)
    except TypeError:
        kinds = sorted({type(key).__name__ for key in node})
        raise ValueError(
            f"the keys of the dict at {keystr(path) or 'the root of the tree'} cannot be sorted: "
            f"they are of types {', '.join(kinds)}; use keys of one type"
        ) from None


def _open(node: Tree, path: Path = ()) -> tuple[type, Any, Path, list[Any]] | None:
    """(type, aux, keys, children) of a container, ``None`` for a leaf."""
    kind = type(node)
    if node is None:
        return kind, None, (), []
    if kind in (list, tuple):
        return kind, len(node), tuple(Key("index", i) for i in range(len(node))), list(node)
    if kind in (dict, collections.OrderedDict, collections.defaultdict):
        names = list(node) if kind is collections.OrderedDict else _sorted_keys(node, path)
        aux = (tuple(names), getattr(node, "default_factory", None))
        return kind, aux, tuple(Key("key", n) for n in names), [node[n] for n in names]
    if _is_namedtuple(node):
        return kind, kind._fields, tuple(Key("field", f) for f in kind._fields), list(node)
    if dataclasses.is_dataclass(kind):
        names, static = _dynamic_fields(node)
        aux = (tuple(names), tuple((s, getattr(node, s)) for s in static))
        return kind, aux, tuple(Key("field", n) for n in names), [getattr(node, n) for n in names]
    return None


def _make(treedef: TreeDef, children: list[Any]) -> Tree:
    kind = treedef.kind
    if kind is type(None):
        return None
    if kind in (list, tuple):
        return kind(children)
    if issubclass(kind, tuple):
        return kind(*children)
    if kind is collections.defaultdict:
        return kind(treedef.aux[1], zip(treedef.aux[0], children))
    if issubclass(kind, dict):
        return kind(zip(treedef.aux[0], children))
    names, static = treedef.aux
    return kind(**dict(zip(names, children)), **dict(static))


def _flatten(node: Tree, path: Path, is_leaf: IsLeaf, leaves: list[tuple[Path, Any]]) -> TreeDef:
    opened = None if is_leaf is not None and is_leaf(node) else _open(node, path)
    if opened is None:
        leaves.append((path, node))
        return LEAF
    kind, aux, keys, children = opened
    parts = tuple(
        _flatten(child, (*path, key), is_leaf, leaves) for key, child in zip(keys, children)
    )
    return TreeDef(kind, aux, keys, parts)


def flatten_with_keys(tree: Tree, is_leaf: IsLeaf = None) -> tuple[list[tuple[Path, Any]], TreeDef]:
    """The leaves of a tree with their paths, and its structure."""
    leaves: list[tuple[Path, Any]] = []
    treedef = _flatten(tree, (), is_leaf, leaves)
    return leaves, treedef


def flatten_with_paths(
    tree: Tree, root: str = "", is_leaf: IsLeaf = None
) -> tuple[list[tuple[str, Any]], TreeDef]:
    """As `flatten_with_keys`, with paths as text that begins with `root`."""
    leaves, treedef = flatten_with_keys(tree, is_leaf)
    return [(root + keystr(path), leaf) for path, leaf in leaves], treedef


def flatten(tree: Tree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree in order, and its structure."""
    leaves, treedef = flatten_with_keys(tree, is_leaf)
    return [leaf for _, leaf in leaves], treedef


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
    opened = None if is_leaf is not None and is_leaf(prefix) else _open(prefix, path)
    if opened is None:
        at_leaf(path, prefix, tree)
        return
    kind, aux, keys, children = opened
    other = _open(tree, path)
    mismatch = _mismatch(opened, other, tree)
    if mismatch:
        problems.append(f"{keystr(path) or 'at the root'}: {mismatch}")
        return
    for key, child, subtree in zip(keys, children, other[3]):
        _match(child, subtree, (*path, key), is_leaf, at_leaf, problems)


def _mismatch(prefix, other, tree: Tree) -> str | None:
    """Why two opened nodes are not of one structure, if they are not."""
    kind, aux, keys, children = prefix
    if other is None or other[0] is not kind:
        found = f"a leaf ({type(tree).__name__})" if other is None else _noun(other[0])
        return f"{_noun(kind)} here, {found} in the tree"
    if aux == other[1]:
        return None
    if kind in (list, tuple):
        return f"{kind.__name__} of length {len(keys)} here, {len(other[2])} in the tree"
    return _key_difference(keys, other[2]) or f"{aux!r} here, {other[1]!r} in the tree"


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
