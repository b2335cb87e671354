# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.jit`: what is traced once, what is compiled anew, and how arguments are named."""

import collections
import copy
import dataclasses
import functools
import pickle

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


def test_arguments_that_have_a_name_only():
    traced = []

    @weft.jit(static_argnames="mode", mesh=MESH, in_shardings=(P("data"), P(None, "model")))
    def f(x, *, shift, mode="plus", **rest):
        traced.append(mode)
        return (x + shift if mode == "plus" else x - shift), rest

    x, one = np.ones((2, 2), np.float32), np.full((2, 2), 1, np.float32)
    np.testing.assert_array_equal(f(x, shift=one)[0], x + 1)
    np.testing.assert_array_equal(f(x, mode="minus", shift=one)[0], x - 1)
    np.testing.assert_array_equal(f(shift=2 * one, x=x)[0], x + 2)
    assert traced == ["plus", "minus"]
    both = f.lower(x, shift=one)
    assert both.compile(None).input_shardings["shift"].spec == P(None, "model")
    with pytest.raises(TypeError, match="f: missing a required argument: 'shift'"):
        f(x)
    extra = weft.jit(lambda x, **rest: rest)(x, b=one, a=x)
    assert extra.keys() == {"a", "b"} and extra["b"][0, 0] == 1
    donated = weft.jit(lambda *, w: w + 1, donate_argnames="w").lower(w=x).compile(None)
    assert donated.donated == ("w",)


def test_compiled_functions_take_arguments_by_name(tmp_path):
    compiled = weft.jit(lambda a, b, n: a - b, static_argnums=2).lower(*[np.ones(2, np.float32)] * 2, 3).compile()
    a, b = np.full(2, 5, np.float32), np.ones(2, np.float32)
    compiled.save(tmp_path / "f.plan")
    for f in (compiled, weft.load(tmp_path / "f.plan")):
        for result in (f(a, b), f(a, b=b), f(b=b, a=a), f.call_sharded(a, b=b)[0]):
            np.testing.assert_array_equal(result, a - b)
        for args, kwargs, text in (
            ((a,), {"c": b}, "takes 2 arguments (a, b); missing: b; not expected: c"),
            ((a, b), {"a": a}, "takes 2 arguments (a, b); given twice: a"),
            ((a, b, b), {}, "takes 2 arguments (a, b), got 3"),
        ):
            with pytest.raises(TypeError) as raised:
                f(*args, **kwargs)
            assert str(raised.value) == text


def test_donations_that_no_result_can_use_are_named():
    x = float32(4, 8)

    def lowered(f, **options):
        with pytest.warns(weft.CompilerWarning) as raised:
            compiled = weft.jit(f, mesh=MESH, donate_argnums=0, **options).lower(x).compile(None)
        assert raised[0].filename == __file__ and compiled.donated == ()
        return str(raised[0].message), compiled

    text, compiled = lowered(lambda x: x * 2, in_shardings=(P("data"),), out_shardings=P("model"))
    assert text == (
        "donated argument x is not used: it is sharded as P('data',), and out, which could replace "
        "it, as P('model',); give both one sharding, or do not donate it"
    )
    assert compiled.output_shardings.spec == P("model")
    text, _ = lowered(lambda x: wnp.sum(x))
    assert text == (
        "donated argument x is not used: no result has its type, float32[4, 8], and could replace "
        "it; do not donate it"
    )


def test_a_donated_argument_becomes_the_result_that_is_sharded_like_it():
    f = weft.jit(lambda x: (x + 1, x + 2), mesh=MESH, in_shardings=(P("data"),),
                 out_shardings=(P("model"), P("data", None)), donate_argnums=0)
    compiled = f.lower(float32(4, 8)).compile()
    assert compiled.donated == ("x",)
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    one, two = compiled(x)
    np.testing.assert_array_equal(one, x + 1)
    np.testing.assert_array_equal(two, x + 2)


@pytest.mark.parametrize("mesh", [
    MESH,
    weft.Mesh([[3, 1], [2, 0]], ("data", "model"), (weft.AxisType.Explicit, weft.AxisType.Auto)),
    weft.AbstractMesh((2, 2), ("data", "model")),
], ids=["auto", "devices", "abstract"])
def test_shardings_come_back_on_the_mesh_they_were_given_on(mesh, tmp_path):
    given = weft.NamedSharding(mesh, P("data"))
    compiled = weft.jit(lambda x: x * 2, mesh=mesh, in_shardings=given, out_shardings=given).lower(float32(4, 8)).compile(None)
    compiled.save(tmp_path / "f.plan")
    for program in (compiled, weft.load(tmp_path / "f.plan")):
        assert program.input_shardings == {"x": given}
        assert program.output_shardings == given
        assert program.output_shardings.is_equivalent_to(given, 2)


def test_terms_of_a_sum_come_back_on_explicit_axes():
    explicit = weft.Mesh((2, 2), ("data", "model"), (weft.AxisType.Explicit,) * 2)
    terms = P(unreduced={"model"})
    f = weft.jit(lambda x, w: x @ w, mesh=explicit, in_shardings=(P(None, "model"), P("model")), out_shardings=terms)
    compiled = f.lower(float32(4, 8), float32(8, 4)).compile(None)
    assert compiled.output_shardings == weft.NamedSharding(explicit, terms)


def test_a_list_of_shardings_is_one_for_each_argument():
    f = weft.jit(lambda x, y: x + y, mesh=MESH, in_shardings=[P("data"), None])
    assert f.lower(float32(4), float32(4)).compile(None).input_shardings["x"].spec == P("data")


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


@pytest.mark.parametrize(
    "options, text",
    [
        ({"donate_argnums": "x"},
         "donate_argnums must be an integer or several, got 'x' of type str; names go in donate_argnames"),
        ({"static_argnums": [None]}, "static_argnums must be an integer or several, got [None] of type list"),
        ({"donate_argnames": 3}, "donate_argnames must be a string or several, got 3 of type int"),
        ({"mesh": (2, 2)}, "mesh must be a weft.Mesh or weft.AbstractMesh, got (2, 2) of type tuple"),
    ],
)
def test_options_of_other_types(options, text):
    with pytest.raises(TypeError) as raised:
        weft.jit(mlp, **options)
    assert str(raised.value) == text


def test_targets_are_strings():
    with pytest.raises(TypeError, match='target must be a string, as "cpu", or None .* got 7 of type int'):
        weft.jit(mlp).lower(*SHAPES).compile(7)


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


def test_float16_has_the_bits_of_numpy():
    """Each op rounds once, to infinity beyond 65504 and to multiples of 2^-24 below 2^-14."""
    def ops(xp, x, y):
        return [x + y, x - y, x * y, x / y, xp.sqrt(abs(x)), -x, x * xp.float16(1e-3),
                xp.floor(x), (x < y).astype(xp.float16)]

    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 16, (2, 4096)).astype(np.uint16)
    x, y = bits.view(np.float16)
    special = np.float16([np.inf, -np.inf, 65504, -65504, 6e-8, 0, -0.0, 300])
    x[:64], y[:64] = np.repeat(special, 8), np.tile(special, 8)
    results = weft.jit(lambda x, y: ops(wnp, x, y), mesh=MESH, in_shardings=(P("data"), P("data")))(x, y)
    with np.errstate(all="ignore"):
        for result, expected in zip(results, ops(np, x, y), strict=True):
            assert result.dtype == np.float16
            np.testing.assert_array_equal(result, expected)
            known = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("spec", [P(), P("data"), P(None, "data")])
def test_sums_of_float16_are_formed_in_float32(spec):
    """2048 + 1 is 2048 in float16, and 8 times 10000 squared infinite."""
    x = np.ones((8, 512), np.float16)
    x[:, 0] = [2048, 1, 1, 1, 1, 1, 1, 1]
    x[:4, 1], x[4:, 1] = 10000, -10000
    columns, total, product = weft.jit(
        lambda x: (x.sum(0), x.sum(dtype="float32"), x.T @ x), mesh=MESH, in_shardings=(spec,))(x)
    np.testing.assert_array_equal(columns[:3], np.float16([2056, 0, 8]))  # 2055 is none of them
    assert total == 2055 + 510 * 8
    wide = x.astype(np.float32)
    with np.errstate(over="ignore"):
        expected = (wide.T @ wide).astype(np.float16)
    assert np.isinf(expected[1, 1])
    np.testing.assert_allclose(product, expected, rtol=1e-3)


def test_a_jitted_function_is_part_of_one_that_calls_it():
    @weft.jit
    def double(x):
        return x * 2

    outer = weft.jit(lambda x, n: double(x) + double(n))
    np.testing.assert_array_equal(outer(np.ones(3, np.float32), 4), np.full(3, 10))


def test_shardings_of_a_nested_jit_are_constraints():
    @functools.partial(weft.jit, mesh=MESH, in_shardings=(P("data"), None), out_shardings=P(None, "model"))
    def inner(x, n):
        return x * n

    x = np.ones((4, 4), np.float32)
    outer = weft.jit(lambda x: inner(x + 1, 3) + 1)
    lowered = outer.lower(x)
    assert lowered.as_text().count("weft.constraint") == 2
    compiled = lowered.compile()
    assert compiled.plan.ranks == 4
    np.testing.assert_array_equal(compiled(x), np.full((4, 4), 7))
    np.testing.assert_array_equal(
        weft.jit(weft.grad(lambda x: inner(x, 2.0).sum()))(x), np.full((4, 4), 2))
    assert weft.eval_shape(inner, x, 2).shape == (4, 4)
    with pytest.raises(weft.SpecError, match="in_shardings of inner.*\n.*x: float32.*\n.*rank|dimension"):
        outer.lower(np.ones(4, "f4"))
    other = weft.jit(lambda x: inner(x, 1), mesh=weft.Mesh((4,), ("all",)))
    with pytest.raises(weft.SpecError, match="in_shardings of inner"):
        other.lower(x)


class Model:
    def __init__(self, scale):
        self.scale = scale

    @functools.partial(weft.jit, static_argnums=0)
    def __call__(self, x, n=1):
        return x * self.scale * n

    @weft.jit
    def without_static(self, x):
        return x


def test_methods():
    model, other = Model(2), Model(3)
    np.testing.assert_array_equal(model(ONES), 2 * ONES)
    np.testing.assert_array_equal(other(ONES, n=2), 6 * ONES)
    np.testing.assert_array_equal(Model.__call__(model, ONES), 2 * ONES)
    bound = model.__call__
    assert bound.__self__ is model and bound.__name__ == "__call__"
    np.testing.assert_array_equal(bound.lower(ONES).compile()(ONES), 2 * ONES)
    with pytest.raises(TypeError, match="argument self must be an array.*static_argnums"):
        model.without_static(ONES)

    @dataclasses.dataclass
    class Weights:  # a tree: what it holds are arguments
        w: object

        @weft.jit
        def apply(self, x):
            return self.w * x

    np.testing.assert_array_equal(Weights(2 * ONES).apply(ONES), 2 * ONES)
    np.testing.assert_array_equal(Weights(3 * ONES).apply(ONES), 3 * ONES)


def test_trees_that_cannot_be_arguments():
    step = weft.jit(lambda tree: weft.tree.leaves(tree)[0])
    with pytest.raises(ValueError, match=r"the dict at tree\[0\]\['a'\] cannot be sorted"):
        step([{"a": {"x": ONES, 1: ONES}}])
    deep = ONES
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(RecursionError, match="nested more than 1000 levels deep, or contains itself"):
        step(deep)
    with pytest.raises(RecursionError, match="nested more than"):
        weft.tree.map(lambda x: x, deep, deep)
    shallow = ONES
    for _ in range(900):
        shallow = [shallow]
    np.testing.assert_array_equal(step(shallow), ONES)
    mixed = weft.jit(lambda x: {"x": x, 1: x})
    with pytest.raises(ValueError, match="the dict at out cannot be sorted"):
        mixed(ONES)


def test_representations():
    def step(x):
        return x

    assert repr(weft.jit(step)) == "weft.jit(step)"
    assert repr(weft.jit(step, mesh=MESH)) == f"weft.jit(step, mesh={MESH!r})"
    assert repr(weft.jit(step).lower(ONES)) == "Lowered(step.mlir)"
    assert "Lowered(step.mlir on " in repr(weft.jit(step, mesh=MESH, in_shardings=P()).lower(ONES))


@weft.jit
def decorated(x):
    return x + 1


def plain(x):
    return x + 2


def test_pickles_and_copies():
    compiled = weft.jit(lambda d, x: (Scaled(d.a + x, d.n), x), mesh=MESH, in_shardings=(None, P()))
    compiled = compiled.lower(Scaled(ONES, 2), ONES).compile()
    compiled(Scaled(ONES, 2), ONES)
    for again in (pickle.loads(pickle.dumps(compiled)), copy.deepcopy(compiled), copy.copy(compiled)):
        result, _ = again(Scaled(ONES, 2), ONES)
        assert type(result) is Scaled and result.n == 2
        np.testing.assert_array_equal(result.a, 2 * ONES)
        assert again.input_shardings == compiled.input_shardings
        assert again.as_text("graph") == compiled.as_text("graph")
        with pytest.raises(TypeError, match="d.n: expected 2, got 3"):
            again(Scaled(ONES, 3), ONES)
        assert again.plan == compiled.plan and hash(again.plan) == hash(compiled.plan)
    lowered = weft.jit(plain).lower(ONES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(lowered)).compile()(ONES), 3 * ONES)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(weft.jit(plain)))(ONES), 3 * ONES)
    with pytest.raises(TypeError, match="a Session cannot be pickled or copied"):
        pickle.dumps(compiled.session())


def test_values_are_equal_after_pickling():
    rules = weft.rules([("w.*", P("model")), (".*", P())])
    layout = weft.Layout(MESH, rest=rules, compute={"w": P()}, activations={"h": P("data")})
    structure = weft.tree.structure({"a": [Scaled(1, 2)], "b": (None, 3)})
    shape = ShapeDtypeStruct((4,), "float32", sharding=weft.NamedSharding(MESH, P("data")))
    for value in (rules, layout, structure, shape, shape.sharding, MESH, P("data"),
                  weft.checkpoint_policies.dots_saveable):
        for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
            assert again == value and hash(again) == hash(value) and repr(again) == repr(value)
    assert rules != weft.rules([(".*", P())]) and layout != weft.Layout(MESH, rest=rules)


def test_errors_can_be_pickled(tmp_path):
    with pytest.raises(weft.CompileError) as refused:
        weft.lowered.Lowered(weft.lowered.Source("func.func @f(", "f.mlir"), None).as_text("graph")
    with pytest.raises(FileNotFoundError) as missing:
        weft.load(tmp_path / "none.plan")
    assert missing.value.code == "not_found" and missing.value.filename == str(tmp_path / "none.plan")
    with pytest.raises(weft.SpecError) as spec:
        weft.jit(plain, mesh=MESH, in_shardings=P(None, "data")).lower(ONES)
    for error in (refused.value, missing.value, spec.value):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)



def test_arrays_of_another_byte_order():
    big = np.arange(4, dtype=">f4")
    double = weft.jit(lambda x: x * 2 + big)
    np.testing.assert_array_equal(double(big), 3 * np.arange(4))
    compiled = double.lower(ShapeDtypeStruct((4,), ">f4")).compile()
    np.testing.assert_array_equal(compiled(big), 3 * np.arange(4))


def test_a_plan_is_saved_where_there_is_a_folder(tmp_path):
    path = tmp_path / "missing" / "f.plan"
    with pytest.raises(FileNotFoundError) as raised:
        weft.jit(lambda x: x).lower(float32(2)).compile(None).save(path)
    assert str(raised.value) == f"[Errno 2] No such file or directory: '{path}'"


def test_names_with_characters_of_command_lines_and_files(tmp_path):
    keys = ["a=b", "a_b", "a/b", "a\nb", 'a"b', "a'b", "100%", "a%3Db", "__metadata__", ""]
    values = {key: np.full((2, 2), i, np.float32) for i, key in enumerate(keys)}

    @weft.jit(mesh=MESH, in_shardings=P(None, "model"), donate_argnums=0)
    def f(d, __metadata__):
        return {key: value + 1 for key, value in d.items()}, d["a=b"] @ __metadata__

    compiled = f.lower(values, values["a=b"]).compile()
    paths = {f"d[{key!r}]" for key in keys}
    assert set(compiled.input_shardings) == paths | {"__metadata__"}
    assert set(compiled.donated) == paths
    (gathered,) = [c for c in compiled.collectives() if "d['a=b']" in c.cause]
    assert "%3D" not in gathered.cause
    compiled.save(tmp_path / "f.plan")
    for program in (compiled, weft.load(tmp_path / "f.plan")):
        result, _ = program(values, values["a=b"])
        for key in keys:
            np.testing.assert_array_equal(result[key], values[key] + 1)
    session = compiled.session()
    for path, value in weft.tree.flatten_with_paths(values, "d")[0]:
        session.set_input("f", path, value)
    assert session.unset_inputs("f") == ["__metadata__"]
    np.testing.assert_array_equal(session.state("d['a=b']"), values["a=b"])


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\\b", "a:b"])
def test_names_of_axes_that_reports_could_not_write(name):
    with pytest.raises(ValueError, match="axis names must be strings without ':', quotes, backslashes and line breaks"):
        weft.Mesh((2,), name)


@pytest.mark.parametrize("name", ["a=b", "a/b", "a b", "a,b", "\u00e9"])
def test_other_names_of_axes(name):
    mesh = weft.Mesh((2, 2), (name, "m"))
    compiled = weft.jit(lambda x: x @ x.T, mesh=mesh, in_shardings=P(None, name)).lower(float32(4, 8)).compile(None)
    assert compiled.input_shardings["x"] == weft.NamedSharding(mesh, P(None, name))
    assert [c.axes for c in compiled.collectives()] == [(name,)]


@dataclasses.dataclass
class Scaled:
    a: object
    n: object = dataclasses.field(default=1, metadata={"static": True})


def scaled_twin():
    """Another class of the same name and fields."""

    @dataclasses.dataclass
    class Scaled:
        a: object
        n: object = dataclasses.field(default=1, metadata={"static": True})

    return Scaled


ONES = np.ones(3, "f4")


def test_static_fields_are_part_of_the_signature():
    step = weft.jit(lambda d: d.a * d.n)
    for n in (2, 3, 2, -0.0, 0.0):
        np.testing.assert_array_equal(step(Scaled(ONES, n)), ONES * n)
        assert np.signbit(step(Scaled(ONES, n))[0]) == np.signbit(n)
    counts = np.ones(3, "i4")
    # Equal in Python, but programs of other types.
    assert [step(Scaled(counts, n)).dtype.name for n in (2, 2.0)] == ["int32", "float32"]
    grow = weft.jit(lambda d: Scaled(d.a + d.n, d.n))
    assert [grow(Scaled(ONES, n)).n for n in (2, 3, 2)] == [2, 3, 2]


def test_static_arguments_are_told_apart_by_type_and_sign():
    step = weft.jit(lambda x, pair: x * pair[0], static_argnums=1)
    counts = np.ones(3, "i4")
    assert [step(counts, (n,)).dtype.name for n in (2, 2.0)] == ["int32", "float32"]
    assert [bool(np.signbit(step(ONES, (n,))[0])) for n in (0.0, -0.0)] == [False, True]


def test_containers_come_back_as_they_were_passed():
    same = weft.jit(lambda tree: tree)
    for kind in (dict, collections.OrderedDict):
        assert type(same(kind(a=ONES, b=ONES))) is kind
    assert list(same(collections.OrderedDict(b=ONES, a=ONES))) == ["b", "a"]
    for kind in (Scaled, scaled_twin(), scaled_twin()):
        assert type(same(kind(ONES))) is kind
    for kind in (collections.namedtuple("Pair", "a b"), collections.namedtuple("Pair", "a b")):
        assert type(same(kind(ONES, ONES))) is kind


@pytest.mark.parametrize(
    "lowered, called, text",
    [
        (Scaled(ONES, 2), Scaled(ONES, 3), "d.n: expected 2, got 3"),
        ([Scaled(ONES, 2)], [Scaled(ONES, 2.0)],
         "d[0].n: expected 2 of type int, got 2.0 of type float"),
        ({"a": ONES}, collections.OrderedDict(a=ONES),
         "d: expected a dict with the keys 'a', got a OrderedDict with the keys 'a'"),
        ([ONES], (ONES,), "d: expected a list of length 1, got a tuple of length 1"),
        ([ONES, None], [ONES, []], "d[1]: expected None, got a list of length 0"),
        (collections.OrderedDict(a=ONES, b=ONES), collections.OrderedDict(b=ONES, a=ONES),
         "d: expected a OrderedDict with the keys 'a', 'b', got a OrderedDict with the keys 'b', 'a'"),
        (Scaled(ONES), scaled_twin()(ONES),
         "d: expected a test_jit.Scaled, got a test_jit.scaled_twin.<locals>.Scaled"),
        (scaled_twin()(ONES), scaled_twin()(ONES),
         "d: expected a test_jit.scaled_twin.<locals>.Scaled, got another class of that name"),
    ],
)
def test_a_compiled_function_checks_the_whole_structure(lowered, called, text):
    compiled = weft.jit(lambda d: weft.tree.leaves(d)[0] * 2).lower(lowered).compile()
    compiled(lowered)
    with pytest.raises(TypeError) as raised:
        compiled(called)
    assert str(raised.value) == (
        f"the arguments have another structure than what was compiled; {text}")


def test_a_loaded_function_checks_static_fields(tmp_path):
    step = weft.jit(lambda d: Scaled(d.a * d.n, d.n)).lower(Scaled(ONES, 2)).compile()
    step.save(tmp_path / "step.plan")
    loaded = weft.load(tmp_path / "step.plan")
    result = loaded(Scaled(ONES, 2))
    np.testing.assert_array_equal(result.a, ONES * 2)
    # What it returned may be passed, although it is a named tuple.
    np.testing.assert_array_equal(loaded(result).a, ONES * 4)
    with pytest.raises(TypeError, match="d.n: expected 2, got 3"):
        loaded(Scaled(ONES, 3))


@pytest.mark.parametrize("n", [[2], np.ones(2)])
def test_static_fields_must_be_hashable(n):
    step = weft.jit(lambda d: d["x"].a)
    text = rf"static field d\['x'\].n must be hashable, got {type(n).__name__}"
    with pytest.raises(TypeError, match=text):
        step({"x": Scaled(ONES, n)})
    with pytest.raises(TypeError, match=text):
        step.lower({"x": Scaled(ONES, n)})


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array(ONES, [True, False, False])
    step = weft.jit(lambda x: x + 1)
    compiled = step.lower(ONES).compile()
    session = compiled.session()
    constant = weft.jit(lambda x: x + masked)
    stacked = weft.jit(lambda x: x + wnp.array([masked, masked]))
    index = np.ma.masked_array([0, 1], [True, False])
    calls = [(lambda: step(masked), "argument x: "), (lambda: step.lower(masked), "argument x: "),
             (lambda: compiled(masked), "x: "), (lambda: constant(ONES), "test_jit.py:"),
             (lambda: compiled(weft.Shards([masked])), "x: "),
             (lambda: stacked(ONES), "test_jit.py:"),
             (lambda: weft.jit(lambda x: x[index])(ONES), "test_jit.py:"),
             (lambda: session.set_input(compiled.entry.name, "x", masked), "x: ")]
    for call, where in calls:
        with pytest.raises(ValueError, match=f"^{where}.*a masked array would lose its mask"):
            call()


def test_constants_that_would_wrap_around():
    with pytest.raises(OverflowError, match="1099511627776 is out of bounds for int32"):
        weft.jit(lambda x: x + np.array([1, 2**40, 3]))(ONES)


def test_scans_of_no_step():
    assert weft.jit(lambda x: weft.lax.scan(lambda c, _: (c * 2, None), x, length=0))(ONES)[1] is None
    np.testing.assert_array_equal(
        weft.jit(lambda x: weft.lax.scan(lambda c, _: (c * 2, {}), x, length=0)[0])(ONES), ONES)
    carry, outputs = weft.jit(lambda x: weft.lax.scan(lambda c, _: (c * 2, c), x, length=0))(ONES)
    np.testing.assert_array_equal(carry, ONES)
    assert outputs.shape == (0, *ONES.shape) and outputs.dtype == ONES.dtype
    with pytest.raises(ValueError, match="scan: length must be at least 0, got -1"):
        weft.jit(lambda x: weft.lax.scan(lambda c, _: (c, None), x, length=-1))(ONES)


def test_gradients_of_parameters_without_elements():
    def loss(params, x):
        return wnp.sum((x * params["w"]) ** 2) + wnp.sum(params["none"])

    params = {"none": np.zeros((0, 2), "f4"), "w": 2 * ONES}
    gradients = weft.jit(weft.grad(loss))(params, ONES)
    assert gradients["none"].shape == (0, 2)
    np.testing.assert_allclose(gradients["w"], 4 * ONES)


# For example an optional cache that is unused.
@pytest.mark.parametrize("mesh", [None, weft.Mesh((2,), ("x",))])
def test_arguments_and_results_without_elements(mesh):
    def step(state, x):
        cache = state["cache"]
        y = wnp.exp(x) + wnp.sum(cache, axis=0)
        return ({"cache": cache * 2, "w": state["w"] + 1},
                (y, wnp.concatenate([cache, x]), x @ wnp.zeros((8, 0)), cache[:, :4],
                 wnp.pad(cache, ((1, 0), (0, 0)), constant_values=2.0), x[4:]))

    x = np.random.default_rng(0).normal(size=(4, 8)).astype("f4")
    state = {"cache": np.zeros((0, 8), "f4"), "w": np.ones(4, "f4")}
    options = {}
    if mesh:
        options = {"mesh": mesh, "in_shardings": ({"cache": weft.P("x", None), "w": weft.P("x")},
                                                  weft.P("x", None))}
    compiled = weft.jit(step, donate_argnums=0, **options).lower(state, x).compile()
    for _ in range(2):
        state, outputs = compiled(state, x)
    assert state["cache"].shape == (0, 8)
    np.testing.assert_array_equal(state["w"], 3)
    for found, wanted in zip(outputs, (np.exp(x), x, np.zeros((4, 0)), np.zeros((0, 4)),
                                       np.full((1, 8), 2.0), np.zeros((0, 8)))):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2)])
def test_a_gradient_names_an_argument_once(argnums):
    with pytest.raises(ValueError, match="test_jit.py:.*argnums names argument 0 more than once"):
        weft.jit(weft.grad(lambda x, y: (x * y).sum(), argnums=argnums))(ONES, ONES)


def test_arguments_of_any_layout_and_kind():
    step = weft.jit(lambda d: weft.tree.map(lambda x: x * 2, d))
    wide = np.arange(12, dtype="f4").reshape(3, 4)
    for value in (wide.T, wide[:, ::2], wide[1:2, 1], wide.astype(">f4"), wide.astype("f8")):
        np.testing.assert_array_equal(step({"x": value})["x"], value * 2)
    first, second = step({"x": wide})["x"], step({"x": wide + 1})["x"]
    np.testing.assert_array_equal(first, wide * 2)  # not written by the next call
    assert not np.shares_memory(first, second)
    assert step({"x": 3, "y": 2.5, "z": True})["y"] == 5
