# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees: containers, paths, structure, prefixes and their errors."""

import collections
import dataclasses
import pickle

import pytest

from weft import tree


@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = dataclasses.field(default="", metadata={"static": True})


Pair = collections.namedtuple("Pair", ["first", "second"])

MODEL = {
    "blocks": [Layer(1, {"z": 2, "a": 3}, name="x"), Layer(4, None)],
    "head": Pair(5, (6,)),
    "empty": {},
}


def test_paths_read_as_python():
    leaves, _ = tree.flatten_with_paths(MODEL, "params")
    assert leaves == [
        ("params['blocks'][0].w", 1),
        ("params['blocks'][0].b['a']", 3),
        ("params['blocks'][0].b['z']", 2),
        ("params['blocks'][1].w", 4),
        ("params['head'].first", 5),
        ("params['head'].second[0]", 6),
    ]


def test_slashes_join_keys():
    paths = [tree.slashes(path) for path, _ in tree.flatten_with_keys(MODEL)[0]]
    assert paths[1:3] == ["blocks/0/b/a", "blocks/0/b/z"]


def test_unflatten_restores_the_tree():
    leaves, treedef = tree.flatten(MODEL)
    assert tree.unflatten(treedef, leaves) == MODEL
    assert treedef.num_leaves == len(leaves) == 6
    assert [tree.keystr(p) for p in treedef.paths()] == [
        path for path, _ in tree.flatten_with_paths(MODEL)[0]
    ]


def test_order_of_ordered_and_default_dicts():
    ordered = collections.OrderedDict([("b", 1), ("a", 2)])
    default = collections.defaultdict(list, {"b": 1, "a": 2})
    assert tree.leaves(ordered) == [1, 2]
    assert tree.leaves(default) == [2, 1]
    restored = tree.map(lambda x: x, default)
    assert restored == default and restored.default_factory is list
    assert list(tree.map(lambda x: x, ordered)) == ["b", "a"]


def test_none_is_a_tree_without_leaves():
    assert tree.leaves({"a": None, "b": 1}) == [1]
    assert tree.leaves({"a": None, "b": 1}, is_leaf=lambda x: x is None) == [None, 1]


def test_subclasses_of_containers_are_leaves():
    class Special(list):
        pass

    value = Special([1])
    assert tree.leaves([value]) == [value]


def test_structures_compare_and_print():
    assert tree.structure([1, 2]) == tree.structure([3, 4])
    assert tree.structure([1, 2]) != tree.structure((1, 2))
    assert hash(tree.structure({"a": 1})) == hash(tree.structure({"a": 2}))
    assert repr(tree.structure({"a": [1, None, (2,)]})) == "TreeDef({'a': [*, None, (*,)]})"
    assert repr(tree.structure(Pair(1, 2))) == "TreeDef(Pair(first=*, second=*))"
    assert tree.structure(Layer(1, 2, name="x")) != tree.structure(Layer(1, 2, name="y"))
    assert pickle.loads(pickle.dumps(tree.structure(MODEL))) == tree.structure(MODEL)


def test_map_over_several_trees():
    assert tree.map(lambda x, y: x + y, {"a": 1, "b": 2}, {"a": 10, "b": 20}) == {"a": 11, "b": 22}
    assert tree.map(lambda x, y: (x, y), {"a": 1}, {"a": [2, 3]}) == {"a": (1, [2, 3])}


def test_prefixes_spread():
    full = {"a": [1, 2], "b": {"c": 3, "d": (4, 5)}, "e": None}
    assert tree.broadcast_prefix("x", full) == ["x"] * 5
    assert tree.broadcast_prefix({"a": "x", "b": {"c": "y", "d": "z"}, "e": None}, full) == list(
        "xxyzz"
    )


def test_none_in_a_prefix_of_specs_is_a_leaf():
    full = {"a": [1, 2], "b": 3}
    assert tree.broadcast_prefix({"a": None, "b": "x"}, full, lambda x: x is None) == [
        None,
        None,
        "x",
    ]


def test_a_prefix_that_is_none_reports_every_place():
    full = {"a": [1, 2], "b": {"x": 1, "y": 2}, "c": (1,), "d": 5, "e": [1]}
    prefix = {"a": ["p"], "b": {"x": "p", "z": "q"}, "c": ["p"], "d": ["p"], "e": None}
    with pytest.raises(ValueError) as error:
        tree.broadcast_prefix(prefix, full, name="in_shardings", root="params")
    assert str(error.value) == (
        "in_shardings is not a prefix of the tree params:\n"
        "  ['a']: list of length 1 here, 2 in the tree\n"
        "  ['b']: keys 'z' are not in the tree; keys 'y' of the tree are missing\n"
        "  ['c']: a list here, a tuple in the tree\n"
        "  ['d']: a list here, a leaf (int) in the tree\n"
        "  ['e']: None (a tree without leaves) here, a list in the tree"
    )


def test_prefixes_differ_in_order_and_static_fields():
    ordered = collections.OrderedDict
    with pytest.raises(ValueError, match="at the root: the same keys in another order"):
        tree.broadcast_prefix(ordered(a=1, b=2), ordered(b=1, a=2))
    with pytest.raises(ValueError, match="'x'.* here, .*'y'.* in the tree"):
        tree.broadcast_prefix([Layer(1, 2, name="x")], [Layer(1, 2, name="y")])


def test_map_reports_trees_that_differ():
    with pytest.raises(ValueError) as error:
        tree.map(lambda x, y: x, {"a": [1]}, {"a": [1, 2]})
    assert str(error.value) == (
        "the trees differ in structure:\n  ['a']: list of length 1 here, 2 in the tree"
    )


def test_keys_that_cannot_be_sorted():
    with pytest.raises(ValueError, match=r"the dict at \['a'\] cannot be sorted.*types int, str"):
        tree.flatten({"a": {"x": 1, 2: 3}})


def test_a_wrong_number_of_leaves():
    with pytest.raises(ValueError, match="a tree with 2 leaves cannot be made of 3"):
        tree.unflatten(tree.structure([1, 2]), [1, 2, 3])
