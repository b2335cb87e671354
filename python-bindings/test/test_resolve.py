# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prefix trees of specs over arguments: every offender in one error."""

import numpy as np
import pytest

import weft
from weft import (
    AxisType,
    DuplicateSpecError,
    IndivisibleError,
    Mesh,
    NamedSharding,
    P,
    ShapeDtypeStruct,
    SpecError,
)
from weft.resolve import resolve_constraints, resolve_shardings

MESH = Mesh((2, 4), ("data", "model"))


def array(*shape, sharding=None):
    return ShapeDtypeStruct(shape, "float32", sharding=sharding)


PARAMS = {
    "blocks": [{"mlp": {"w1": array(768, 3072), "w2": array(3072, 768)}} for _ in range(4)],
    "wte": array(50257, 768),
}


def resolve(tree, shardings, mesh=MESH, **options):
    return resolve_shardings("in_shardings", tree, shardings, mesh, root="params", **options)


def message(error, call, *args, **options):
    with pytest.raises(error) as raised:
        call(*args, **options)
    assert type(raised.value) is error
    return str(raised.value)


def test_a_prefix_shards_every_array():
    given = {"blocks": P(None, "model"), "wte": NamedSharding(MESH, P(None, "data"))}
    found = resolve(PARAMS, given)
    assert [sharding.spec for sharding in found] == [P(None, "model")] * 8 + [P(None, "data")]


def test_none_takes_the_sharding_of_the_array():
    own = NamedSharding(MESH, P("data"))
    tree = [array(8, sharding=own), array(8), array(8, sharding=P("model")), 1.0]
    assert resolve(tree, None) == [own, None, NamedSharding(MESH, P("model")), None]
    assert resolve(tree, [P("data"), None, None, P()])[0] == own


def test_all_offenders_at_once():
    mlp = {"w1": P("data", "model"), "w2": P("model", ("data", "model"))}
    blocks = [{"mlp": mlp}] * 4
    blocks[3] = {"mlp": {"w1": P("dta", None, None), "w2": P()}}
    assert message(SpecError, resolve, PARAMS, {"blocks": blocks, "wte": P("modle")}) == (
        "in_shardings: 5 of 9 arrays cannot be sharded as written\n"
        "  params['blocks'][{0..2}]['mlp']['w2']: float32[3072, 768], P('model', ('data', 'model'))\n"
        "    P('model', ('data', 'model')) has duplicate entries for `model`: an axis can split at "
        "most one dimension\n"
        "    nearest legal: P('model', 'data') (1.12 MiB a device) or P(None, ('data', 'model')) "
        "(1.12 MiB a device)\n"
        "  params['blocks'][3]['mlp']['w1']: float32[768, 3072], P('dta', None, None)\n"
        "    axis 'dta' is not in the mesh, whose axes are 'data' (2), 'model' (4); did you mean "
        "'data'?\n"
        "    P('dta', None, None) has 3 entries, but the array has 2 dimensions\n"
        "    nearest legal: P('data', None) (4.50 MiB a device)\n"
        "  params['wte']: float32[50257, 768], P('modle',)\n"
        "    axis 'modle' is not in the mesh, whose axes are 'data' (2), 'model' (4); did you mean "
        "'model'?\n"
        "    nearest legal: P('model',) (36.8 MiB a device)"
    )


def test_errors_of_one_kind_have_that_class():
    assert "1 of 2 arrays" in message(IndivisibleError, resolve, [array(8), array(1)], P("data"))
    assert "`data`" in message(DuplicateSpecError, resolve, array(8, 8), P("data", "data"))
    with pytest.raises(SpecError) as raised:
        resolve([array(8), array(1)], P("data"))
    (offender,) = raised.value.offenders
    assert offender.subject.startswith("params[1]")


def test_names_of_arguments():
    text = message(
        IndivisibleError,
        resolve_shardings,
        "in_shardings",
        ({"w": array(3)}, array(2)),
        P("model"),
        MESH,
        root=("params", "batch"),
    )
    assert "params['w']: float32[3]" in text and "batch: float32[2]" in text


def test_unconstrained_at_a_boundary():
    assert message(SpecError, resolve, array(8, 4), P("data", P.UNCONSTRAINED)) == (
        "in_shardings: 1 of 1 array cannot be sharded as written\n"
        "  params: float32[8, 4], P('data', UNCONSTRAINED)\n"
        "    unconstrained dimensions are not allowed in in_shardings: P('data', UNCONSTRAINED); say "
        "how they are split, or leave the whole sharding out with None\n"
        "    nearest legal: P('data', None) (64 B a device)"
    )
    assert resolve(array(8, 4), P(P.UNCONSTRAINED), allow_unconstrained=True)


def test_an_array_with_another_sharding():
    own = NamedSharding(MESH, P("data"))
    tree = {"w": array(8, 8, sharding=own), "v": array(8, sharding=own)}
    assert message(SpecError, resolve, tree, {"w": P(None, "model"), "v": P("data")}) == (
        "in_shardings: 1 of 2 arrays cannot be sharded as written\n"
        "  params['w']: float32[8, 8], P(None, 'model')\n"
        "    the array has the sharding P('data',) on Mesh('data': 2, 'model': 4, axis_types=(Auto, "
        "Auto)): pass it as that, or give None to take the array's"
    )


def test_the_sharding_of_an_array_is_checked_too():
    own = NamedSharding(MESH, P("model"))
    text = message(IndivisibleError, resolve, [array(8), array(3, sharding=own)], None)
    assert "1 of 2 arrays" in text and "params[1]: float32[3], P('model',)" in text


def test_manual_axes():
    mesh = Mesh((2, 2), ("x", "y"), (AxisType.Manual, AxisType.Auto))
    text = message(SpecError, resolve, array(4), P("x"), mesh)
    assert (
        "P('x',) contains Manual axes 'x' of the mesh, along which the program itself moves data: "
        "use Auto or Explicit axes" in text
    )


def test_meshes_must_be_there_and_agree():
    other = Mesh((8,), "x")
    text = message(SpecError, resolve, array(8), NamedSharding(other, P("x")))
    assert (
        "it is on Mesh('x': 8, axis_types=(Auto,)), but the program is on Mesh('data': 2, 'model': "
        "4, axis_types=(Auto, Auto)): use one mesh" in text
    )
    text = message(SpecError, resolve, array(8), P("x"), None)
    assert "a spec needs a mesh: pass mesh=, or a NamedSharding instead of a spec" in text


def test_leaves_that_are_no_shardings():
    assert message(TypeError, resolve, [array(8), array(8)], ["data", 1]) == (
        "in_shardings must be a tree of NamedSharding, PartitionSpec and None, but\n"
        "  in_shardings[0] is 'data' of type str; write P('data')\n"
        "  in_shardings[1] is 1 of type int"
    )


def test_shardings_of_jax():
    of_jax = type("PartitionSpec", (), {"__module__": "jax", "__repr__": lambda self: "P()"})()
    assert message(TypeError, resolve, array(8), of_jax).endswith(
        "in_shardings is P() of type PartitionSpec; it is JAX's, use that of weft"
    )


def test_trees_that_are_no_prefix():
    assert message(ValueError, resolve, PARAMS, {"blocks": [P()], "wte": P()}) == (
        "in_shardings is not a prefix of the tree params:\n"
        "  ['blocks']: list of length 1 here, 4 in the tree"
    )


def test_constraints_are_checked_like_boundaries():
    value = {"a": array(8, 4), "b": array(3)}
    found = resolve_constraints(value, {"a": P(P.UNCONSTRAINED, "model"), "b": P()}, MESH)
    assert found[0].spec == P(P.UNCONSTRAINED, "model")
    text = message(IndivisibleError, resolve_constraints, value, P("model"), MESH)
    assert text == (
        "with_sharding_constraint: 1 of 2 arrays cannot be sharded as written\n"
        "  ['b']: float32[3], P('model',)\n"
        "    dimension 0 of size 3 is split 4 ways by 'model' (4): some devices would hold nothing of "
        "it\n"
        "    nearest legal: P(None,) (12 B a device); or pad dimension 0 to 4"
    )


def test_a_constraint_may_change_the_sharding():
    value = [array(8, 8, sharding=NamedSharding(MESH, P("data")))]
    assert resolve_constraints(value, P("model"), MESH)[0].spec == P("model")
    assert "the array has the sharding P('data',)" in message(SpecError, resolve, value, P("model"))


def test_a_constraint_that_says_nothing():
    text = message(SpecError, resolve_constraints, [array(8), array(8)], [None, P()], MESH)
    assert text == (
        "with_sharding_constraint: no sharding for [0]; to leave a dimension open write "
        "P.UNCONSTRAINED"
    )


def test_a_constraint_on_explicit_axes():
    mesh = Mesh((2, 2), ("x", "y"), (AxisType.Auto, AxisType.Explicit))
    text = message(SpecError, resolve_constraints, array(8, 8), P("x", "y"), mesh)
    assert text == (
        "the spec passed to with_sharding_constraint can only refer to Auto axes of a mesh that has "
        "some:\n"
        "  P('x', 'y') names 'y'\n"
        "  leave these axes out, or make all of the mesh Explicit"
    )
    assert resolve_constraints(array(8, 8), P("x"), mesh)


def test_rules_stand_for_what_is_below_them():
    rules = weft.rules([("blocks/.*/w1", P(None, "model")), (".*", P())])
    found = resolve_shardings("in_shardings", (PARAMS, array(8)), (rules, P("data")), MESH)
    specs = [sharding.spec for sharding in found]
    assert specs == [P(None, "model"), P()] * 4 + [P(), P("data")]
    text = message(SpecError, resolve, PARAMS, weft.rules([("blocks/.*", P())]))
    assert "no rule matches wte: float32[50257, 768]" in text


def test_numpy_arrays_have_shapes():
    (sharding,) = resolve(np.zeros((8, 4)), P("data"))
    assert sharding.shard_shape((8, 4)) == (4, 4)
