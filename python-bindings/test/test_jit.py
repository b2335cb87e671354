# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.jit`: what is traced once, what is compiled anew, and how arguments are named."""

import numpy as np
import pytest

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft  # noqa: E402
import weft.numpy as wnp  # noqa: E402
from weft import P, ShapeDtypeStruct  # noqa: E402

MESH = weft.Mesh((2, 2), ("data", "model"))


def mlp(params, x):
    return wnp.tanh(x @ params["w1"]) @ params["w2"]


def descend(params, x, rate):
    y = mlp(params, x)
    return {"w1": params["w1"] - rate * wnp.sum(y), "w2": params["w2"]}, wnp.sum(y)


def float32(*shape):
    return ShapeDtypeStruct(shape, "float32")


SPECS = ({"w1": P(None, "model"), "w2": P("model", None)}, P("data"))
SHAPES = ({"w1": float32(16, 32), "w2": float32(32, 16)}, float32(8, 16))


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    return weft.tree.map(lambda s: rng.normal(size=s.shape).astype(s.dtype), SHAPES)


def reference(params, x):
    return np.tanh(x @ params["w1"]) @ params["w2"]


def test_the_stages():
    step = weft.jit(mlp, mesh=MESH, in_shardings=SPECS)
    assert step.__name__ == "mlp"
    lowered = step.lower(*SHAPES)
    assert isinstance(lowered, weft.Lowered)
    assert "weft.dot_general" in lowered.as_text()
    compiled = lowered.compile()
    params, x = arrays()
    np.testing.assert_allclose(compiled(params, x), reference(params, x), rtol=1e-5, atol=1e-5)
    assert compiled.input_shardings["params['w1']"].spec == P(None, "model")


def test_collectives_name_the_lines_of_this_file():
    compiled = weft.jit(mlp, mesh=MESH, in_shardings=SPECS).lower(*SHAPES).compile(None)
    (reduction,) = compiled.collectives()
    assert (reduction.kind, reduction.axes) == ("all_reduce", ("model",))
    assert reduction.file == "test_jit.py"
    assert reduction.line == mlp.__code__.co_firstlineno + 1


def test_calls_compile_once_for_each_signature():
    traced = []

    @weft.jit(mesh=MESH)
    def f(x):
        traced.append(x.shape)
        return x * 2

    for size in (4, 4, 8, 4):
        np.testing.assert_array_equal(f(np.ones(size, np.float32)), 2 * np.ones(size))
    assert traced == [(4,), (8,)]
    f(np.ones(4, np.int32))
    assert traced == [(4,), (8,), (4,)]
    f.clear_cache()
    f(np.ones(4, np.float32))
    assert len(traced) == 4


def test_without_a_mesh_there_is_one_rank():
    compiled = weft.jit(mlp).lower(*SHAPES).compile()
    params, x = arrays()
    assert compiled.plan.ranks == 1
    np.testing.assert_allclose(compiled(params, x), reference(params, x), rtol=1e-5, atol=1e-5)


def test_donation_keeps_the_argument_in_its_place():
    step = weft.jit(descend, mesh=MESH, in_shardings=(*SPECS, None), donate_argnums=0)
    params, x = arrays()
    compiled = step.lower(params, x, 0.5).compile()
    assert compiled.donated == ("params['w1']", "params['w2']")
    assert compiled.memory().states == (16 * 32 + 32 * 16) * 4 // 2
    new, total = compiled(params, x, 0.5)
    expected = reference(params, x).sum()
    np.testing.assert_allclose(total, expected, rtol=1e-4)
    np.testing.assert_allclose(new["w1"], params["w1"] - 0.5 * expected, rtol=1e-4)
    by_name = weft.jit(descend, mesh=MESH, donate_argnames="params").lower(params, x, 0.5)
    assert by_name.compile(None).donated == compiled.donated


def test_static_arguments():
    @weft.jit(static_argnums=(0, 2))
    def power(function, x, count):
        for _ in range(count):
            x = function(x)
        return x

    x = np.full(4, 0.5, np.float32)
    np.testing.assert_allclose(power(wnp.tanh, x, 2), np.tanh(np.tanh(x)), rtol=1e-6)
    np.testing.assert_allclose(power(wnp.tanh, x, 1), np.tanh(x), rtol=1e-6)
    lowered = power.lower(wnp.tanh, x, 3)
    np.testing.assert_allclose(lowered.compile()(x), np.tanh(np.tanh(np.tanh(x))), rtol=1e-6)
    with pytest.raises(TypeError, match="static argument count must be hashable, got list"):
        power(wnp.tanh, x, [1])
    named = weft.jit(lambda x, shift: x + shift, static_argnames="shift")
    np.testing.assert_array_equal(named(x, shift=2.0), x + 2)


def test_arguments_by_name_and_many_of_them():
    @weft.jit
    def f(a, b):
        return a - b

    a, b = np.ones(2, np.float32), np.zeros(2, np.float32)
    np.testing.assert_array_equal(f(b=b, a=a), a - b)

    @weft.jit
    def total(first, *rest):
        return first + sum(rest)

    compiled = total.lower(a, a, a).compile()
    assert list(compiled.input_shardings) == ["first", "rest[0]", "rest[1]"]
    np.testing.assert_array_equal(compiled(a, a, a), 3 * a)

    @weft.jit
    def keyword(a, *, b):
        return a

    with pytest.raises(TypeError, match="keyword: arguments must be positional, got b by name"):
        keyword(a, b=b)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"donate_argnums": 3}, "donate_argnums: mlp has 2 arguments, got 3"),
        ({"static_argnames": "y"}, "static_argnames: mlp has no argument y; its arguments are params, x"),
        ({"static_argnums": 1, "donate_argnums": -1}, "cannot be both static and donated: x"),
    ],
)
def test_options_that_are_wrong(options, text):
    with pytest.raises(ValueError) as raised:
        weft.jit(mlp, **options)
    assert text in str(raised.value)


def test_only_functions_are_jitted():
    with pytest.raises(TypeError, match="jit needs a function, got 3"):
        weft.jit(3)


def test_shardings_that_do_not_fit_name_the_parameter():
    wrong = ({"w1": P(None, "rows"), "w2": P("model")}, P("data"))
    with pytest.raises(weft.SpecError, match=r"params\['w1'\]"):
        weft.jit(mlp, mesh=MESH, in_shardings=wrong).lower(*SHAPES)


def test_results_are_trees_with_constants():
    @weft.jit
    def f(x):
        return {"twice": x * 2, "three": 3.0, "pair": (x, None)}

    result = f(np.ones(2, np.float32))
    np.testing.assert_array_equal(result["twice"], [2, 2])
    assert result["three"] == 3.0
    assert result["pair"][1] is None


def test_saved_and_loaded(tmp_path):
    params, x = arrays()
    compiled = weft.jit(descend, mesh=MESH, in_shardings=(*SPECS, None)).lower(params, x, 0.5).compile()
    compiled.save(tmp_path / "step.plan")
    expected, total = compiled(params, x, 0.5)
    new, loaded_total = weft.load(tmp_path / "step.plan")(params, x, 0.5)
    np.testing.assert_array_equal(new["w1"], expected["w1"])
    assert total == loaded_total


def test_bfloat16():
    dtype = ShapeDtypeStruct((), "bfloat16").dtype
    x = np.array([1.5, -2.25, 0.125, 3], dtype)
    result = weft.jit(lambda x: x * 2, mesh=MESH, in_shardings=(P("data"),))(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x * 2)


def test_a_jitted_function_is_part_of_one_that_calls_it():
    @weft.jit
    def double(x):
        return x * 2

    outer = weft.jit(lambda x, n: double(x) + double(n))
    np.testing.assert_array_equal(outer(np.ones(3, np.float32), 4), np.full(3, 10))
    sharded = weft.jit(lambda x: x, mesh=MESH, in_shardings=P("data"))
    with pytest.raises(NotImplementedError, match="use with_sharding_constraint instead"):
        weft.jit(lambda x: sharded(x))(np.ones(4, np.float32))
