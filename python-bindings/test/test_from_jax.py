# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.from_jax`: names, meshes, donation and options, on small functions.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import collections
import dataclasses
import pickle
import typing

import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding as JaxNamed  # noqa: E402
from jax.sharding import PartitionSpec as JaxP  # noqa: E402

import weft  # noqa: E402

MESH = weft.Mesh((2, 2), ("data", "model"))
ABSTRACT = jax.sharding.AbstractMesh(
    (2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2
)


def step(params, x):
    y = jnp.tanh(x @ params["w1"]) @ params["w2"]
    loss, grads = jax.value_and_grad(
        lambda p: jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - 1) ** 2)
    )(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), {"loss": loss, "y": y}


SHAPES = {"w1": jax.ShapeDtypeStruct((8, 16), "float32"), "w2": jax.ShapeDtypeStruct((16, 8), "float32")}
X = jax.ShapeDtypeStruct((4, 8), "float32")
WEFT_SPECS = ({"w1": weft.P(None, "model"), "w2": weft.P("model")}, weft.P("data"))
JAX_SPECS = ({"w1": JaxP(None, "model"), "w2": JaxP("model")}, JaxP("data"))


def on_mesh(mesh):
    return jax.tree.map(lambda s: JaxNamed(mesh, s), JAX_SPECS, is_leaf=lambda s: isinstance(s, JaxP))


def arrays():
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: rng.normal(size=s.shape).astype(s.dtype), (SHAPES, X))


def compiled(**options):
    return weft.from_jax(step, SHAPES, X, donate_argnums=0, **options).compile()


def test_it_computes_what_jax_computes():
    program = compiled(mesh=MESH, in_shardings=WEFT_SPECS)
    params, x = arrays()
    got, expected = program(params, x), jax.jit(step)(params, x)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), got, expected)
    # Arrays of JAX are arrays too.
    again = program(jax.tree.map(jnp.asarray, params), jnp.asarray(x))
    jax.tree.map(np.testing.assert_array_equal, again, got)


@pytest.mark.parametrize(
    "options",
    [
        {"mesh": MESH, "in_shardings": JAX_SPECS},
        {"mesh": ABSTRACT, "in_shardings": WEFT_SPECS},
        {"in_shardings": on_mesh(ABSTRACT)},
        {"in_shardings": on_mesh(jax.make_mesh((2, 2), ("data", "model")))},
        {"in_shardings": jax.tree.map(lambda s: weft.NamedSharding(MESH, s), WEFT_SPECS,
                                      is_leaf=lambda s: isinstance(s, weft.P))},
    ],
    ids=["jax-specs", "jax-mesh", "abstract", "devices", "ours"],
)
def test_meshes_and_specs_of_both_packages_mean_the_same(options):
    expected = compiled(mesh=MESH, in_shardings=WEFT_SPECS)
    program = compiled(**options)
    assert specs_of(program) == specs_of(expected)
    assert program.collectives() == expected.collectives()


def specs_of(program):
    return {path: sharding.spec for path, sharding in program.input_shardings.items()}


def test_shardings_come_back_on_the_mesh_they_were_given_on():
    explicit = weft.Mesh([[1, 0], [3, 2]], ("data", "model"), (weft.AxisType.Explicit,) * 2)
    for mesh in (MESH, explicit, weft.AbstractMesh((2, 2), ("data", "model"))):
        program = compiled(mesh=mesh, in_shardings=WEFT_SPECS)
        assert program.input_shardings["x"] == weft.NamedSharding(mesh, weft.P("data"))
    theirs = jax.make_mesh((2, 2), ("data", "model"))
    program = compiled(in_shardings=on_mesh(theirs))
    assert program.input_shardings["x"].mesh == weft.make_mesh((2, 2), ("data", "model"))


def test_names_donation_and_places():
    program = compiled(mesh=MESH, in_shardings=WEFT_SPECS)
    assert list(program.input_shardings) == ["params['w1']", "params['w2']", "x"]
    assert program.input_shardings["params['w1']"].spec == weft.P(None, "model")
    assert program.donated == ("params['w1']", "params['w2']")
    assert program.output_shardings[0]["w2"].spec == weft.P("model")
    lines = range(step.__code__.co_firstlineno, step.__code__.co_firstlineno + 7)
    for record in program.collectives():
        assert record.file == "test_from_jax.py" and record.line in lines, record


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "theirs"])
def test_the_order_of_devices_is_taken(ours):
    grid = np.array(jax.devices()[:4]).reshape(2, 2).T
    mesh = jax.sharding.Mesh(grid, ("data", "model"))
    chosen = weft.Mesh([[0, 2], [1, 3]], ("data", "model")) if ours else mesh
    for options in ({"mesh": chosen, "in_shardings": WEFT_SPECS}, {"mesh": chosen},
                    {"in_shardings": on_mesh(mesh)}):
        lowered = weft.from_jax(step, SHAPES, X, **options)
        assert lowered.mesh.devices.tolist() == [[0, 2], [1, 3]]
        assert "device_ids=[0, 2, 1, 3]" in lowered.as_text()
    program = compiled(mesh=chosen, in_shardings=WEFT_SPECS)
    params, x = arrays()
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
                 program(params, x), jax.jit(step)(params, x))


def test_devices_with_other_ids_are_ranks_in_their_order():
    from weft.interop.jax import _our_mesh

    class Theirs:
        abstract_mesh, axis_names, axis_types = None, ("x",), (jax.sharding.AxisType.Auto,)
        device_ids = np.array([9, 4, 7])

    assert _our_mesh(Theirs()).devices.tolist() == [2, 0, 1]


def test_more_devices_than_jax_has():
    mesh = weft.Mesh((16, 4), ("data", "model"))
    x = weft.ShapeDtypeStruct((64, 8), "float32")
    specs = ({"w1": weft.P(None, "model"), "w2": weft.P("model")}, weft.P("data"))
    program = weft.from_jax(step, SHAPES, x, mesh=mesh, in_shardings=specs).compile(None)
    assert program.plan.ranks == 64


def test_constraints_in_the_function():
    def f(x):
        y = jax.lax.with_sharding_constraint(jnp.tanh(x), JaxP("data", None))
        return y * 2

    program = weft.from_jax(f, X, mesh=MESH).compile()
    assert program.output_shardings.spec == weft.P("data")
    x = arrays()[1]
    np.testing.assert_allclose(program(x), jnp.tanh(x) * 2, rtol=1e-6)


def test_shardings_of_arguments():
    placed = weft.ShapeDtypeStruct((4, 8), "float32", sharding=weft.NamedSharding(MESH, weft.P("data")))
    program = weft.from_jax(jnp.tanh, placed).compile(None)
    assert list(program.input_shardings.values())[0].spec == weft.P("data")
    assert program.plan.ranks == 4


def test_jitted_functions_keep_their_options():
    jitted = jax.jit(step, in_shardings=on_mesh(ABSTRACT), donate_argnums=0)
    program = weft.from_jax(jitted, SHAPES, X).compile(None)
    assert program.donated == ("params['w1']", "params['w2']")
    assert program.input_shardings["x"].spec == weft.P("data")


def test_arguments_that_are_not_used():
    def f(a, b, c):
        return a + c

    x = arrays()[1]
    for function in (f, jax.jit(f)):
        program = weft.from_jax(function, x, x, x).compile()
        np.testing.assert_array_equal(program(x, x, 2 * x), 3 * x)


def test_static_arguments_and_numbers():
    def f(x, function, scale):
        return function(x) * scale

    x = arrays()[1]
    program = weft.from_jax(f, x, jnp.tanh, 2.0, static_argnums=1).compile()
    np.testing.assert_allclose(program(x, 3.0), np.tanh(x) * 3, rtol=1e-6)
    with pytest.raises(TypeError, match=r"takes 2 arguments \(x, scale\), got 1"):
        program(x)


def test_arguments_chosen_by_name():
    def f(x, function, *, state, axis):
        return function(x, axis=axis) + state

    x = arrays()[1]
    state = np.zeros(x.shape[:1], np.float32)
    program = weft.from_jax(
        f, x, jnp.sum, state=state, axis=1,
        static_argnames=("function", "axis"), donate_argnames="state",
    ).compile()
    assert list(program.input_shardings) == ["x", "state"]
    assert program.donated == ("state",)
    np.testing.assert_allclose(program(x, state=state), x.sum(axis=1), rtol=1e-6)
    with pytest.raises(ValueError, match="static_argnames: f has no argument axes; its arguments are"):
        weft.from_jax(f, x, jnp.sum, state=state, axis=1, static_argnames="axes")


def test_many_arguments():
    program = weft.from_jax(lambda *xs: sum(xs), *[arrays()[1]] * 3).compile()
    assert list(program.input_shardings) == ["xs[0]", "xs[1]", "xs[2]"]


def test_arguments_by_name():
    def f(x, *, state, scale=2.0):
        return x * scale + state["shift"]

    x, shift = arrays()[1], np.full((4, 8), 3, np.float32)
    specs = (weft.P("data"), {"shift": weft.P(None, "model")})
    program = weft.from_jax(f, x, state={"shift": shift}, mesh=MESH, in_shardings=specs).compile()
    assert specs_of(program) == {"x": weft.P("data"), "state['shift']": weft.P(None, "model")}
    for result in (program(x, state={"shift": shift}), program(state={"shift": shift}, x=x)):
        np.testing.assert_allclose(result, x * 2 + 3, rtol=1e-6)
    with pytest.raises(TypeError, match=r"takes 2 arguments \(x, state\); missing: state; not expected: y"):
        program(x, y=x)
    by_position = weft.from_jax(lambda a, b: a - b, b=x, a=shift).compile()
    np.testing.assert_array_equal(by_position(shift, b=x), shift - x)


def test_any_arguments_by_name(tmp_path):
    """``**batch`` is a dict for JAX; each argument of it has the name that it is passed by."""
    def loss(w, **batch):
        return jnp.sum((batch["x"] @ w - batch["targets"]["y"]) ** 2)

    data = weft.NamedSharding(MESH, weft.P("data"))
    batch = {"x": weft.ShapeDtypeStruct((4, 8), "float32", sharding=data),
             "targets": {"y": weft.ShapeDtypeStruct((4, 2), "float32", sharding=data)}}
    compiled = weft.from_jax(loss, jax.ShapeDtypeStruct((8, 2), "float32"), **batch).compile()
    assert [(info.name, info.sharding.spec) for info in compiled.entry.inputs] == [
        ("w", weft.P()), ("targets['y']", weft.P("data")), ("x", weft.P("data"))]
    random = np.random.default_rng(0)
    w, x, y = (random.random(shape, np.float32) for shape in ((8, 2), (4, 8), (4, 2)))
    expected = loss(w, x=x, targets={"y": y})
    compiled.save(tmp_path / "loss.plan")
    for each in (compiled, weft.load(tmp_path / "loss.plan")):
        np.testing.assert_allclose(each(w, x=x, targets={"y": y}), expected, rtol=1e-5)


def test_typed_keys():
    def f(key, x):
        new, use = jax.random.split(key)
        return new, x + jax.random.normal(use, x.shape)

    key, x = jax.random.key(7), arrays()[1]
    program = weft.from_jax(f, key, x, mesh=MESH, in_shardings=(None, weft.P("data"))).compile()
    new, y = program(key, x)
    expected_new, expected = jax.jit(f)(key, x)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    assert new.dtype == key.dtype and (jax.random.key_data(new) == jax.random.key_data(expected_new)).all()
    # A key that was returned goes in again, and so do the numbers of one.
    np.testing.assert_allclose(program(new, x)[1], jax.jit(f)(expected_new, x)[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(program(jax.random.PRNGKey(7), x)[1], y)
    old = weft.from_jax(lambda key: jax.random.uniform(key), jax.random.PRNGKey(7)).compile()
    np.testing.assert_array_equal(old(key), old(jax.random.PRNGKey(7)))


def test_arrays_of_typed_keys_are_split():
    keys = jax.random.split(jax.random.key(0), (4, 2))
    draw = jax.vmap(jax.vmap(lambda key: jax.random.normal(key, (3,))))
    program = weft.from_jax(draw, keys, mesh=MESH, in_shardings=(weft.P("data"),)).compile()
    np.testing.assert_allclose(program(keys), draw(keys), rtol=1e-5, atol=1e-6)
    with pytest.raises(weft.SpecError, match=r"k: key<fry>\[4\], P\('data', 'model'\)"):
        weft.from_jax(lambda k: k, keys[:, 0], mesh=MESH, in_shardings=(weft.P("data", "model"),))


def test_typed_keys_where_only_numbers_go():
    key, remedy = jax.random.key(0), r"pass jax.random.key_data\(key\)"
    with pytest.raises(TypeError, match=f"argument key: a typed key of JAX has no array of numbers; {remedy}"):
        weft.jit(lambda key: key)(key)
    with pytest.raises(TypeError, match=f"argument key: .*{remedy}"):
        weft.jit(lambda key: key).lower(key)
    program = weft.jit(lambda key: key).lower(weft.random.key(0)).compile()
    with pytest.raises(TypeError, match=f"(?s)key: expected int32\\[2\\], got a value of type PRNGKeyArray: .*{remedy}"):
        program(key)


def test_unsigned_integers_keep_their_bits():
    def f(key):
        return key ^ jnp.uint32(0x80000000)

    key = np.array([1, 0xFFFFFFFF], np.uint32)
    result = weft.from_jax(f, key).compile()(key)
    assert result.dtype == np.uint32
    np.testing.assert_array_equal(result, key ^ np.uint32(0x80000000))


State = collections.namedtuple("State", ["w", "count"])


def test_named_tuples_and_files(tmp_path):
    def f(state, x):
        return State(state.w + x, state.count + 1), [x]

    state, x = State(np.ones((4, 8), np.float32), np.int32(3)), arrays()[1]
    program = weft.from_jax(f, state, x, mesh=MESH, in_shardings=(None, weft.P("data")), donate_argnums=0).compile()
    assert program.donated == ("state.w", "state.count")
    new, _ = program(state, x)
    assert type(new) is State and new.count == 4
    program.save(tmp_path / "f.plan")
    loaded, _ = weft.load(tmp_path / "f.plan")(state, x)
    assert type(loaded).__name__ == "State" and loaded.count == 4
    np.testing.assert_array_equal(loaded.w, new.w)


@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, content):
        self.content = content

    def tree_flatten(self):
        return (self.content,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_containers_that_only_jax_knows(tmp_path):
    x = arrays()[1]
    program = weft.from_jax(lambda box: Box(box.content * 2), Box(x)).compile()
    np.testing.assert_array_equal(program(Box(x)).content, 2 * x)
    # Their structure is not stored: the loaded plan takes names.
    program.save(tmp_path / "box.plan")
    loaded = weft.load(tmp_path / "box.plan")
    (name,) = loaded.input_shardings
    (result,) = loaded({name: x}).values()
    np.testing.assert_array_equal(result, 2 * x)


class Packed(typing.NamedTuple):
    """As jax.example_libraries.optimizers has it: one of its fields is no child."""

    content: typing.Any
    structure: typing.Any


jax.tree_util.register_pytree_node(Packed, lambda p: ((p.content,), p.structure), lambda structure, c: Packed(*c, structure))


def test_a_named_tuple_with_children_of_its_own():
    x = arrays()[1]
    packed = Packed([x, 2 * x], jax.tree.structure((0, 0)))
    program = weft.from_jax(lambda p: p._replace(content=p.content[::-1]), packed, mesh=MESH,
                            in_shardings=(Packed([weft.P("data"), None], packed.structure),)).compile()
    result = program(packed)
    assert result.structure == packed.structure
    np.testing.assert_array_equal(result.content[0], 2 * x)


def test_what_is_not_supported_names_the_line():
    def f(x):
        return jnp.linalg.eigh(x)

    with pytest.raises(weft.CompileError) as raised:
        weft.from_jax(f, jax.ShapeDtypeStruct((4, 4), "float32")).compile(None)
    assert "eigh" in str(raised.value)


@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({"in_shardings": (weft.P("data"), None)}, ValueError, "a spec needs a mesh: pass mesh="),
        ({"mesh": MESH, "in_shardings": ("data", None)}, TypeError,
         "in_shardings[0] is 'data' of type str; write P('data')"),
        ({"in_shardings": (weft.NamedSharding(weft.Mesh((2,), ("rows",)), weft.P("rows")), weft.P("data"))},
         Exception, "rows"),
        ({"mesh": MESH, "in_shardings": (weft.NamedSharding(weft.Mesh((2,), ("rows",)), weft.P("rows")), None)},
         ValueError, "use one mesh"),
    ],
)
def test_options_that_are_wrong(options, kind, text):
    with pytest.raises(kind) as raised:
        weft.from_jax(step, SHAPES, X, **options)
    assert text in str(raised.value)


def spec_error(kind, fn, *args, **options):
    with pytest.raises(kind) as raised:
        weft.from_jax(fn, *args, mesh=MESH, **options)
    assert type(raised.value) is kind
    return str(raised.value)


@pytest.mark.parametrize("spec", [weft.P("data"), JaxP("data")], ids=["ours", "jax"])
def test_all_specs_that_do_not_fit_are_named_as_weft_jit_names_them(spec):
    params, x = {"blocks": [{"w": np.ones((1, 4), np.float32)}]}, np.ones((1,), np.float32)
    options = {"in_shardings": (spec, spec)}
    text = spec_error(weft.IndivisibleError, lambda p, x: (p, x), params, x, **options)
    ours = weft.jit(lambda p, x: (p, x), mesh=MESH, in_shardings=(weft.P("data"),) * 2)
    with pytest.raises(weft.IndivisibleError) as raised:
        ours.lower(params, x)
    assert text == str(raised.value)
    assert text.startswith("in_shardings: 2 of 2 arrays cannot be sharded as written")
    assert "p['blocks'][0]['w']: float32[1, 4]" in text and "P(None, 'data')" in text


def test_specs_that_no_array_could_have():
    x = np.ones((4, 4), np.float32)
    text = spec_error(weft.DuplicateSpecError, jnp.tanh, x, in_shardings=(JaxP("data", "data"),))
    assert "x: float32[4, 4]" in text
    text = spec_error(weft.SpecError, jnp.tanh, x, in_shardings=(weft.P(None, None, "dta"),))
    assert "did you mean 'data'?" in text and "has 3 entries" in text
    with pytest.raises(weft.SpecError, match="unconstrained dimensions are not allowed"):
        weft.from_jax(jnp.tanh, x, mesh=MESH, in_shardings=(JaxP(JaxP.UNCONSTRAINED),))


def test_out_shardings_are_checked_too():
    def f(x):
        return {"a": x[:1], "b": x[:, :1]}

    x = np.ones((4, 4), np.float32)
    specs = {"a": JaxP("data"), "b": weft.P(None, "model")}
    text = spec_error(weft.IndivisibleError, f, x, out_shardings=specs)
    assert text.startswith("out_shardings: 2 of 2 arrays cannot be sharded as written")
    assert "['a']: float32[1, 4]" in text and "['b']: float32[4, 1]" in text
    specs = {"a": None, "b": weft.P("data")}
    program = weft.from_jax(f, x, mesh=MESH, out_shardings=specs, donate_argnums=0).compile()
    assert program.output_shardings["b"].spec == weft.P("data")
    np.testing.assert_array_equal(program(x)["a"], x[:1])


def test_rules_in_prefix_trees():
    rules = weft.rules([("w1", weft.P(None, "model")), ("w2", weft.P("model"))])
    program = compiled(mesh=MESH, in_shardings=(rules, JaxP("data")), out_shardings=(rules, None))
    expected = compiled(mesh=MESH, in_shardings=WEFT_SPECS)
    assert program.input_shardings == expected.input_shardings
    assert program.output_shardings[0]["w2"].spec == weft.P("model")
    with pytest.raises(weft.SpecError, match="no rule matches w2"):
        compiled(mesh=MESH, in_shardings=(weft.rules([("w1", weft.P())]), None))


def test_what_does_not_divide_is_padded():
    w, x = np.arange(15, dtype=np.float32).reshape(5, 3), np.ones((3,), np.float32)
    program = weft.from_jax(
        lambda w, x: (w * 2, w @ x), w, x,
        mesh=MESH, in_shardings=(JaxP("data"), None), out_shardings=(weft.P("data"), None),
    ).compile()
    assert program.input_shardings["w"].spec == weft.P("data")
    doubled, product = program(w, x)
    np.testing.assert_array_equal(doubled, w * 2)
    np.testing.assert_array_equal(product, w @ x)
    assert "w: dim 0 of size 5" in program.report()


def test_own_shardings_of_a_jitted_function_are_those_of_its_arguments():
    def f(params, unused):
        return params["w"] * 2

    mesh = jax.sharding.AbstractMesh((2, 2), ("data", "model"))

    def struct(spec):
        sharding = jax.sharding.NamedSharding(mesh, spec)
        return {"w": jax.ShapeDtypeStruct((4, 4), np.float32, sharding=sharding)}

    sharding = jax.sharding.NamedSharding(mesh, JaxP("data", None))
    jitted = jax.jit(f, in_shardings=({"w": sharding}, None))
    same = weft.from_jax(jitted, struct(JaxP("data", None)), 1.0).compile(None)
    assert same.input_shardings["params['w']"].spec == weft.P("data")
    with pytest.raises(weft.SpecError, match=r"params\['w'\]: .*\n.*the array has") as own:
        weft.from_jax(jitted, struct(JaxP("model")), 1.0)
    with pytest.raises(weft.SpecError) as given:
        weft.from_jax(f, struct(JaxP("model")), 1.0, in_shardings=({"w": sharding}, None))
    assert str(own.value) == str(given.value)


def test_specs_of_containers_that_only_jax_knows():
    box = Box({"w": np.ones((4, 1), np.float32)})
    program = weft.from_jax(lambda b: b, box, mesh=MESH, in_shardings=(Box(weft.P("data")),)).compile()
    assert [s.spec for s in program.input_shardings.values()] == [weft.P("data")]
    with pytest.raises(weft.IndivisibleError, match=r"b\[0\]\['w'\]: float32\[4, 1\]"):
        weft.from_jax(lambda b: b, box, mesh=MESH, in_shardings=(weft.P(None, "data"),))


def test_a_mesh_without_shardings_is_planned_for():
    x = arrays()[1]
    program = weft.from_jax(lambda x: x + 1, x, mesh=MESH).compile()
    assert program.plan.ranks == 4
    np.testing.assert_array_equal(program(x), x + 1)
    split = weft.from_jax(lambda k: jax.random.split(k)[0], jax.random.key(0), mesh=MESH)
    assert split.compile(None).plan.ranks == 4
    with jax.sharding.use_abstract_mesh(ABSTRACT):
        assert weft.from_jax(lambda x: x + 1, x).compile(None).plan.ranks == 4


def test_an_array_that_is_placed_otherwise():
    placed = weft.ShapeDtypeStruct((4, 8), "float32", sharding=weft.NamedSharding(MESH, weft.P("data")))
    theirs = jax.device_put(np.ones((4, 8), np.float32), JaxNamed(jax.make_mesh((2, 2), ("data", "model")), JaxP("data")))
    ours = weft.jit(lambda x: x, mesh=MESH, in_shardings=weft.P("model"))
    with pytest.raises(weft.SpecError) as expected:
        ours.lower(placed)
    for x in (placed, theirs):
        text = spec_error(weft.SpecError, lambda x: x, x, in_shardings=(weft.P("model"),))
        assert text == str(expected.value)
        same = weft.from_jax(lambda x: x, x, mesh=MESH, in_shardings=(weft.P("data", None),))
        assert same.compile(None).input_shardings["x"].spec == weft.P("data")


@pytest.mark.parametrize(
    "options, text",
    [
        ({"donate_argnums": "x"}, "donate_argnums must be an integer or several, got 'x' of type str"),
        ({"static_argnums": "x"}, "static_argnums must be an integer or several, got 'x' of type str"),
        ({"mesh": 3}, "mesh must be a mesh of weft or of jax, got 3 of type int"),
    ],
)
def test_options_of_other_types(options, text):
    with pytest.raises(TypeError, match=text):
        weft.from_jax(jnp.tanh, np.ones(4, np.float32), **options)


def test_arrays_of_another_byte_order():
    big = np.arange(4, dtype=">f4")
    np.testing.assert_array_equal(weft.from_jax(lambda x: x * 2, big).compile()(big), 2 * np.arange(4))


def test_a_donation_between_two_shardings_is_not_used():
    def f(state, x):
        return {"w": state["w"] * 2, "b": state["b"] + 1}, x

    w, b = np.ones((4, 8), np.float32), np.ones((8,), np.float32)
    specs = {"w": weft.P("data"), "b": weft.P("model")}
    out = {"w": weft.P("model"), "b": weft.P("model")}
    lowered = weft.from_jax(f, {"w": w, "b": b}, b, mesh=MESH, in_shardings=(specs, None),
                            out_shardings=(out, None), donate_argnums=0)
    with pytest.warns(weft.CompilerWarning) as raised:
        program = lowered.compile()
    (warning,) = raised
    assert (
        "\"state['w']\" is donated, but cannot be replaced by \"result[0]['w']\": it is sharded as "
        "P('data', None), the result as P('model', None); give both one sharding, or do not donate it"
    ) in str(warning.message)
    assert "test_from_jax.py" in str(warning.message)
    assert program.donated == ("state['b']",)
    assert program.output_shardings[0]["w"].spec == weft.P("model")
    np.testing.assert_array_equal(program({"w": w, "b": b}, b)[0]["w"], 2 * w)


def test_collectives_at_the_boundary_have_a_place():
    def f(x, w):
        y = jax.lax.with_sharding_constraint(x, JaxP(None, "data"))
        return y, x @ w

    x, w = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
    program = weft.from_jax(f, x, w, mesh=MESH, in_shardings=(weft.P("data"), weft.P(None, "model")),
                            out_shardings=(None, weft.P())).compile(None, optimize_shardings=False)
    line = f.__code__.co_firstlineno
    locations = {(c.kind, c.file, c.line) for c in program.collectives() if "by result" in c.cause}
    assert locations == {("all_to_all", "test_from_jax.py", line + 1), ("all_gather", "test_from_jax.py", line + 2)}
    # What is only passed on has the location of the program.
    passed = weft.from_jax(lambda x: x, x, mesh=MESH, in_shardings=(weft.P("data"),), out_shardings=weft.P())
    (gather,) = passed.compile(None).collectives()
    assert (gather.file, gather.line) == ("test_from_jax.py", line + 11)


def test_names_with_characters_of_command_lines_and_files():
    keys = ["a=b", "a_b", "a/b", "a\nb", 'a"b', "a'b", "100%", "a%3Db", "__metadata__", ""]
    values = {key: np.full((2, 2), i, np.float32) for i, key in enumerate(keys)}

    def f(d, __metadata__):
        return {key: value + 1 for key, value in d.items()}, d["a=b"] @ __metadata__

    program = weft.from_jax(f, values, values["a=b"], mesh=MESH, donate_argnums=0,
                            in_shardings=weft.P(None, "model")).compile()
    paths = {f"d[{key!r}]" for key in keys}
    assert set(program.input_shardings) == paths | {"__metadata__"}
    assert set(program.donated) == paths
    (gathered,) = [c for c in program.collectives() if "d['a=b']" in c.cause]
    assert gathered.file == "test_from_jax.py"
    result, _ = program(values, values["a=b"])
    for key in keys:
        np.testing.assert_array_equal(result[key], values[key] + 1)


BELOW_ONE = np.array([-0.9, -1e-4, 0, 1e-4, 0.3, 0.9], "f4")
WIDE = np.array([-20, -1e-4, 0, 1e-4, 0.3, 20], "f4")


@pytest.mark.parametrize(
    "name, x",
    [("sinh", WIDE), ("cosh", WIDE), ("arcsin", BELOW_ONE), ("arccos", BELOW_ONE), ("arctan", WIDE),
     ("arcsinh", WIDE), ("arccosh", np.array([1.1, 1.5, 30], "f4")), ("arctanh", BELOW_ONE)],
)
def test_hyperbolic_and_inverse_functions(name, x):
    def both(x):
        value, pull = jax.vjp(getattr(jnp, name), x)
        return value, pull(jnp.ones_like(x))[0]

    for ours, theirs in zip(weft.from_jax(both, x).compile()(x), both(x)):
        np.testing.assert_allclose(ours, theirs, rtol=3e-6, atol=1e-7)


RUNNING = [
    lambda x: jnp.cumsum(x), lambda x: jnp.cumsum(x, axis=0), lambda x: jnp.cumsum(x, axis=1),
    lambda x: jax.lax.cumsum(x, 1, reverse=True), lambda x: jnp.cumprod(x, axis=1),
    lambda x: jax.lax.cummax(x, 0), lambda x: jax.lax.cummin(x, 1, reverse=True),
    lambda x: jax.grad(lambda x: (jnp.cumsum(x, axis=1) ** 2).sum())(x),
    lambda x: jnp.cumsum(x.astype("int32"), axis=1), lambda x: jnp.cumsum(x > 0, axis=1),
    lambda x: jnp.cumsum(x.astype("bfloat16"), axis=1).astype("float32"),
]


@pytest.mark.parametrize("f", RUNNING)
def test_running_sums(f):
    x = np.random.default_rng(0).normal(size=(3, 13)).astype("f4")
    for options in ({}, {"mesh": weft.Mesh((2,), ("x",)), "in_shardings": weft.P(None, "x")}):
        ours = weft.from_jax(f, x, **options).compile()(x)
        tolerance = 2e-2 if f is RUNNING[-1] else 1e-5  # of bfloat16
        np.testing.assert_allclose(ours, f(x), rtol=tolerance, atol=tolerance)


# What is halved again and again ends with no elements.
@pytest.mark.parametrize("size", [2, 8, 13])
@pytest.mark.parametrize("f", [
    lambda x: jax.lax.associative_scan(jnp.add, x, axis=1),
    lambda x: jax.grad(lambda x: (jax.lax.associative_scan(
        jnp.multiply, x, axis=1, reverse=True) ** 2).sum())(x),
], ids=["sum", "derivative"])
def test_associative_scans(f, size):
    x = np.random.default_rng(0).normal(size=(3, size)).astype("f4")
    for options in ({}, {"mesh": weft.Mesh((2,), ("x",)), "in_shardings": weft.P(None, "x")}):
        ours = weft.from_jax(f, x, **options).compile()(x)
        np.testing.assert_allclose(ours, f(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [
    {}, {"mesh": weft.Mesh((2,), ("x",)), "in_shardings": (weft.P("x"), weft.P(None, "x"))}])
def test_arguments_and_results_without_elements(options):
    def f(cache, x):
        return cache + 1, jnp.concatenate([cache, x]).sum(axis=0), x[:, :0]

    cache, x = np.zeros((0, 8), "f4"), np.random.default_rng(0).normal(size=(4, 8)).astype("f4")
    compiled = weft.from_jax(f, cache, x, **options).compile()
    for found, wanted in zip(compiled(cache, x), f(cache, x)):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_windows_without_an_op():
    def products(x):
        return jax.lax.reduce_window(x, 1.0, jax.lax.mul, (200,), (2,), "VALID")

    with pytest.raises(weft.CompileError, match="reduce_window: of more than 128 elements along a dim, other than sums"):
        weft.from_jax(products, np.ones(400, "f4")).compile()


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Scaled:
    a: object
    n: object = dataclasses.field(default=1, metadata={"static": True})


def test_static_fields_are_checked(tmp_path):
    x = np.ones(3, "f4")
    compiled = weft.from_jax(lambda d: Scaled(d.a * d.n, d.n), Scaled(x, 2)).compile()
    compiled.save(tmp_path / "f.plan")
    again = pickle.loads(pickle.dumps(compiled))
    for program in (compiled, again):
        assert program(Scaled(x, 2)).n == 2
        np.testing.assert_array_equal(program(Scaled(x, 2)).a, 2 * x)
    for program in (compiled, again, weft.load(tmp_path / "f.plan")):
        with pytest.raises(TypeError, match="another structure than what was compiled.*2.*3"):
            program(Scaled(x, 3))
    with pytest.raises(TypeError, match="another structure than what was compiled"):
        compiled([x])


def test_results_stay_on_the_ranks_where_the_arguments_did():
    def step(w, key, x):
        return w + x, jax.random.split(key)[0], x.sum()

    x, key = np.arange(4, dtype=np.float32), np.array([0, 7], np.uint32)
    compiled = weft.from_jax(step, x, key, x, mesh=MESH, donate_argnums=(0, 1)).compile()
    first, new_key, _ = compiled(x, key, x)
    assert type(first) is np.ndarray and type(new_key) is np.ndarray and new_key.dtype == np.uint32
    np.testing.assert_array_equal(jnp.sort(first), 2 * x)

    kept, new_key, _ = compiled(weft.device_put(x, weft.NamedSharding(MESH, weft.P())), key, x)
    assert type(kept) is weft.Array and type(new_key) is np.ndarray
    again, _, _ = compiled(kept, key, x)
    assert type(again) is weft.Array and kept.is_deleted()
    np.testing.assert_array_equal(again, 3 * x)
    keys = weft.device_put(key.view(np.int32), weft.NamedSharding(MESH, weft.P()))
    _, new_keys, _ = compiled(again, keys, x)
    assert new_keys.dtype == np.uint32
    np.testing.assert_array_equal(new_keys, new_key)


def test_arrays_on_the_ranks_meet_arrays_of_jax():
    x, theirs = np.arange(4, dtype=np.float32), jnp.ones(4) * 2
    ours = weft.device_put(2 * x, weft.NamedSharding(MESH, weft.P()))
    for found in (ours - theirs, theirs - ours, ours / theirs, theirs @ ours, -theirs + ours):
        assert isinstance(found, jax.Array)
    np.testing.assert_array_equal(ours - theirs, 2 * x - 2)
    np.testing.assert_array_equal(theirs - ours, 2 - 2 * x)
    np.testing.assert_array_equal(x - ours, -x)
    np.testing.assert_array_equal(ours - x, x)
    np.testing.assert_array_equal(1 - ours, 1 - 2 * x)
    np.testing.assert_array_equal(divmod(ours, 4), divmod(2 * x, 4))
    np.testing.assert_array_equal(ours < theirs, 2 * x < 2)
    np.testing.assert_array_equal(2**ours, 2 ** (2 * x))


def swapped_dict(b, a, x):
    return {"a": a - 0.1 * jnp.sin(a) * x.sum(), "b": b - 0.5 * jnp.cos(b) * x.sum()}


def optimistic(a, b, x):  # what replaces "b" is not computed of it
    gradient = jnp.sin(a) * x
    return a - 0.1 * (2 * gradient - b), gradient


@pytest.mark.parametrize(("fun", "names"), [(swapped_dict, "ba"), (optimistic, "ab")])
def test_states_keep_their_places(fun, names):
    """JAX pairs donated arguments with results of their type in order, whatever the names of these are."""
    b, a, x = (np.full((2, 2), value, np.float32) for value in (2, 1, 0.5))
    given = {"a": a, "b": b}
    session = weft.from_jax(fun, *(given[name] for name in names), x, donate_argnums=(0, 1)).compile().session()
    entry = session.plan.entries[0].name
    for name, value in (("a", a), ("b", b)):
        session.set_state(name, value)
    session.set_input(entry, "x", x)
    for _ in range(2):
        session.run(entry)
        found = jax.jit(fun)(*((a, b) if names == "ab" else (b, a)), x)
        a, b = (found["a"], found["b"]) if isinstance(found, dict) else found
    np.testing.assert_allclose(session.state("a"), a, rtol=1e-6)
    np.testing.assert_allclose(session.state("b"), b, rtol=1e-6)
