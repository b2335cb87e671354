# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Named shardings: shards, equivalence, MLIR text, and what is not legal."""

import collections
import itertools
import pickle
import random

import numpy as np
import pytest

from weft import (
    AbstractMesh,
    AxisType,
    DuplicateSpecError,
    IndivisibleError,
    Mesh,
    NamedSharding,
    P,
    SpecError,
    make_mesh,
)
from weft.legality import nearest, violations
from weft.sharding import mesh_to_mlir, to_mlir

MESH = Mesh((2, 4), ("data", "model"))


def test_shards_of_an_array():
    sharding = NamedSharding(MESH, P("model", None, "data"))
    assert sharding.shard_shape((8, 3, 6)) == (2, 3, 3)
    indices = sharding.devices_indices_map((8, 3, 6))
    assert list(indices) == list(range(8))
    assert indices[6] == (slice(4, 6), slice(None), slice(3, 6))


def test_shards_tile_the_array():
    for spec in (P(("model", "data")), P("data", "model"), P(None, ("data", "model")), P()):
        counts = np.zeros((8, 8), int)
        for index in NamedSharding(MESH, spec).devices_indices_map((8, 8)).values():
            counts[index] += 1
        assert len(set(counts.flat)) == 1


def test_devices_keep_their_numbers():
    mesh = Mesh([[3, 2], [1, 0]], ("x", "y"))
    indices = NamedSharding(mesh, P(("x", "y"))).devices_indices_map((4,))
    assert indices == {3 - i: (slice(i, i + 1),) for i in range(4)}


def test_parts_of_axes():
    sharding = NamedSharding(MESH, P("model:(2)2", "model:(1)2"))
    assert sharding.shard_shape((4, 4)) == (2, 2)
    assert sharding.devices_indices_map((4, 4))[2] == (slice(0, 2), slice(2, 4))


def test_what_does_not_divide_is_padded_at_the_end():
    vocabulary = NamedSharding(MESH, P("model", "data"))
    assert vocabulary.shard_shape((50257, 768)) == (12565, 384)
    indices = vocabulary.devices_indices_map((50257, 768))
    assert indices[3] == (slice(37695, 50257), slice(0, 384))
    # 2, 2, 1 and nothing.
    rows = NamedSharding(MESH, P("model")).devices_indices_map((5,)).values()
    assert [(s.start, s.stop) for (s,) in rows][:4] == [(0, 2), (2, 4), (4, 5), (5, 5)]


def test_equivalent_shardings():
    def same(a, b, ndim=2):
        return NamedSharding(*a).is_equivalent_to(NamedSharding(*b), ndim)

    flat, ones = Mesh((8,), "all"), Mesh((2, 1, 4), ("data", "one", "model"))
    assert same((MESH, P("data")), (MESH, P("data", None)))
    assert same((MESH, P(("data", "model"))), (flat, P("all")))
    assert same((ones, P("data", "one")), (MESH, P("data")))
    assert same((MESH, P("model:(1)2")), (flat, P("all:(2)2")))
    assert not same((MESH, P(("model", "data"))), (flat, P("all")))
    assert not same((MESH, P("data")), (MESH, P(None, "data")))
    assert not same((MESH, P("data")), (MESH.update(devices=MESH.devices[::-1]), P("data")))
    assert same((MESH.abstract_mesh, P("data")), (AbstractMesh((2, 4), ("a", "b")), P("a")))
    assert not same((MESH, P("data")), (MESH.abstract_mesh, P("data")))
    explicit = make_mesh((2, 4), ("data", "model"))
    assert not same((explicit, P(unreduced={"model"})), (explicit, P()))
    with pytest.raises(SpecError, match="only valid for values of rank at least 2"):
        same((MESH, P("data", None)), (MESH, P("data")), ndim=1)


def test_replicated_shardings():
    ones = Mesh((1, 8), ("one", "all"))
    assert NamedSharding(MESH, P()).is_fully_replicated
    assert NamedSharding(ones, P("one")).is_fully_replicated
    assert not NamedSharding(MESH, P("data")).is_fully_replicated
    explicit = make_mesh((8,), "x")
    assert not NamedSharding(explicit, P(unreduced={"x"})).is_fully_replicated


def test_shardings_are_values():
    sharding = NamedSharding(MESH, P("data"))
    assert sharding == NamedSharding(MESH, P("data")) != NamedSharding(MESH, P("data", None))
    assert pickle.loads(pickle.dumps(sharding)) == sharding
    assert hash(sharding) == hash(NamedSharding(MESH, P("data")))
    assert sharding.num_devices == 8
    assert repr(sharding) == (
        "NamedSharding(mesh=Mesh('data': 2, 'model': 4, axis_types=(Auto, Auto)), spec=P('data',))"
    )
    assert sharding.update(spec=("model",)).spec == P("model")
    assert "memory_kind=device" in repr(sharding.update(memory_kind="device"))


@pytest.mark.parametrize(
    ("spec", "rank", "text"),
    [
        (P(), 0, "<@mesh, []>"),
        (P("data"), 2, '<@mesh, [{"data"}, {}]>'),
        (P(None, ("model", "data")), 2, '<@mesh, [{}, {"model", "data"}]>'),
        (P(P.UNCONSTRAINED, ("data", P.UNCONSTRAINED)), 2, '<@mesh, [{?}, {"data", ?}]>'),
        (P("model:(2)2"), 1, '<@mesh, [{"model":(2)2}]>'),
        (P(unreduced={"model", "data"}), 1, '<@mesh, [{}], unreduced={"data", "model"}>'),
    ],
)
def test_text_of_shardings(spec, rank, text):
    assert to_mlir("mesh", MESH, spec, rank) == text


def test_text_of_a_mesh():
    assert mesh_to_mlir("mesh", MESH) == 'weft.mesh @mesh = <["data"=2, "model"=4]>'


def sharding(spec, shape=None, mesh=MESH):
    made = NamedSharding(mesh, spec)
    return made if shape is None else made.shard_shape(shape)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: sharding(P("data", ("model", "data"))),
            DuplicateSpecError,
            "P('data', ('model', 'data')) is not legal on Mesh('data': 2, 'model': 4, "
            "axis_types=(Auto, Auto))\n"
            "  P('data', ('model', 'data')) has duplicate entries for `data`: an axis can split at "
            "most one dimension\n"
            "  nearest legal: P('data', 'model') or P(None, ('model', 'data'))",
        ),
        (
            lambda: sharding(P("modle", None)),
            SpecError,
            "P('modle', None) is not legal on Mesh('data': 2, 'model': 4, axis_types=(Auto, Auto))\n"
            "  axis 'modle' is not in the mesh, whose axes are 'data' (2), 'model' (4); did you mean "
            "'model'?\n"
            "  nearest legal: P('model', None)",
        ),
        (
            lambda: sharding(P("data", "model", None), (4, 8)),
            SpecError,
            "P('data', 'model', None) for shape (4, 8) is not legal on Mesh('data': 2, 'model': 4, "
            "axis_types=(Auto, Auto))\n"
            "  P('data', 'model', None) has 3 entries, but the array has 2 dimensions\n"
            "  nearest legal: P('data', 'model')",
        ),
        (
            lambda: sharding(P("data"), ()),
            SpecError,
            "P('data',) for shape () is not legal on Mesh('data': 2, 'model': 4, axis_types=(Auto, "
            "Auto))\n"
            "  P('data',) has 1 entry, but the array has 0 dimensions; for scalars the spec is P()\n"
            "  nearest legal: P()",
        ),
        (
            lambda: sharding(P("model", "data"), (3, 768)),
            IndivisibleError,
            "P('model', 'data') for shape (3, 768) is not legal on Mesh('data': 2, 'model': 4, "
            "axis_types=(Auto, Auto))\n"
            "  dimension 0 of size 3 is split 4 ways by 'model' (4): some devices would hold nothing "
            "of it\n"
            "  nearest legal: P(None, ('data', 'model')) or P(None, 'data'); or pad dimension 0 to 4",
        ),
        (
            lambda: sharding(P(P.UNCONSTRAINED), mesh=make_mesh((2,), "x")),
            SpecError,
            "P(UNCONSTRAINED,) is not legal on Mesh('x': 2, axis_types=(Explicit,))\n"
            "  P(UNCONSTRAINED,) cannot contain P.UNCONSTRAINED when no axis of the mesh is Auto: "
            "axis_types are (Explicit,)\n"
            "  nearest legal: P(None,)",
        ),
        (
            lambda: sharding(P("data", unreduced={"model"})),
            SpecError,
            "P('data', unreduced={'model'}) is not legal on Mesh('data': 2, 'model': 4, "
            "axis_types=(Auto, Auto))\n"
            "  unreduced axes can only be axes of type Explicit, but 'model' is Auto: leave them out, "
            "or give the mesh axis_types\n"
            "  nearest legal: P('data',)",
        ),
        (
            lambda: sharding(P(reduced={"x"}), mesh=Mesh((2,), "x", AxisType.Manual)),
            SpecError,
            "P(reduced={'x'}) is not legal on Mesh('x': 2, axis_types=(Manual,))\n"
            "  reduced axes can only be axes of type Explicit, but 'x' is Manual: leave them out, or "
            "give the mesh axis_types\n"
            "  nearest legal: P()",
        ),
        (
            lambda: sharding(P("model:(3)2")),
            SpecError,
            "P('model:(3)2',) is not legal on Mesh('data': 2, 'model': 4, axis_types=(Auto, Auto))\n"
            "  'model:(3)2' is not a sub-axis of 'model' of size 4: the product of its two numbers must "
            "divide the axis, and the second be neither 1 nor all of it\n"
            "  nearest legal: P(None,)",
        ),
        (
            lambda: sharding(P(("model:(1)2", "model:(2)2"))),
            SpecError,
            "P(('model:(1)2', 'model:(2)2'),) is not legal on Mesh('data': 2, 'model': 4, "
            "axis_types=(Auto, Auto))\n"
            "  'model:(1)2' and 'model:(2)2' in succession are one sub-axis: write 'model'\n"
            "  nearest legal: P('model:(1)2',) or P('model:(2)2',)",
        ),
        (
            lambda: sharding(P("x:(1)2", "x:(3)2"), mesh=Mesh((6,), "x")),
            SpecError,
            "P('x:(1)2', 'x:(3)2') is not legal on Mesh('x': 6, axis_types=(Auto,))\n"
            "  no division of 'x' has both 'x:(1)2' and 'x:(3)2' as parts\n"
            "  nearest legal: P('x:(1)2', None) or P(None, 'x:(3)2')",
        ),
        (
            lambda: NamedSharding(MESH, "data"),
            TypeError,
            "the spec of a NamedSharding must be a PartitionSpec, got 'data'; write P('data')",
        ),
        (
            lambda: NamedSharding("mesh", P()),
            TypeError,
            "the mesh of a NamedSharding must be a weft.Mesh or weft.AbstractMesh, got 'mesh'",
        ),
        (
            lambda: NamedSharding(MESH, P(), memory_kind="pinned_host"),
            ValueError,
            "memory_kind must be 'device' or None: arrays of a plan live in the memory of its "
            "devices, got 'pinned_host'",
        ),
        (
            lambda: NamedSharding(MESH.abstract_mesh, P()).devices_indices_map((2,)),
            ValueError,
            "devices_indices_map needs the devices of a weft.Mesh; this sharding is on "
            "AbstractMesh('data': 2, 'model': 4, axis_types=(Auto, Auto))",
        ),
        (
            lambda: sharding(P(unreduced={"x"}), mesh=make_mesh((2,), "x")).devices_indices_map(()),
            NotImplementedError,
            "devices_indices_map of P(unreduced={'x'}): devices hold partial sums, not shards",
        ),
        (
            lambda: to_mlir("mesh", MESH, P(reduced={"data"}), 1),
            NotImplementedError,
            "P(reduced={'data'}): `reduced` axes are not supported. They defer the reduction of a "
            "gradient, which the compiler does of itself where that is cheaper: leave `reduced` out",
        ),
        (
            lambda: sharding(P()).update(shape=()),
            TypeError,
            "a NamedSharding has no shape",
        ),
        (
            lambda: setattr(sharding(P()), "spec", P()),
            AttributeError,
            "a NamedSharding cannot be changed; use .update(spec=...)",
        ),
    ],
)
def test_what_is_not_legal(make, error, message):
    with pytest.raises(error) as raised:
        make()
    assert type(raised.value) is error
    assert str(raised.value) == message


def test_legal_is_what_brute_force_finds():
    """The nearest spec with the fewest changes is found, for every spec of two axes."""
    entries = [None, "data", "model", ("data", "model"), ("model", "data")]
    for shape in itertools.product((1, 2, 4, 6, 8), repeat=2):
        legal = [P(*e) for e in itertools.product(entries, repeat=2)]
        legal = [spec for spec in legal if not violations(spec, MESH, shape)]
        for spec in itertools.starmap(P, itertools.product(entries, repeat=2)):
            found = nearest(spec, MESH, shape)
            assert found and all(candidate in legal for candidate in found)
            if spec in legal:
                assert found[0] == spec


def test_random_specs_are_legal_or_an_error_with_a_legal_spec():
    draw = random.Random(0)
    axes = ["data", "model", "data", "model", "modl", "x", "model:(2)2", "data:(2)2"]
    outcomes = collections.Counter()
    for _ in range(2000):
        entries = [
            draw.choice([None, P.UNCONSTRAINED, tuple(draw.choices(axes, k=draw.randint(1, 2)))])
            for _ in range(draw.randint(0, 3))
        ]
        shape = draw.choices([2, 3, 4, 6, 8, 12, 16], k=draw.randint(0, 3))
        try:
            NamedSharding(MESH, P(*entries)).shard_shape(shape)
            outcomes["legal"] += 1
        except SpecError as error:
            assert "nearest legal: P(" in str(error)
            outcomes[type(error).__name__] += 1
        (first, *_) = nearest(P(*entries), MESH, shape)
        assert not violations(first, MESH, shape)
    assert min(outcomes.values()) > 20 and len(outcomes) == 4, outcomes


def test_the_search_for_a_legal_spec_is_bounded():
    mesh = Mesh((2,) * 10, tuple("abcdefghij"))
    spec = P(tuple("abcde"), tuple("fghij"), None, None, None)
    found = nearest(spec, mesh, (16, 32, 64, 64, 64))
    moved = P(tuple("abcd"), tuple("fghij"), "e", None, None)
    assert found == [moved, P(tuple("abcd"), tuple("fghij"), None, "e", None)]
    assert nearest(spec, mesh, (1, 1, 1, 1, 1)) == [P(None, None, None, None, None)]
