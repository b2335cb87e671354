# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tracing a function writes: ops, names, locations, shardings; and what it refuses."""

import functools
import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from running import BINARIES
from weft import P, ShapeDtypeStruct, nn, tracing
from weft.tracing import trace

X = ShapeDtypeStruct((4, 8), "float32")
W = ShapeDtypeStruct((8, 2), "float32")
TOKENS = ShapeDtypeStruct((4,), "int32")
MESH = weft.Mesh((2, 2), ("data", "model"))


def ops(program):
    """The lines of the entry without values, types and locations."""
    lines = program.text[program.text.index("func.func @"):].splitlines()
    found = [re.match(r"%\d+(?::\d+)? = ([\w.]+)", line) for line in lines]
    return [match[1] for match in found if match]


def check_form(program):
    """The compiler takes the module for a graph."""
    done = subprocess.run([BINARIES / "shard-opt", "-", "--weft-verify-form=form=graph"],
                          input=program.text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def here(offset=0):
    """The number of the line that calls this."""
    return inspect.currentframe().f_back.f_lineno + offset


# ===----------------------------------------------------------------------===
# Modules
# ===----------------------------------------------------------------------===


def test_module_of_a_function():
    def predict(w, x):
        return wnp.tanh(x @ w)

    program = trace(predict, (W, X), arg_names=["w", "x"])
    text = re.sub(r" loc\([^()]*(\([^()]*\))?\)", "", program.text)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert text == (
        "module @predict {\n"
        'func.func @predict(%0: tensor<8x2xf32> {weft.name = "w"},\n'
        '    %1: tensor<4x8xf32> {weft.name = "x"}) -> (tensor<4x2xf32> {weft.name = "out"}) {\n'
        "%2 = weft.dot_general %1, %0 contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) "
        "-> tensor<4x2xf32>\n"
        "%3 = math.tanh %2 : tensor<4x2xf32>\n"
        "return %3 : tensor<4x2xf32>\n"
        "}\n"
        "}")
    check_form(program)


def test_names_of_trees():
    def step(state, *batch):
        return {"state": state, "loss": (batch[0] ** 2).sum(), "n": [1, np.float32(2)]}

    args = ({"blocks": [{"w": W}, {"w": X}]}, X)
    program = trace(step, args, arg_names=["state", "batch[0]"])
    assert [name for name, _ in program.inputs] == [
        "state['blocks'][0]['w']", "state['blocks'][1]['w']", "batch[0]"]
    assert [name for name, _ in program.outputs] == [
        "out['loss']", "out['n'][0]", "out['n'][1]", "out['state']['blocks'][0]['w']",
        "out['state']['blocks'][1]['w']"]
    assert program.out_tree.unflatten(range(5))["state"] == {"blocks": [{"w": 3}, {"w": 4}]}
    assert program.in_tree.num_leaves == 3
    check_form(program)


def test_a_result_is_named_apart_from_an_argument():
    assert trace(lambda out: out + 1, (X,), arg_names=["out"]).outputs[0][0] == "out_"


def test_name_of_an_entry():
    assert "func.func @main(" in trace(lambda x: x, (X,)).text
    assert "func.func @f__1(" in trace(_named("f é1"), (X,)).text
    assert "func.func @log2(" in trace(functools.partial(wnp.log2), (X,)).text


def _named(name):
    def function(x):
        return x

    function.__name__ = name
    return function


def test_donated_arguments_name_the_results_that_take_their_place():
    def step(params, moments, x):
        return x.sum(), {"w": moments["w"] + 1}, {"w": params["w"] * 2}

    tree = {"w": W}
    program = trace(step, (tree, tree, X), arg_names=["params", "moments", "x"], donate=(0, 1))
    # In order, as in JAX: the path below both arguments is the same.
    assert [name for name, _ in program.outputs] == ["out[0]", "params['w']", "moments['w']"]
    check_form(program)


def test_donation_prefers_the_path():
    def step(state):
        return {"b": state["a"] + 1, "a": state["b"] * 2}, state["a"].sum()

    program = trace(step, ({"a": W, "b": W},), arg_names=["state"], donate=(0,))
    assert [name for name, _ in program.outputs] == ["state['a']", "state['b']", "out[1]"]
    program = trace(lambda s: {"new": s["a"] + 1}, ({"a": W},), arg_names=["s"], donate=(0,))
    assert [name for name, _ in program.outputs] == ["s['a']"]


def test_a_donated_argument_of_another_type_is_free():
    with pytest.warns(weft.CompilerWarning, match="donated argument x is not used: no result has its type"):
        program = trace(lambda x: x.sum(), (X,), arg_names=["x"], donate=(0,))
    assert [name for name, _ in program.outputs] == ["out"]


def test_shardings_of_arguments_and_results():
    program = trace(lambda params, x: x @ params["w"], ({"w": W}, X), arg_names=["params", "x"],
                    mesh=MESH, in_shardings=({"w": P(None, "model")}, P("data")),
                    out_shardings=P("data", "model"))
    text = check_form(program)
    assert 'weft.mesh @mesh = <["data"=2, "model"=2]>' in text
    assert 'weft.name = "params[\'w\']", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>' in text
    assert 'weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>' in text
    assert 'weft.name = "out", weft.sharding = #weft.sharding<@mesh, [{"data"}, {"model"}]>' in text
    assert program.inputs[1][1].sharding == weft.NamedSharding(MESH, P("data"))
    assert program.outputs[0][1].sharding == weft.NamedSharding(MESH, P("data", "model"))


def test_a_named_sharding_brings_its_mesh():
    own = ShapeDtypeStruct((4, 8), "float32", sharding=weft.NamedSharding(MESH, P("model")))
    assert "weft.mesh @mesh" in trace(lambda x: x + 1, (own,)).text
    program = trace(lambda x: weft.with_sharding_constraint(x, weft.NamedSharding(MESH, P())), (X,))
    assert "weft.mesh @mesh" in program.text
    check_form(program)


def test_constraints():
    def f(x):
        y = weft.with_sharding_constraint({"a": x, "b": x + 1}, P("data", P.UNCONSTRAINED))
        return weft.lax.with_sharding_constraint(y["a"], P())

    program = trace(f, (X,), mesh=MESH)
    assert program.text.count('<@mesh, [{"data"}, {?}]> : tensor<4x8xf32>') == 2
    assert "<@mesh, [{}, {}]> : tensor<4x8xf32>" in program.text
    check_form(program)


def test_scalars_and_arrays_as_arguments():
    def f(a, b, c):
        return a + b, c

    program = trace(f, (2, np.float32(1), np.ones((2, 3), np.int64)), arg_names=["a", "b", "c"])
    assert [(s.shape, s.dtype.name) for _, s in program.inputs] == [
        ((), "int32"), ((), "float32"), ((2, 3), "int32")]
    assert program.outputs[0][1].dtype == np.float32
    wide = ShapeDtypeStruct((2,), "float64")
    assert trace(lambda x: x + 1, (wide,)).outputs[0][1].dtype == np.float64


# ===----------------------------------------------------------------------===
# Ops
# ===----------------------------------------------------------------------===


def test_what_does_nothing_is_not_written():
    def f(x):
        x = x.reshape(4, 8).astype(np.float32).transpose(0, 1)
        return wnp.broadcast_to(x, (4, 8))[:, :][..., :]

    assert ops(trace(f, (X,))) == []


def test_literals_are_written_where_they_are_used():
    def f(x):
        unused = wnp.zeros((1000, 1000))  # noqa: F841
        return x * wnp.ones((4, 1), "bfloat16") + wnp.full((8,), 3)

    program = trace(f, (X,))
    assert ops(program) == ["arith.constant", "arith.mulf", "arith.constant", "arith.addf"]
    assert "dense<3.0> : tensor<4x8xf32>" in program.text


def test_numbers_as_mlir_reads_them():
    values = [0.1, 1e30, 1e-7, 3.0, float("inf"), -float("inf"), float("nan"), -0.0]
    program = trace(lambda x: [wnp.full((2,), v, t) for v in values for t in ("float32", "bfloat16", "float64")],
                    (X,))
    text = check_form(program)
    for number in ("0x7F800000", "0xFF800000", "0x7FC00000", "0x7F80", "0xFFF0000000000000", "1.000000e+30"):
        assert number in text


def test_arrays_become_constants():
    def f(x):
        return x + np.arange(8.0), x > np.array([[True, False] * 4]), x[np.array([[1, 3]])] * np.full(8, 2)

    text = check_form(trace(f, (X,)))
    assert "dense<[0.000000e+00, 1.000000e+00, 2.000000e+00" in text  # float64 becomes float32
    assert "dense<[true, false, true" in text
    assert "dense<2.000000e+00> : tensor<1x2x8xf32>" in text


def test_a_gradient_is_a_function_of_its_own():
    def loss(params, x):
        return (x @ params["w"] + params["b"]).mean()

    def step(params, x):
        scale = wnp.exp(x[0, 0])
        return weft.value_and_grad(lambda p: loss(p, x) * scale)(params)

    program = trace(step, ({"b": ShapeDtypeStruct((2,), "float32"), "w": W}, X), arg_names=["params", "x"])
    call = re.search(r"weft.value_and_grad @(\w+)\((.*?)\) wrt = \[0, 1\] : (.*) loc", program.text)
    # The values that the function closes over come after what it is differentiated by.
    assert call[2] == "%0, %1, %2, %5"
    assert call[3] == ("(tensor<2xf32>, tensor<8x2xf32>, tensor<4x8xf32>, tensor<f32>) -> "
                       "(tensor<f32>, tensor<2xf32>, tensor<8x2xf32>)")
    assert f"func.func private @{call[1]}(%0: tensor<2xf32>" in program.text
    assert [s.shape for _, s in program.outputs] == [(), (2,), (8, 2)]


def test_gradients_with_aux_and_argnums():
    def f(a, tokens, b, flag=True):
        assert flag
        return (a * b).sum(), {"sum": a + b, "constant": 3, "tokens": tokens, "flag": flag}

    def g(a, tokens, b):
        (value, aux), grads = weft.value_and_grad(f, argnums=(0, -1), has_aux=True)(a, tokens, b)
        gradient, more = weft.grad(f, has_aux=True)(a, tokens, b, flag=True)
        assert aux["flag"] is True and aux["constant"] == 3
        return value, aux["sum"], aux["tokens"], grads, gradient, more["sum"]

    program = trace(g, (X, TOKENS, X))
    assert [s.shape for _, s in program.outputs] == [(), (4, 8), (4,), (4, 8), (4, 8), (4, 8), (4, 8)]
    assert program.text.count("func.func private @f") == 2


def test_gradients_nest():
    def outer(x):
        inner = weft.grad(lambda y: (y**2 * x).sum())
        return weft.grad(lambda z: (inner(z) * x).sum())(x)

    program = trace(outer, (X,))
    assert program.text.count("weft.value_and_grad @") == 2
    assert program.outputs[0][1].shape == (4, 8)


def test_stop_gradient():
    program = trace(lambda x, i: weft.stop_gradient({"x": x, "i": i, "n": 1.0}), (X, TOKENS))
    assert ops(program) == ["weft.stop_gradient", "arith.constant"]


# ===----------------------------------------------------------------------===
# Locations
# ===----------------------------------------------------------------------===


def location_of(program, op):
    """The location of the first op of this name, with its alias resolved."""
    alias = re.search(rf"= {op} .* loc\((#loc\d+)\)", program.text)[1]
    table = dict(re.findall(r"^(#loc\d+) = loc\((.*)\)$", program.text, re.MULTILINE))
    text = table[alias]
    return re.sub(r"\((#loc\d+)\)", lambda match: f"({table[match[1]]})", text)


def test_ops_have_the_line_of_the_caller():
    def f(x):
        return wnp.exp(x)[:2] + 1

    program = trace(f, (X,))
    file = inspect.getsourcefile(f)
    column = inspect.getsource(f).splitlines()[1].index("wnp.exp(x)") + 1
    line = inspect.getsourcelines(f)[1] + 1
    assert location_of(program, "math.exp") == f'"{file}":{line}:{column}'
    assert location_of(program, "arith.addf").startswith(f'"{file}":{line}:')


def test_lambdas_in_tree_maps_have_their_line():
    def f(tree):
        return weft.tree.map(lambda leaf: wnp.exp(leaf), tree)

    line = inspect.getsourcelines(f)[1] + 1
    assert f":{line}:" in location_of(trace(f, ({"a": X},)), "math.exp")


def test_ops_of_composites_carry_their_name():
    def f(x):
        return nn.softmax(x), weft.random.uniform(weft.random.key(0), (2,)), nn.gelu(x)

    program = trace(f, (X,))
    line = inspect.getsourcelines(f)[1] + 1
    assert re.fullmatch(rf'"softmax"\(".*test_tracing.py":{line}:\d+\)', location_of(program, "weft.softmax"))
    assert location_of(program, "arith.xori").startswith('"uniform"(')
    assert location_of(program, "weft.gelu").startswith('"gelu"(')


def test_arguments_have_their_path_as_location():
    program = trace(lambda p: p["w"], ({"w": W},), arg_names=["params"])
    assert re.search(r"""loc\("params\['w'\]"\(#loc0\)\)""", program.text)


def test_names_with_quotes():
    program = trace(lambda p: p['a"\\é'], ({'a"\\é': W},), arg_names=["p"])
    assert r'weft.name = "p[\'a\22\5C\5C' in program.text.replace("['", r"[\'")
    check_form(program)


# ===----------------------------------------------------------------------===
# Errors
# ===----------------------------------------------------------------------===


def fails(kind, message, f, *args):
    """Tracing f raises; the message begins with the line of this test that went wrong."""
    with pytest.raises(kind) as caught:
        trace(f, args or (X,))
    text = str(caught.value)
    assert re.search(message, text), text
    return text


def test_python_control_flow():
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    line = inspect.getsourcelines(f)[1] + 1
    text = fails(tracing.ConcretizationTypeError, r"bool\(\) needs values", f)
    assert text.startswith(f"test_tracing.py:{line}: ")
    assert r"Tracer(bool[])" in text and "weft.numpy.where" in text


@pytest.mark.parametrize("use, message", [
    (int, r"int\(\)"), (float, r"float\(\)"), (lambda x: range(x), "an index or size"),
    (lambda x: np.asarray(x), "an array .* weft.numpy instead of the one of numpy"),
    (lambda x: x.item(), r"item\(\)"), (lambda x: x.tolist(), r"tolist\(\)"),
    (lambda x: [1, 2][x], "index tensors by tensors")])
def test_numbers_that_are_not_known(use, message):
    fails(tracing.ConcretizationTypeError, message, lambda x: use(x))


@pytest.mark.parametrize("f, message", [
    (lambda x: x + wnp.ones((3, 8)), r"add: shapes \(4, 8\) and \(3, 8\) do not broadcast: dimension -2 is 4 and 3"),
    (lambda x: x @ x, r"matmul: shapes \(4, 8\) and \(4, 8\) do not fit: the last dimension of the left, 8, must "
                      r"equal dimension 0 of the right, 4"),
    (lambda x: wnp.dot(x, x), r"dot: contracting dimensions must have one size, but dimension 1 of shape \(4, 8\) "
                              r"is 8 and dimension 0 of shape \(4, 8\) is 4"),
    (lambda x: wnp.einsum("ij,ij,jk->k", x, x, x), r'einsum .*: dimension "j" is 8 and 4 in shapes'),
    (lambda x: wnp.einsum("ijk->i", x), r'"ijk" does not name the dimensions of shape \(4, 8\)'),
    (lambda x: x.reshape(5, 7), r"cannot reshape a tensor of shape \(4, 8\), which has 32 elements, into shape"),
    (lambda x: wnp.concatenate([x, x[:, 1:]], 0), r"concatenate: shapes \(4, 8\) and \(4, 7\) must be equal but for"),
    (lambda x: wnp.stack([x, x[0]]), r"stack: shapes \(4, 8\) and \(8,\) must be equal"),
    (lambda x: wnp.broadcast_to(x, (8, 8)), r"broadcast_to: shapes? \(4, 8\)"),
    (lambda x: wnp.where(x > 0, x, x[:3]), r"where: shapes .* do not broadcast"),
    (lambda x: nn.dot_product_attention(x, x, x), "rank 3 or 4"),
    (lambda x: wnp.matmul(x, 2), "use . to scale"),
    (lambda x: weft.lax.scan(lambda c, v: (c, v), 0, (x, x[1:])), "one size"),
])
def test_shapes_that_do_not_fit(f, message):
    text = fails(ValueError, message, f)
    assert text.startswith("test_tracing.py:")


@pytest.mark.parametrize("kind, f, message", [
    (ValueError, lambda x: x.sum(2), "axis 2 is out of bounds for a tensor of rank 2"),
    (ValueError, lambda x: x.sum((0, -2)), "name a dimension twice"),
    (IndexError, lambda x: x[4], r"index 4 is out of bounds for dimension 0 of shape \(4, 8\)"),
    (IndexError, lambda x: x[0, 0, 0], "3 indices"),
    (IndexError, lambda x: x[..., ...], "more than one Ellipsis"),
    (TypeError, lambda x: x[x > 0], "choose with weft.numpy.where"),
    (TypeError, lambda x: x[x[0]], "takes integers as indices"),
    (TypeError, lambda x: x["a"], "an index must be an integer"),
    (TypeError, lambda x: x[: x[0, 0].astype(int)], "bounds of a slice must be Python integers"),
    (TypeError, lambda x: wnp.where(x > 0), "where needs a condition, x and y"),
    (TypeError, lambda x: wnp.add([1], x), "make a tensor of it with weft.numpy.array"),
    (TypeError, lambda x: wnp.add("a", x), "expected a tensor, a NumPy array or a number, got str"),
    (TypeError, lambda x: wnp.arange(x[0, 0]), "arange takes Python numbers"),
    (TypeError, lambda x: x.astype("uint8"), "dtype uint8 is not supported; use one of bool, int8"),
    (TypeError, lambda x: -(x > 0), "negative takes numbers"),
    (TypeError, lambda x: (x > 0) - (x > 1), "subtract takes numbers"),
    (TypeError, lambda x: x & 1, "bitwise_and takes numbers"),
    (TypeError, lambda x: wnp.repeat(x, x), "repeat takes a Python integer"),
    (TypeError, lambda x: nn.one_hot(x, 3), "one_hot takes integers"),
    (OverflowError, lambda x: x.astype("int8") + 1000, "1000 is out of bounds for int8, which holds -128 to 127"),
    (ValueError, lambda x: wnp.max(wnp.zeros((0, 3))), "the max of no elements"),
    (ValueError, lambda x: wnp.take(wnp.zeros((0, 3)), 0, 0), "lookup in no elements"),
    (ValueError, lambda x: wnp.split(x, 3), "cannot be cut into 3 equal parts"),
    (ValueError, lambda x: wnp.squeeze(x, 0), "has size 4, not 1"),
    (ValueError, lambda x: wnp.max(x, where=x > 0), "needs `initial`"),
    (ValueError, lambda x: wnp.take(x, 0, 0, mode="raise"), 'mode must be "fill", "clip" or "wrap"'),
    (ValueError, lambda x: x.astype(int) ** -1, "needs an exponent of at least 0"),
    (NotImplementedError, lambda x: wnp.pad(x, 1, mode="edge"), 'mode "constant" only'),
    (NotImplementedError, lambda x: wnp.linalg.norm(x, 2), "use the Frobenius norm"),
    (NotImplementedError, lambda x: x.at[np.array([1, 2]), 1:].set(0), r".at\[...\].set takes integers and slices, or tensors"),
    (ValueError, lambda x: weft.lax.top_k(x, 9), "k must be from 1 to 8"),
    (ValueError, lambda x: weft.lax.sort((x, x), num_keys=3), "1 to all of them as keys"),
    (ValueError, lambda x: weft.random.normal(x), "expected a key"),
    (ValueError, lambda x: weft.random.normal(weft.random.split(weft.random.key(0))), r"as in keys\[0\]"),
    (TypeError, lambda x: weft.random.normal(weft.random.key(0), (2,), int), "normal makes floats"),
    (AttributeError, lambda x: wnp.unique(x), "weft.numpy has no unique; docs/Python.md lists"),
    (AttributeError, lambda x: wnp.no_such, "has no attribute 'no_such'"),
    (AttributeError, lambda x: weft.lax.while_loop, "weft.lax has no while_loop; a trip count"),
    (AttributeError, lambda x: nn.tanh_shrink, "weft.nn has no tanh_shrink; docs/Python.md lists"),
    (AttributeError, lambda x: nn.initializers.orthogonal, "weft.nn.initializers has no orthogonal; docs/Python.md"),
    (ValueError, lambda x: nn.initializers.variance_scaling(1.0, "fan", "normal"), "takes a mode of fan_in, .* got 'fan'"),
    (ValueError, lambda x: nn.initializers.he_normal()(weft.random.key(0), (4,)), r"at least 2 dimensions, .* \(4,\)"),
    (ValueError, lambda x: weft.lax.switch(0, []), "switch takes at least one function"),
    (TypeError, lambda x: weft.lax.switch(x, [abs]), r"an index that is one integer, got Tracer\(float32"),
])
def test_what_is_refused(kind, f, message):
    text = fails(kind, message, f)
    if kind is not AttributeError and "dtype" not in text:
        assert text.startswith("test_tracing.py:")


@pytest.mark.parametrize("f, message", [
    (lambda x: weft.grad(lambda y: y * 2)(x), r"must return a scalar of floats, got Tracer\(float32\[4,8\]\)"),
    (lambda x: weft.grad(lambda y: (y.sum(), 1))(x), "with has_aux=True it may return a pair"),
    (lambda x: weft.grad(lambda y: y.sum(), has_aux=True)(x), r"must return a pair \(loss, aux\)"),
    (lambda x: weft.grad(lambda y: y.sum())(x.astype(int)), "grad takes floats to differentiate by"),
    (lambda x: weft.grad(lambda y: y.sum().astype(int))(x), "must return a scalar of floats"),
    (lambda x: weft.grad(lambda y: y.sum(), argnums=1)(x), "argnums names argument 1 of a call with 1"),
])
def test_gradients_that_are_refused(f, message):
    assert fails((TypeError, ValueError), message, f).startswith("test_tracing.py:")


def test_a_tensor_does_not_leave_its_function():
    kept = []

    def loss(x):
        kept.append(x * 2)
        return x.sum()

    def f(x):
        weft.grad(loss)(x)
        return kept[0] + 1

    text = fails(tracing.UnexpectedTracerError, "was made in a function whose tracing is over", f)
    assert text.startswith(f"test_tracing.py:{here(-3)}: ")


@pytest.mark.parametrize("function", [
    lambda x: np.sin(x), lambda x: np.add(x, 1), lambda x: np.concatenate([x, x]),
    lambda x: np.where(x > 0, x, 0), lambda x: np.add.reduce(x)], ids=["sin", "add", "concatenate", "where", "reduce"])
def test_functions_of_numpy_name_the_line_and_the_remedy(function):
    text = fails(weft.ConcretizationTypeError, "use the function of weft.numpy instead", function)
    assert text.startswith(f"test_tracing.py:{function.__code__.co_firstlineno}: ")


def test_methods_that_functions_of_numpy_call():
    program = trace(lambda x: (np.sum(x), np.mean(x, axis=0), np.max(x), np.reshape(x, -1), np.ones(3) * x[0]),
                    (np.ones((2, 3)),))
    assert [spec.shape for _, spec in program.outputs] == [(), (3,), (), (6,), (3,)]
    fails(NotImplementedError, "sum of a traced tensor makes a new one, and has no out=",
          lambda x: x.sum(out=np.zeros(())))


def test_tensors_do_not_change():
    def assign(x):
        x[0] = 1

    def add(x):
        x[0] += 1

    def delete(x):
        del x[0]

    for f, text in ((assign, "x.at"), (add, "x.at"), (delete, "weft.numpy.concatenate")):
        message = fails(TypeError, "a tensor cannot be changed", f)
        assert message.startswith(f"test_tracing.py:{f.__code__.co_firstlineno + 1}: ") and text in message


def test_diagonals_that_there_are():
    fails(ValueError, "diag: .* has no diagonal 9", lambda x: wnp.diag(wnp.zeros((3, 4)), 9))


def test_a_tensor_does_not_leave_its_trace():
    kept = []
    trace(lambda x: kept.append(x + 1) or 0, (X,))
    fails(tracing.UnexpectedTracerError, "return it from that function", lambda x: kept[0])


def test_results_and_arguments_that_are_no_tensors():
    fails(TypeError, r"out\['a'\] of the traced function must be a tensor or a number, got 'text'",
          lambda x: {"a": "text"})
    with pytest.raises(TypeError, match="argument x.*static_argnums"):
        trace(lambda x: x, ("text",), arg_names=["x"])
    with pytest.raises(TypeError, match="argument x: dtype uint8 is not supported"):
        trace(lambda x: x, (np.zeros(3, np.uint8),), arg_names=["x"])


def test_specs_that_do_not_fit():
    with pytest.raises(weft.SpecError, match="in_shardings.*cannot be sharded as written"):
        trace(lambda x: x, (ShapeDtypeStruct((3,), "float32"),), mesh=MESH, in_shardings=P("rows"))
    with pytest.raises(weft.SpecError, match="out_shardings"):
        trace(lambda x: x[:3], (X,), mesh=MESH, out_shardings=P("rows"))
    with pytest.raises(weft.SpecError, match="with_sharding_constraint"):
        trace(lambda x: weft.with_sharding_constraint(x[:3], P("rows")), (X,), mesh=MESH)


def test_numpy_is_all_that_is_needed():
    """bfloat16 too: only arrays of it want ml_dtypes."""
    program = """
import sys
for name in ("ml_dtypes", "jax", "weft._compiler", "weft._runtime"):
    sys.modules[name] = None
import numpy as np, weft, weft.numpy as wnp
from weft.tracing import trace
x = weft.ShapeDtypeStruct((4,), "float32")
text = trace(lambda x: (x.astype(wnp.bfloat16) * wnp.finfo("bfloat16").max).sum().astype(float), (x,)).text
assert "tensor<4xbf16>" in text and "arith.truncf" in text
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
