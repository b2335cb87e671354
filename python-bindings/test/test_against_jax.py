# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes, specs, shardings and trees against those of JAX, on random cases.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import collections
import itertools
import os
import random

import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import numpy as np  # noqa: E402
from jax._src import tree_util as jax_tree_util  # noqa: E402

import weft  # noqa: E402
from weft import tree  # noqa: E402

JaxP = jax.sharding.PartitionSpec
SHAPES = [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 4), (8, 1), (1, 2, 2, 2)]
NAMES = "abcd"


@pytest.fixture(scope="module", autouse=True)
def eight_devices():
    if len(jax.devices()) != 8:
        pytest.skip(f"wants 8 forced host devices, JAX has {len(jax.devices())}")


def random_mesh(random, kinds=("Auto",)):
    """The same mesh of 8 devices of both packages."""
    shape = random.choice(SHAPES)
    names = tuple(random.sample(NAMES, len(shape)))
    types = [random.choice(kinds) for _ in shape]
    order = list(range(8))
    if random.random() < 0.5:
        random.shuffle(order)
    ours = weft.Mesh(
        np.array(order).reshape(shape), names, tuple(getattr(weft.AxisType, t) for t in types)
    )
    theirs = jax.sharding.Mesh(
        np.array([jax.devices()[i] for i in order]).reshape(shape),
        names,
        tuple(getattr(jax.sharding.AxisType, t) for t in types),
    )
    return ours, theirs


def random_entries(random, axes, rank):
    """Entries of a spec, legal on a mesh of the given axes."""
    axes = random.sample(list(axes), random.randint(0, len(axes)))
    dims = [[] for _ in range(random.randint(0, rank))]
    for axis in axes:
        if dims:
            random.choice(dims).append(axis)
    return [
        None if not d else d[0] if len(d) == 1 and random.random() < 0.5 else tuple(d) for d in dims
    ]


def raised(call):
    """(result, None) or (None, name of the exception's class)."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001
        return None, type(error).__name__


def slices(indices):
    """A map from devices to indices, by device number."""
    return {getattr(device, "id", device): index for device, index in indices.items()}


def test_reprs_of_meshes():
    random_ = random.Random(1)
    for _ in range(200):
        ours, theirs = random_mesh(random_, ("Auto", "Explicit", "Manual"))
        assert repr(ours) == repr(theirs) and str(ours) == str(theirs)
        sizes, names = ours.axis_sizes, ours.axis_names
        assert repr(weft.AbstractMesh(sizes, names)) == repr(jax.sharding.AbstractMesh(sizes, names))
        assert ours.shape == theirs.shape and ours.size == theirs.size
        assert ours.device_ids.tolist() == theirs.device_ids.tolist()
        for kind in ("auto_axes", "explicit_axes", "manual_axes"):
            assert getattr(ours, kind) == getattr(theirs, kind)


def test_defaults_of_axis_types():
    def types(mesh):
        return [kind.name for kind in mesh.axis_types]

    assert types(weft.make_mesh((8,), ("x",))) == types(jax.make_mesh((8,), ("x",)))
    assert types(weft.Mesh((8,), "x")) == types(jax.sharding.Mesh(jax.devices(), "x"))
    abstract = ((8,), ("x",))
    assert types(weft.AbstractMesh(*abstract)) == types(jax.sharding.AbstractMesh(*abstract))


def test_reprs_of_specs():
    random_ = random.Random(2)
    choices = [None, "a", "b", ("a", "b"), ["c"], [], (), ("d", "e", "f")]
    for _ in range(500):
        entries = random_.choices(choices, k=random_.randint(0, 4))
        unconstrained = random_.randrange(5)
        if unconstrained < len(entries):
            entries[unconstrained] = None
        ours, theirs = weft.P(*entries), JaxP(*entries)
        if unconstrained < len(entries):
            ours = ours.update([*ours[:unconstrained], weft.P.UNCONSTRAINED, *ours[unconstrained + 1 :]])
            theirs = theirs.update(
                [*theirs[:unconstrained], JaxP.UNCONSTRAINED, *theirs[unconstrained + 1 :]]
            )
        assert repr(ours) == repr(theirs) and len(ours) == len(theirs)
        keywords = {random_.choice(["unreduced", "reduced"]): {"z"}}
        assert repr(ours.update(**keywords)) == repr(theirs.update(**keywords))
        assert repr(ours + weft.P("q")) == repr(theirs + JaxP("q"))


def test_equality_of_specs():
    entries = [(), (None,), ("a",), (("a",),), ("a", None), (("a", "b"),), ("a", "b"), ((),)]
    for one, other in itertools.product(entries, repeat=2):
        assert (weft.P(*one) == weft.P(*other)) == (JaxP(*one) == JaxP(*other))


def test_shards():
    random_ = random.Random(3)
    outcomes = collections.Counter()
    for _ in range(600):
        ours, theirs = random_mesh(random_)
        rank = random_.randint(0, 3)
        shape = tuple(random_.choice([1, 2, 3, 4, 6, 8, 16]) for _ in range(rank))
        entries = random_entries(random_, ours.axis_names, rank)
        our = weft.NamedSharding(ours, weft.P(*entries))
        their = jax.sharding.NamedSharding(theirs, JaxP(*entries))
        assert repr(our) == repr(their).replace(", memory_kind=device", "")
        ours_found = raised(lambda: our.shard_shape(shape))
        theirs_found = raised(lambda: their.shard_shape(shape))
        # JAX pads nothing at a boundary.
        is_padded = theirs_found[1] == "IndivisibleError" and ours_found[1] is None
        assert is_padded or ours_found == theirs_found
        outcomes["padded" if is_padded else ours_found[1]] += 1
        if theirs_found[1] is None:
            assert our.devices_indices_map(shape) == slices(their.devices_indices_map(shape))
        assert our.is_fully_replicated == their.is_fully_replicated
    assert outcomes[None] > 200 and outcomes["IndivisibleError"] > 50
    assert outcomes["padded"] > 10


def test_equivalence():
    random_ = random.Random(4)
    equal = 0
    for _ in range(3000):
        ndim = random_.randint(0, 2)
        pairs = []
        for _ in range(2):
            shape = random_.choice(SHAPES)
            names = NAMES[: len(shape)]
            kinds = random_.choice(["Auto", "Explicit"])
            entries = random_entries(random_, names, ndim)
            used = {a for e in entries for a in (e if isinstance(e, tuple) else [e])}
            free = [name for name in names if name not in used]
            unreduced = set(random_.sample(free, min(len(free), random_.randint(0, 1))))
            keywords = {"unreduced": unreduced} if kinds == "Explicit" else {}
            ours = weft.Mesh(shape, tuple(names), (getattr(weft.AxisType, kinds),) * len(shape))
            theirs = jax.sharding.Mesh(
                np.array(jax.devices()).reshape(shape),
                tuple(names),
                (getattr(jax.sharding.AxisType, kinds),) * len(shape),
            )
            pairs.append(
                (
                    weft.NamedSharding(ours, weft.P(*entries, **keywords)),
                    jax.sharding.NamedSharding(theirs, JaxP(*entries, **keywords)),
                )
            )
        (our_one, their_one), (our_other, their_other) = pairs
        found = our_one.is_equivalent_to(our_other, ndim)
        assert found == their_one.is_equivalent_to(their_other, ndim), (our_one, our_other)
        equal += found
    assert 100 < equal < 2900


def test_classes_of_errors():
    ours, theirs = weft.Mesh((2, 4), ("a", "b")), jax.make_mesh(
        (2, 4), ("a", "b"), (jax.sharding.AxisType.Auto,) * 2
    )
    for entries in [("a", "a"), (("a", "b"), "a")]:
        our = raised(lambda: weft.NamedSharding(ours, weft.P(*entries)))
        assert our == raised(lambda: jax.sharding.NamedSharding(theirs, JaxP(*entries)))
        assert our[1] == "DuplicateSpecError"
    value_errors = [
        lambda module, mesh, P: module.NamedSharding(mesh, P("z")),
        lambda module, mesh, P: module.NamedSharding(mesh, P(unreduced={"a"})),
        lambda module, mesh, P: P("a", unreduced={"a"}),
        lambda module, mesh, P: P(unreduced={None}),
        lambda module, mesh, P: P("a", unreduced={"b"})[0],
        lambda module, mesh, P: module.Mesh(mesh.devices, ("a",)),
        lambda module, mesh, P: module.NamedSharding(mesh, P("b")).shard_shape((3,)),
    ]
    for refused in value_errors:
        for arguments in ((weft, ours, weft.P), (jax.sharding, theirs, JaxP)):
            with pytest.raises(ValueError):
                refused(*arguments)


Point = collections.namedtuple("Point", ["x", "y"])


def random_tree(random, depth=3):
    kind = random.choice(["leaf", "leaf", "dict", "list", "tuple", "none", "point", "ordered", "default"])
    if depth == 0 or kind == "leaf":
        return random.randint(0, 99)
    if kind == "none":
        return None
    children = [random_tree(random, depth - 1) for _ in range(random.randint(0, 3))]
    names = random.sample(["b", "a", "w1", "k_0", "z"], len(children))
    if kind == "point":
        return Point(random_tree(random, depth - 1), random_tree(random, depth - 1))
    if kind in ("list", "tuple"):
        return list(children) if kind == "list" else tuple(children)
    pairs = list(zip(names, children))
    if kind == "default":
        return collections.defaultdict(int, pairs)
    return collections.OrderedDict(pairs) if kind == "ordered" else dict(pairs)


def test_trees():
    random_ = random.Random(5)
    for _ in range(1000):
        value = random_tree(random_)
        theirs, their_def = jax_tree_util.tree_flatten_with_path(value)
        ours, our_def = tree.flatten_with_paths(value, "params")
        assert ours == [("params" + jax_tree_util.keystr(path), leaf) for path, leaf in theirs]
        assert [tree.slashes(path) for path, _ in tree.flatten_with_keys(value)[0]] == [
            jax_tree_util.keystr(path, simple=True, separator="/") for path, _ in theirs
        ]
        assert our_def.num_leaves == their_def.num_leaves
        assert tree.unflatten(our_def, range(len(ours))) == their_def.unflatten(range(len(ours)))
        other = random_tree(random_)
        same = jax.tree.structure(value) == jax.tree.structure(other)
        assert (tree.structure(value) == tree.structure(other)) == same


def cut(random, value):
    """A tree that is probably a prefix of `value`."""
    if random.random() < 0.25:
        return random.choice(["s", "t"])
    if random.random() < 0.05:
        return {"other": 1}
    treedef = jax.tree.structure(value, is_leaf=lambda node: node is not value)
    children = [cut(random, child) for child in jax.tree.leaves(value, is_leaf=lambda n: n is not value)]
    return value if not children else treedef.unflatten(children)


def test_prefixes():
    random_ = random.Random(6)
    outcomes = collections.Counter()
    for _ in range(1500):
        value = random_tree(random_)
        prefix = cut(random_, value)
        theirs = raised(lambda: jax_tree_util.broadcast_prefix(prefix, value))
        assert raised(lambda: tree.broadcast_prefix(prefix, value)) == theirs, (prefix, value)
        outcomes[theirs[1]] += 1
    assert outcomes[None] > 500 and outcomes["ValueError"] > 50
