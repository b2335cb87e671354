# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.stage_boundary` in JAX functions: nothing under plain JAX, and a cut in what
`weft.from_jax` imports, through gradients, checkpoints and nested jits."""

import functools
import re
import subprocess

import numpy as np
import pytest
from running import BINARIES

jax = pytest.importorskip("jax")
jnp = jax.numpy

import weft  # noqa: E402

LAYERS, WIDTH, MICROBATCHES = 4, 8, 4


def block(x, w):
    return x + jnp.tanh(x @ w)


WRAPPERS = {"plain": lambda f: f, "jit": jax.jit, "checkpoint": jax.checkpoint}


def step(wrap, cuts):
    def loss(ws, x, y):
        for i in range(LAYERS):
            x = wrap(block)(x, ws[i])
            if cuts and i == 1:
                x = weft.stage_boundary({"x": x})["x"]
        return jnp.mean((x - y) ** 2)

    def step(ws, x, y):
        def add(total, batch):
            found = jax.value_and_grad(loss)(ws, *batch)
            return jax.tree.map(jnp.add, total, found), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, ws))
        (value, gradients), _ = jax.lax.scan(add, zero, (x, y))
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients), value

    return step


def arguments():
    r = np.random.default_rng(0)
    return ([r.normal(size=(WIDTH, WIDTH)).astype(np.float32) for _ in range(LAYERS)],
            *r.normal(size=(2, MICROBATCHES, 3, WIDTH)).astype(np.float32))


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_no_number_changes(wrap):
    args = arguments()
    found = jax.jit(step(WRAPPERS[wrap], cuts=True))(*args)
    wanted = jax.jit(step(WRAPPERS[wrap], cuts=False))(*args)
    ours = weft.from_jax(step(WRAPPERS[wrap], cuts=True), *args).compile()(*args)
    for a, b, c in zip(*map(jax.tree.leaves, (found, wanted, ours)), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(c, b, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_both_ways_are_cut(wrap):
    lowered = weft.from_jax(step(WRAPPERS[wrap], cuts=True), *arguments(), donate_argnums=0)
    done = subprocess.run(
        [BINARIES / "shard-opt", "-", "--allow-unregistered-dialect", "--weft-import-stablehlo", "--weft-inline-calls", "--weft-decompose",
         "--symbol-dce", "--weft-assign-stages=stages=2", "--weft-join-equal-ops",
         "--weft-verify-form=form=graph"],
        input=lowered.as_text(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    matmuls = re.findall(r"weft.dot_general .*stage = (\d), stage_pass = (\w+)", done.stdout)
    # Two layers a stage, each with a matmul forward, and one for the gradient of its weights.
    for stage in "01":
        recomputed = sum(s == stage for s, _ in matmuls) - 6 + (stage == "0")
        assert recomputed == (2 if wrap == "checkpoint" else 0)
        assert matmuls.count((stage, "forward")) == 2
        assert matmuls.count((stage, "weight_gradient")) >= 2 - (stage == "0")


def test_nothing_happens_outside_of_a_trace():
    x = jnp.ones(3)
    np.testing.assert_array_equal(weft.stage_boundary(x), x)


def test_a_function_of_a_row():
    """As models of single rows are written, under `jax.vmap`."""

    def loss(ws, x, y, cut):
        def row(x):
            x = block(x, ws[0])
            x, ones = weft.stage_boundary((x, jnp.ones(WIDTH))) if cut else (x, jnp.ones(WIDTH))
            return block(x, ws[1]) * ones

        return jnp.mean((jax.vmap(row)(x) - y) ** 2)

    ws, x, y = arguments()
    found, wanted = (jax.jit(jax.grad(loss), static_argnums=3)(ws, x[0], y[0], cut) for cut in (True, False))
    for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        np.testing.assert_array_equal(a, b)
    text = weft.from_jax(jax.grad(functools.partial(loss, cut=True)), ws, x[0], y[0]).as_text()
    assert text.count('name = "weft.stage_boundary"') >= 2 and text.count('name = "weft.stage_boundary_back"') >= 1


DERIVATIVES = {"jvp": lambda f: lambda w: jax.jvp(f, (w,), (w,)), "hessian": jax.hessian,
               "twice back": lambda f: jax.jacrev(jax.jacrev(f)), "checkpoint": lambda f: jax.hessian(jax.checkpoint(f)),
               "vmap": lambda f: lambda w: jax.vmap(jax.grad(f))(jnp.stack([w, 2 * w]))}


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives(derivative):
    """Of any order and mode under plain JAX."""
    def loss(w, boundary):
        return jnp.sum(jnp.sin(boundary(jnp.tanh(w @ w)) @ w) ** 2)

    w = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    found, wanted = (jax.jit(DERIVATIVES[derivative](functools.partial(loss, boundary=boundary)))(w)
                     for boundary in (weft.stage_boundary, lambda x: x))
    for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_a_tangent_goes_forward_with_its_value():
    """Through a boundary of its own, so that both are of the stage that follows."""
    text = weft.from_jax(lambda x, t: jax.jvp(lambda x: jnp.sin(weft.stage_boundary(x * x)), (x,), (t,)),
                         np.float32(1), np.float32(2)).as_text()
    assert text.count('"stablehlo.composite"(') == 2


def pipelined(function, pipeline, mesh=weft.AbstractMesh((2,), ("pipe",)), args=None):
    args = args or arguments()
    return weft.from_jax(function, *args, mesh=mesh, donate_argnums=0, pipeline=pipeline).compile(None)


@pytest.mark.parametrize(("pipeline", "mesh", "text"), [
    (weft.Pipeline("stages"), weft.AbstractMesh((2,), ("pipe",)),
     "from_jax: the pipeline is along 'stages', but the axes of the mesh are pipe"),
    (weft.Pipeline("pipe"), None, "from_jax: the pipeline is along 'pipe', but there is no mesh"),
])
def test_pipelines_that_cannot_be(pipeline, mesh, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        pipelined(step(lambda f: f, cuts=True), pipeline, mesh)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_boundaries_are_placed(wrap):
    """In the loop that JAX differentiated, at the block that makes stages equal."""
    compiled = pipelined(step(WRAPPERS[wrap], cuts=False), weft.Pipeline("pipe", stages="auto"))
    first, last = compiled.stages()
    assert first.parameters == last.parameters == 2 * WIDTH * WIDTH * 4
    assert [message.label for message in compiled.messages()] == [
        "activations of stage 0 for stage 1", "gradients of stage 1 for stage 0"]


@pytest.mark.parametrize("depths", [(1, 2), (2, 1), (1, 1, 1), (1, 3)])
def test_boundaries_are_placed_in_stacks(depths):
    """Layers that lie in arrays, each in a scan of its own: also those of one layer."""
    def step(stacks, x, y):
        def loss(stacks):
            h = x
            for stack in stacks:
                h, _ = jax.lax.scan(lambda h, w: (block(h, w), None), h, stack)
            return jnp.mean((h - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(stacks)
        return jax.tree.map(lambda w, g: w - 0.1 * g, stacks, gradients), value

    ws, x, y = arguments()
    layers = [ws[i % len(ws)] for i in range(sum(depths))]
    stacks = [np.stack([layers.pop() for _ in range(depth)]) for depth in depths]
    args = stacks, x.reshape(-1, WIDTH), y.reshape(-1, WIDTH)
    compiled = weft.from_jax(step, *args, mesh=weft.Mesh((3,), ("pipe",)), donate_argnums=0,
                             pipeline=weft.Pipeline("pipe", microbatches=MICROBATCHES, stages="auto")).compile()
    assert all(stage.parameters > 0 for stage in compiled.stages())
    for found, wanted in zip(*(jax.tree.leaves(each(*args)) for each in (compiled, jax.jit(step))), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def dense(layer, x):
    return x @ layer["w"] + layer["b"]


def of_a_row(layer, x):
    """As layers of single rows are under `jax.vmap`: the product is transposed both ways."""
    return jax.vmap(lambda row: layer["w"] @ row + layer["b"])(x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", [2, 3, 6])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "exp", "relu", "silu"])
@pytest.mark.parametrize("layer", [dense, of_a_row])
def test_gradients_are_of_the_stage_of_their_parameter(layer, activation, depth):
    """Also of the last layer of a stage: what the next one uses are results of activations, of which
    their derivatives are computed, and the first stage has no more than the batch."""
    function = jnp.exp if activation == "exp" else getattr(jax.nn, activation)

    def step(layers, x, y):
        def loss(layers):
            h = x
            for each in layers:
                h = function(0.1 * layer(each, h))
            return jnp.mean((h - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(layers)
        return jax.tree.map(lambda p, g: p - 0.1 * g, layers, gradients), value

    ws, x, y = arguments()
    layers = [{"w": ws[i % len(ws)], "b": ws[i % len(ws)][0]} for i in range(depth)]
    args = layers, x.reshape(-1, WIDTH), y.reshape(-1, WIDTH)
    for schedule in ("1f1b", "zb-h1"):
        compiled = weft.from_jax(step, *args, mesh=weft.Mesh((2,), ("pipe",)), donate_argnums=0, pipeline=weft.Pipeline(
            "pipe", schedule, microbatches=MICROBATCHES, stages="auto")).compile()
        stages = compiled.stages()
        assert sum(stage.parameters for stage in stages) == sum(leaf.nbytes for leaf in jax.tree.leaves(layers))
        assert [message.label for message in compiled.messages()] == [
            "activations of stage 0 for stage 1", "gradients of stage 1 for stage 0"]
        for found, wanted in zip(*(jax.tree.leaves(each(*args)) for each in (compiled, jax.jit(step))), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("schedule", ["1f1b", "zb-v"])
@pytest.mark.parametrize("wrap", WRAPPERS)
def test_boundaries_are_placed_around_a_tied_parameter(wrap, schedule):
    """An embedding that the first layer looks up and the last one multiplies by, each in a checkpoint."""
    wrap = WRAPPERS[wrap]

    def step(params, tokens, targets):
        def loss(params):
            h = wrap(lambda table, w: block(table[tokens], w))(params["table"], params["ws"][0])
            for w in params["ws"][1:]:
                h = wrap(block)(h, w)
            return jnp.mean(wrap(lambda table, h: (h @ table.T - targets) ** 2)(params["table"], h))

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    ws, x, _ = arguments()
    rows = MICROBATCHES * x.shape[1]
    r = np.random.default_rng(1)
    params = {"table": r.normal(size=(10, WIDTH)).astype(np.float32), "ws": ws}
    args = params, r.integers(0, 10, rows, np.int32), r.normal(size=(rows, 10)).astype(np.float32)
    compiled = weft.from_jax(step, *args, mesh=weft.Mesh((2,), ("pipe",)), donate_argnums=0, pipeline=weft.Pipeline(
        "pipe", schedule, microbatches=MICROBATCHES, stages="auto")).compile()
    assert all(stage.parameters > 0 for stage in compiled.stages())
    for found, wanted in zip(*(jax.tree.leaves(each(*args)) for each in (compiled, jax.jit(step))), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_boundaries_are_placed_in_what_updates_nothing():
    """Parameters are what all micro-batches use, unless gradients of that are added up."""
    def evaluate(ws, x, y):
        for w in ws:
            x = block(x, w)
        return x, jnp.mean((x - y) ** 2)

    ws, x, y = arguments()
    args = ws, x.reshape(-1, WIDTH), y.reshape(-1, WIDTH)
    pipeline = weft.Pipeline("pipe", microbatches=MICROBATCHES, stages="auto")
    compiled = weft.from_jax(evaluate, *args, mesh=weft.Mesh((2,), ("pipe",)), pipeline=pipeline).compile()
    first, last = compiled.stages()
    assert last.forward_flops >= first.forward_flops >= 2 * 2 * 3 * WIDTH * WIDTH
    assert [message.label for message in compiled.messages()] == ["activations of stage 0 for stage 1"]
    for found, wanted in zip(compiled(*args), jax.jit(evaluate)(*args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

    with pytest.raises(weft.CompileError, match="has gradients of none that is known; donate the state that it updates"):
        weft.from_jax(step(WRAPPERS["plain"], cuts=False), *arguments(), mesh=weft.Mesh((2,), ("pipe",)),
                      pipeline=weft.Pipeline("pipe", stages="auto")).compile()


def test_boundaries_that_cannot_be_placed():
    with pytest.raises(weft.CompileError, match="the compiler is to place the stage boundaries, but the model has one"):
        pipelined(step(WRAPPERS["plain"], cuts=True), weft.Pipeline("pipe", stages="auto"))
    with pytest.raises(weft.CompileError, match="@step can be cut into 4 parts, where a single value leads from one to the next; the pipeline has 5 stages "):
        pipelined(step(WRAPPERS["plain"], cuts=False), weft.Pipeline("pipe", "gpipe", stages="auto"),
                  weft.AbstractMesh((5,), ("pipe",)))


def test_boundaries_in_odd_places():
    def compiled(loss):
        def step(ws, x, y):
            value, gradients = jax.value_and_grad(loss)(ws, x, y)
            return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients), value

        ws, x, y = arguments()
        pipelined(step, weft.Pipeline("pipe", microbatches=MICROBATCHES),
                  args=(ws[:2], x.reshape(-1, WIDTH), y.reshape(-1, WIDTH)))

    def on_a_parameter(ws, x, y):
        return jnp.mean((block(block(x, ws[0]), weft.stage_boundary(ws[1])) - y) ** 2)

    with pytest.raises(weft.CompileError, match='if "x", "y" is the batch, this stage boundary is on what is the same '
                       "for all micro-batches; put it between two layers") as raised:
        compiled(on_a_parameter)
    assert "weft.stage_boundary(ws[1])" in str(raised.value)

    def in_a_branch(ws, x, y):
        h = jax.lax.cond(ws[0].sum() > 0, lambda h: weft.stage_boundary(block(h, ws[0])), lambda h: h, x)
        return jnp.mean((block(h, ws[1]) - y) ** 2)

    with pytest.raises(weft.CompileError, match="put a boundary behind a lax.cond, not into a branch"):
        compiled(in_a_branch)


def test_errors_show_the_boundary_of_the_model():
    def step(ws, x, y):
        def loss(ws):
            return jnp.mean((weft.stage_boundary({"x": x @ ws[0]})["x"] @ ws[1] - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(ws)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients), value

    with pytest.raises(weft.CompileError, match="but @step has none") as raised:
        pipelined(step, weft.Pipeline("pipe"))
    assert "test_stages_from_jax.py" in str(raised.value) and "jax_stages.py" not in str(raised.value)


def checkpointed(ws, x, y):
    """Two blocks with a boundary between them, in one checkpoint."""
    @jax.checkpoint
    def both(ws, x):
        return block(weft.stage_boundary(block(x, ws[0])), ws[1])

    def loss(ws):
        return jnp.mean((both(ws[2:], both(ws, x)) - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(ws)
    return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients), value


def test_a_boundary_in_a_checkpoint():
    with pytest.raises(weft.CompileError, match="a stage boundary in a checkpointed function would be passed a second "
                       "time on the way back; end the checkpoint before the boundary") as raised:
        pipelined(checkpointed, weft.Pipeline("pipe", microbatches=4), weft.AbstractMesh((3,), ("pipe",)))
    assert "would go" not in str(raised.value) and "test_stages_from_jax.py" in str(raised.value)
    assert "weft.stage_boundary(block(x, ws[0]))" in str(raised.value)


def test_a_barrier_of_the_model():
    """Is no recomputation: what is behind it is of the stage that it is in."""
    def model(ws, x, y):
        def loss(ws):
            h = x
            for w in ws:
                h = weft.stage_boundary(block(h, w))
                h, _ = jax.lax.optimization_barrier((h, jnp.tanh(h)))
            return jnp.mean((h @ ws[0] - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(ws)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients), value

    compiled = pipelined(model, weft.Pipeline("pipe", microbatches=4), weft.AbstractMesh((LAYERS + 1,), ("pipe",)))
    assert len(compiled.stages()) == LAYERS + 1


def test_one_micro_batch():
    """A loop of one iteration is a loop, with gradients that it adds up and losses that it stacks."""
    def accumulating(ws, x, y):
        def loss(ws, x, y):
            h = weft.stage_boundary(block(x, ws[0]))
            return jnp.mean((block(h, ws[1]) - y) ** 2)

        def add(total, batch):
            value, gradients = jax.value_and_grad(loss)(ws, *batch)
            return jax.tree.map(jnp.add, total, gradients), value

        gradients, values = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, ws), (x, y))
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients), values

    ws, x, y = arguments()
    args = ws[:2], x[:1], y[:1]
    wanted = jax.jit(accumulating)(*args)
    for pipeline in (None, weft.Pipeline("pipe"), weft.Pipeline("pipe", "zb-h1")):
        options = {"mesh": weft.Mesh((2,), ("pipe",)), "pipeline": pipeline} if pipeline else {}
        compiled = weft.from_jax(accumulating, *args, donate_argnums=0, **options).compile()
        for a, b in zip(*map(jax.tree.leaves, (compiled(*args), wanted)), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
        if pipeline:
            assert compiled.schedule().microbatches == 1
