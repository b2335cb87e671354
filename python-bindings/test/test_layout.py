# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.Layout`: what its tables do to a traced function, and that every entry is of use."""

import re

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct, optim
from weft.tracing import trace

MESH = weft.Mesh((2, 2), ("data", "model"))
PARAMS = {"w1": ShapeDtypeStruct((8, 16), "float32"), "w2": ShapeDtypeStruct((16, 8), "float32")}
X = ShapeDtypeStruct((4, 8), "float32")
SHARDS = weft.rules([(".*", P("data"))])
COLUMNS = weft.rules([("w1", P(None, "model")), ("w2", P("model"))])


def layer(params, x):
    h = weft.checkpoint_name(wnp.tanh(x @ params["w1"]), "hidden")
    return weft.checkpoint_name(h @ params["w2"], "out")


def loss(params, x):
    return wnp.sum(weft.checkpoint(layer)(params, x) ** 2) + 0.0 * wnp.sum(params["w1"])


def step(params, x):
    value, gradients = weft.value_and_grad(loss)(params, x)
    return optim.apply_updates(params, gradients), value


def text(fn, layout, *args):
    return trace(fn, args, mesh=layout.mesh, layout=layout).text


def function(module, name):
    """The lines of a function of the module."""
    return re.search(rf"func.func \w* ?@{name}\((.*?)\n}}", module, re.DOTALL)[1]


def constraints(module, name):
    """(operand, sharding) of the constraints in a function."""
    return re.findall(r"weft.constraint (\S+) <@mesh, (.*?)> :", function(module, name))


def test_parameters_are_placed_where_they_are_computed_with():
    module = text(step, weft.Layout(MESH, rest=SHARDS, compute=COLUMNS), PARAMS, X)
    columns, rows = '[{}, {"model"}]', '[{"model"}, {}]'
    # In the layer, at first use, and in the loss for its own use.
    assert [spec for _, spec in constraints(module, "layer")] == [columns, rows]
    assert [spec for _, spec in constraints(module, "loss")] == [columns]
    # Not where they are updated: there the gradients are as the parameters rest.
    assert [spec for _, spec in constraints(module, "step")] == ['[{"data"}, {}]'] * 2
    assert "weft.checkpoint @layer(%0, %1, %2)" in function(module, "loss")


def test_gradients_are_where_the_optimizer_is():
    specs = [weft.rules([(".*", P(axis))]) for axis in ("data", "model")]
    for tables, axis in [({"optimizer": specs[1]}, "model"),
                         ({"optimizer": specs[1], "gradients": specs[0]}, "data")]:
        module = text(step, weft.Layout(MESH, rest=weft.rules([(".*", P())]), **tables), PARAMS, X)
        assert constraints(module, "layer") == []
        assert [s for _, s in constraints(module, "step")] == [f'[{{"{axis}"}}, {{}}]'] * 2


def test_named_activations():
    layout = weft.Layout(MESH, rest=SHARDS, activations={"hidden": P("data", "model"), "out": P("data")})
    module = text(step, layout, PARAMS, X)
    assert [spec for _, spec in constraints(module, "layer")] == [
        '[{"data"}, {"model"}]', '[{"data"}, {}]']
    # What policies may keep is what the constraint gave.
    assert re.search(r"(%\d+) = weft.constraint .*\n.*weft.checkpoint_name \1 ", module)


def test_a_converted_parameter_moves_in_the_narrower_type():
    def cast(params, x):
        half = weft.tree.map(lambda p: p.astype(wnp.bfloat16), params)
        return weft.checkpoint(layer)(half, x.astype(wnp.bfloat16)).astype(wnp.float32).sum()

    layout = weft.Layout(MESH, rest=SHARDS, compute=COLUMNS)
    module = text(weft.value_and_grad(cast), layout, PARAMS, X)
    assert "tensor<8x16xbf16>" in function(module, "layer").split("weft.constraint")[1]
    wide = text(weft.value_and_grad(lambda p, x: cast(weft.tree.map(lambda w: w * 2, p), x)), layout,
                PARAMS, X)
    assert constraints(wide, "layer") == []


def test_several_arguments_to_differentiate_by():
    def f(w1, w2, x):
        return loss({"w1": w1, "w2": w2}, x)

    rest = weft.rules([("[01]", P("data"))])
    compute = weft.rules([("0", P(None, "model")), ("1", P("model"))])
    module = text(weft.value_and_grad(f, argnums=(0, 1)), weft.Layout(MESH, rest=rest, compute=compute),
                  PARAMS["w1"], PARAMS["w2"], X)
    assert len(constraints(module, "layer")) == 2


def test_compute_with_alone():
    def f(params, x):
        return layer(weft.compute_with(params, {"w1": P(None, "model"), "w2": P("model")}), x), params

    module = trace(f, (PARAMS, X), mesh=MESH).text
    assert [spec for _, spec in constraints(module, "f")] == ['[{}, {"model"}]', '[{"model"}, {}]']
    assert re.search(r"return %\d+, %0, %1 :", module)  # as they came


def test_specs_of_parameters_and_of_the_optimizer():
    layout = weft.Layout(MESH, rest=COLUMNS, optimizer=SHARDS)
    assert layout.parameter_specs(PARAMS) == {"w1": P(None, "model"), "w2": P("model")}
    state = weft.eval_shape(optim.sgd(0.1, momentum=0.9).init, PARAMS)
    assert layout.optimizer_specs(state, PARAMS) == {"trace": {"w1": P("data"), "w2": P("data")}}
    assert repr(weft.Layout(weft.AbstractMesh((2,), ("x",)), rest=P("x"))).endswith(
        "rest=P('x',), compute=None, optimizer=P('x',), gradients=P('x',), activations={})")


def test_entries_without_use():
    layout = weft.Layout(MESH, rest=SHARDS, compute=COLUMNS, activations={"residul": P("data")})
    with pytest.raises(weft.SpecError) as error:
        text(layer, layout, PARAMS, X)
    assert str(error.value) == (
        'unused Layout entries\n'
        '  activations "residul": no weft.checkpoint_name of the function has this name\n'
        '    names in the function: "hidden" and "out"\n'
        '  compute: the function calls no weft.value_and_grad, whose parameters it is for; leave it '
        'out, or call weft.compute_with(params, layout.compute)')
    with pytest.raises(weft.SpecError, match="names in the function: none"):
        text(lambda x: x, weft.Layout(MESH, rest=SHARDS, activations={"a": P()}), X)


def test_wrong_tables():
    idle = weft.Layout(MESH, rest=SHARDS, compute=weft.rules([("w[12]", P()), ("w3", P("model"))]))
    with pytest.raises(weft.SpecError, match='rule 2 "w3" matches no parameter'):
        text(step, idle, PARAMS, X)
    with pytest.raises(weft.SpecError, match="1 of 2 parameters match no rule"):
        weft.Layout(MESH, rest=weft.rules([("w1", P())])).parameter_specs(PARAMS)
    uneven = weft.Layout(MESH, rest=SHARDS, activations={"out": P(None, ("data", "model"), "data")})
    with pytest.raises(ValueError, match='Layout activations "out"'):
        text(step, uneven, PARAMS, X)
    unknown = weft.Layout(MESH, rest=SHARDS, compute=P("rows"))
    with pytest.raises(weft.SpecError, match="Layout compute(.|\n)*rows"):
        text(step, unknown, PARAMS, X)
    with pytest.raises(TypeError, match="activations must have a PartitionSpec for each name, but "
                                        "\"out\" has 'data' of type str"):
        weft.Layout(MESH, rest=SHARDS, activations={"out": "data"})


def test_one_mesh():
    other = weft.Mesh((4,), ("data",))
    with pytest.raises(ValueError, match="and a layout on .*: use one mesh"):
        weft.jit(step, mesh=other, layout=weft.Layout(MESH, rest=SHARDS))
    weights = weft.tree.map(lambda s: np.ones(s.shape, np.float32) / 8, PARAMS)
    x = np.ones(X.shape, np.float32)
    layout = weft.Layout(MESH, rest=SHARDS, compute=COLUMNS)
    sharded = weft.jit(step, layout=layout, in_shardings=(SHARDS, P("data")))(weights, x)
    for a, b in zip(weft.tree.leaves(sharded), weft.tree.leaves(weft.jit(step)(weights, x))):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_gathering_once_a_step():
    def micro(params, x):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), 2)(params, x)
        return optim.apply_updates(params, gradients), value

    layout = weft.Layout(MESH, rest=SHARDS, compute=COLUMNS, gather="step")
    assert layout != weft.Layout(MESH, rest=SHARDS, compute=COLUMNS) and "gather='step'" in repr(layout)
    columns = ['[{}, {"model"}]', '[{"model"}, {}]']
    for fn, rows in ((step, 4), (micro, 8)):
        module = text(fn, layout, PARAMS, ShapeDtypeStruct((rows, 8), "float32"))
        assert constraints(module, "layer") == constraints(module, "loss") == []
        assert [spec for _, spec in constraints(module, fn.__name__)][:2] == columns
    # Before the micro-batches, which all take it.
    before = function(module, "micro").partition("weft.microbatch_use")[0]
    assert all(spec in before for spec in columns)


@pytest.mark.parametrize("options, message", [
    ({"compute": COLUMNS, "gather": "late"}, "Layout: gather must be \"use\" or \"step\", got 'late'"),
    ({"gather": "step"}, "Layout: gather=\"step\" is for what the table compute gathers; give it, too"),
])
def test_when_to_gather_is_checked(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        weft.Layout(MESH, rest=SHARDS, **options)
