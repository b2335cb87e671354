# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines change no bit of a training step: models under all schedules, with parallelism
inside of stages, against the plan without a pipeline at the same micro-batches."""

import dataclasses
import functools

import numpy as np
import pytest
import running
import tiny_models
from parallelisms import PARALLELISMS
from staged_models import MODELS, cut_behind, equal_bits

import weft
import weft.numpy as wnp
from weft import P, nn, optim, tree
from weft.predicted import Predicted

STEPS, MICROBATCHES = 20, 8
WHOLE = [name for name in MODELS if not name.startswith("short ")]
# Four stages; the last one of the models of three blocks has the head alone.
CUTS = (0, 1, 2)
# With the chunks that they take.
SCHEDULES = {name: 2 for name in ("interleaved-1f1b", "looped-bfs", "interleaved-zb", "zb-v", "v-half", "v-min",
                                  "dualpipev")}
SCHEDULES |= {name: 1 for name in ("gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-h2")}


def layout_of(way, params, ranks, **changes):
    way = dataclasses.replace(PARALLELISMS[way], mesh={axis: 2 for axis in PARALLELISMS[way].mesh}, **changes)
    mesh = {"pipe": ranks, **way.mesh} if ranks else way.mesh
    return dataclasses.replace(way, mesh=mesh).layout(params), way


# The others have AdamW.
OPTIMIZERS = {name: optim.chain(optim.clip_by_global_norm(1.0), optim.sgd(0.1, momentum=0.9))
              for name in ("t5", "untied gpt")}


def optimizer_of(name):
    return OPTIMIZERS.get(name) or tiny_models.adamw()


@functools.cache
def state_of(name):
    return MODELS[name].state(optimizer_of(name))


def train(name, cuts, pipeline=None, ranks=0, way=None, steps=STEPS, n=MICROBATCHES, **options):
    model, optimizer, state = MODELS[name], optimizer_of(name), state_of(name)
    if way:
        layout, way = layout_of(way, model.params(), ranks)
        options |= {"layout": layout, "in_shardings": way.in_shardings(layout, state)}
    elif ranks:
        options["mesh"] = weft.Mesh((ranks,), ("pipe",))
    step = model.train_step(optimizer, cut_behind(cuts), n)
    return running.train(step, state, model.batches(steps, 16 if n != 3 else 12), pipeline=pipeline, **options)


@functools.cache
def without(*args, **options):
    """Without a pipeline, as often as several schedules are compared with it."""
    return train(*args, **options)


def test_every_schedule_is_here():
    assert set(SCHEDULES) == set(weft.pipeline.schedule_names())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(name, schedule):
    found = train(name, CUTS, weft.Pipeline("pipe", schedule), 4 // SCHEDULES[schedule])
    equal_bits(found, without(name, CUTS))


@pytest.mark.parametrize("name", WHOLE)
def test_one_device_without_boundaries(name):
    found, wanted = without(name, CUTS), without(name, ())
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["dp", "fsdp", "tp", "fsdp+tp", "tp+sp+vocab", "zero1", "zero2"])
@pytest.mark.parametrize("name, schedule, cuts", [
    ("short gpt", "1f1b", (0,)), ("llama", "zb-v", CUTS), ("short t5", "zb-h1", (0,))])
def test_parallelism_inside(way, name, schedule, cuts):
    found = train(name, cuts, weft.Pipeline("pipe", schedule), 2, way, steps=4)
    equal_bits(found, without(name, cuts, way=way, steps=4))


# ===----------------------------------------------------------------------===
# What training steps have besides
# ===----------------------------------------------------------------------===

WIDTH, LAYERS = 16, 4


def arrays(width=WIDTH, layers=LAYERS, rows=16, dtype=np.float32):
    r = np.random.default_rng(0)
    params = {"in": r.normal(size=(8, width)) * 0.5, "scale": np.ones(width),
              "layers": [r.normal(size=(width, width)) * 0.3 for _ in range(layers)]}
    batch = {"x": r.normal(size=(rows, 8)), "y": r.normal(size=(rows, width)), "mask": r.random((rows, width)) < 0.8}
    cast = functools.partial(tree.map, lambda x: x if x.dtype == bool else x.astype(dtype))
    return cast(params), cast(batch)


def perceptron(params, batch, cuts=(1,), layer=lambda w, x, scale, i: x + wnp.tanh(x @ w) * scale):
    """The mask and the scale are used by all stages."""
    x = batch["x"] @ params["in"]
    for i, w in enumerate(params["layers"]):
        x = wnp.where(batch["mask"], layer(w, x, params["scale"], i), x)
        if i in cuts:
            x = weft.stage_boundary(x)
    return x


def squares(params, batch, **options):
    return ((perceptron(params, batch, **options) - batch["y"]).astype("float32") ** 2).mean()


def gradients(loss=squares, n=4, has_aux=False, **options):
    return weft.microbatches(weft.value_and_grad(loss, has_aux=has_aux), n, **options)


def descend(params, found, rate=0.1):
    return tree.map(lambda p, g: (p - rate * g).astype(p.dtype), params, found)


def run(step, state, *rest, mesh, steps, **options):
    """What a step computes, some times in turn if its first argument is donated."""
    if mesh:
        options["mesh"] = weft.Mesh(tuple(mesh.values()), tuple(mesh))
    function = weft.jit(step, **options)
    found = []
    for _ in range(steps):
        result = function(state, *rest)
        found.append(tree.map(np.array, result))
        state = result[0] if "donate_argnums" in options else state
    return found


def assert_same(step, *args, schedules=("1f1b",), ranks=2, chunks=None, inner=None, steps=3, **options):
    """Compares a step as a pipeline, under each of the schedules, with the step without; its results."""
    inner = inner or {}
    wanted = run(step, *args, mesh=inner, steps=steps, **options)
    for schedule in schedules:
        pipeline = weft.Pipeline("pipe", schedule, chunks=chunks)
        found = run(step, *args, mesh={"pipe": ranks} | inner, steps=steps, pipeline=pipeline, **options)
        equal_bits(found, wanted)
    return wanted


def test_what_is_not_donated():
    def step(params, batch):
        value, found = gradients()(params, batch)
        return descend(params, found), value, found

    params, batch = arrays()
    kept = tree.map(np.array, params)
    first, *others = assert_same(step, params, batch)
    equal_bits(others, [first] * 2)
    equal_bits(params, kept)


def test_loss_scale_step_counter_and_schedule():
    """Steps with infinite gradients change nothing but the scale."""

    def step(state, batch):
        params, scale = state["params"], state["scale"]
        value, found = gradients(lambda params, batch: squares(params, batch) * scale)(params, batch)
        found = tree.map(lambda g: g / scale, found)
        is_finite = wnp.isfinite(sum(wnp.abs(g).sum() for g in tree.leaves(found)))
        norm = wnp.sqrt(sum((g * g).sum() for g in tree.leaves(found)))
        rate = 0.1 * wnp.minimum(1.0, (state["step"] + 1) / 3) * wnp.minimum(1.0, 0.5 / norm)
        new = tree.map(lambda p, g: wnp.where(is_finite, p - rate * (g + 0.01 * p), p), params, found)
        return {"params": new, "step": state["step"] + is_finite.astype("int32"),
                "scale": wnp.where(is_finite, scale * 2, scale / 2)}, value / scale, norm, is_finite

    params, batch = arrays()
    state = {"params": params, "step": np.int32(0), "scale": np.float32(2.0**126)}
    found = assert_same(step, state, batch, steps=8, donate_argnums=0)
    finite = [bool(one[3]) for one in found]
    assert set(finite) == {True, False} and found[-1][0]["step"] == sum(finite)


def test_bfloat16_with_sums_of_float32():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16

    def step(state, batch):
        value, found = gradients(dtype="float32")(tree.map(lambda p: p.astype("bfloat16"), state), batch)
        return descend(state, found), value

    params, batch = arrays()
    half = tree.map(lambda x: x if x.dtype == bool else x.astype(bfloat16), batch)
    assert_same(step, params, half, schedules=("1f1b", "zb-h1"), donate_argnums=0)
    both_half, _ = arrays(dtype=bfloat16)

    def all_half(params, batch):
        value, found = gradients(dtype="float32")(params, batch)
        return descend(params, found), value

    assert_same(all_half, both_half, half, schedules=("1f1b", "zb-h1"), donate_argnums=0)


def test_metrics_and_integers():
    def loss(params, batch):
        x = perceptron(params, batch)
        aux = {"right": (x > batch["y"]).astype("int32").sum(), "largest": wnp.abs(x).max(),
               "rows": wnp.ones((), "int32"), "norm": (params["in"] ** 2).sum()}
        return ((x - batch["y"]) ** 2).mean(), aux

    def step(params, batch, unused):
        (value, aux), found = gradients(loss, has_aux=True)(params, batch)
        return descend(params, found), value, aux, wnp.arange(4), unused["also"] * 2

    found = assert_same(step, *arrays(), {"nowhere": np.float32([1, 2]), "also": np.int32(3)}, donate_argnums=0)
    assert found[0][2]["rows"] == 4


def test_states_that_nobody_changes_or_uses():
    def step(state, batch):
        value, found = gradients()(state["params"], batch)
        return state | {"params": descend(state["params"], found),
                        "average": tree.map(lambda a, p: 0.9 * a + 0.1 * p, state["average"], state["params"]),
                        "swapped": state["swapped"][::-1]}, value

    params, batch = arrays()
    state = {"params": params, "average": params, "unused": np.int32([1, 2, 3]), "seed": np.float32(2),
             "swapped": [np.float32(1), np.float32(2)]}
    assert_same(step, state, batch, donate_argnums=0)


def test_parts_without_gradients():
    """Running means as of batch normalization, which the next step reads, and a target network."""

    def step(state, batch):
        running = state["running"]

        def loss(params, batch):
            means = []

            def layer(w, x, scale, i):
                means.append(weft.stop_gradient(x).mean(axis=0))
                return x + wnp.tanh((x - running[i]) @ w) * scale + 0.1 * weft.stop_gradient(x @ w)

            x = perceptron(params, batch, layer=layer)
            aim = weft.stop_gradient(batch["x"] @ state["target"])
            return ((x - aim) ** 2).mean(), means

        (value, means), found = gradients(loss, has_aux=True)(state["params"], batch)
        params = descend(state["params"], found)
        return {"params": params, "running": [0.9 * r + 0.1 * m for r, m in zip(running, means, strict=True)],
                "target": 0.5 * state["target"] + 0.5 * params["in"]}, value

    params, batch = arrays()
    state = {"params": params, "running": [np.zeros(WIDTH, np.float32)] * LAYERS, "target": params["in"] * 2}
    assert_same(step, state, batch, donate_argnums=0, schedules=("zb-h1",))


def test_dropout_has_the_same_numbers():
    def step(state, batch):
        key = weft.random.fold_in(weft.random.key(7), state["step"])

        def layer(w, x, scale, i):
            return x + nn.dropout(weft.random.fold_in(key, i), 0.3, wnp.tanh(x @ w)) * scale

        value, found = gradients(functools.partial(squares, layer=layer))(state["params"], batch)
        return {"params": descend(state["params"], found), "step": state["step"] + 1}, value

    params, batch = arrays()
    found = assert_same(step, {"params": params, "step": np.int32(0)}, batch, donate_argnums=0)
    assert len({float(one[1]) for one in found}) == 3


def test_what_is_of_no_stage():
    """A loss of other rows, and a regularizer that no micro-batch has."""

    def step(params, batch, held_out):
        value, found = gradients()(params, batch)
        found = tree.map(lambda g, p: g + weft.grad(lambda p: (p**4).sum())(p), found, params)
        distances = ((held_out[:, None] - held_out[None]) ** 2).sum(axis=-1)
        return descend(params, found), value, (held_out @ params["in"]).std(), wnp.argmin(distances + 1, axis=0)

    assert_same(step, *arrays(), np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32), donate_argnums=0)


POLICIES = {"nothing": None, "dots": weft.checkpoint_policies.dots_saveable,
            "everything": weft.checkpoint_policies.everything_saveable,
            "names": weft.checkpoint_policies.save_only_these_names("hidden")}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("schedule", ["1f1b", "interleaved-zb"])
def test_recomputation_inside(policy, schedule):
    def layer(w, x, scale, i):
        def wide(w, x, scale):
            hidden = weft.checkpoint_name(wnp.tanh(x @ w), "hidden")
            return x + wnp.tanh(hidden @ w.T) * scale

        return weft.checkpoint(wide, policy=POLICIES[policy])(w, x, scale)

    cuts = range(LAYERS - 1) if SCHEDULES[schedule] == 2 else (1,)

    def step(params, batch, layer=layer):
        value, found = gradients(functools.partial(squares, cuts=cuts, layer=layer))(params, batch)
        return descend(params, found), value

    assert_same(step, *arrays(), donate_argnums=0, schedules=(schedule,))


@pytest.mark.parametrize("schedule", ["1f1b", "interleaved-zb"])
def test_recomputation_of_what_earlier_stages_made(schedule):
    """As the cross attention of a decoder does."""
    @weft.checkpoint
    def cross(w, x, memory):
        return x + wnp.tanh(x @ w @ memory.T) @ wnp.tanh(memory)

    def loss(params, batch):
        memory = weft.stage_boundary(wnp.tanh(batch["x"] @ params["in"]))
        x = cross(params["layers"][0], memory * params["scale"], memory)
        for w in params["layers"][1:3]:
            x = cross(w, weft.stage_boundary(x), memory)
        return ((x - batch["y"]) ** 2).mean()

    def step(params, batch):
        value, found = gradients(loss)(params, batch)
        return descend(params, found), value

    assert_same(step, *arrays(), donate_argnums=0, schedules=(schedule,), ranks=4 // SCHEDULES[schedule])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("schedule", ["1f1b", "zb-v"])
def test_a_tied_parameter_that_a_checkpointed_layer_uses_first(policy, schedule):
    """The last stage uses it again. The boundaries are the compiler's, and change the order of sums."""
    def layer(w, x):
        hidden = weft.checkpoint_name(wnp.tanh(x @ w), "hidden")
        return x + wnp.tanh(hidden @ w.T)

    def loss(params, batch):
        x = weft.checkpoint(lambda tied, x: wnp.tanh(x @ tied), policy=POLICIES[policy])(params["in"], batch["x"])
        for w in params["layers"]:
            x = weft.checkpoint(layer, policy=POLICIES[policy])(w, x)
        return ((x @ params["in"].T - batch["x"]) ** 2).mean()

    def step(params, batch):
        value, found = gradients(loss)(params, batch)
        return descend(params, found), value

    params, batch = arrays()
    args = ({name: params[name] for name in ("in", "layers")}, {"x": batch["x"]})
    wanted = run(step, *args, mesh={}, steps=3, donate_argnums=0)
    found = run(step, *args, mesh={"pipe": 2}, steps=3, donate_argnums=0,
                pipeline=weft.Pipeline("pipe", schedule, stages="auto"))
    for a, b in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("schedule, ranks, n, layers", [
    ("1f1b", 2, 1, 2), ("gpipe", 3, 1, 3), ("zb-h1", 4, 2, 4), ("1f1b", 4, 3, 4), ("1f1b", 5, 8, 5), ("zb-h1", 3, 16, 3),
    ("interleaved-1f1b", 2, 4, 6), ("looped-bfs", 2, 4, 6), ("interleaved-zb", 3, 3, 9), ("gpipe", 8, 4, 8),
    ("1f1b", 1, 4, 1), ("1f1b", 2, 48, 2)])
def test_numbers_of_stages_and_microbatches(schedule, ranks, n, layers):
    def step(params, batch):
        value, found = gradients(functools.partial(squares, cuts=range(layers - 1)), n)(params, batch)
        return descend(params, found), value

    assert_same(step, *arrays(layers=layers, rows=48), schedules=(schedule,), ranks=ranks, chunks=layers // ranks,
                donate_argnums=0)


def test_micro_batches_of_the_pipeline():
    def step(params, batch):
        value, found = weft.value_and_grad(squares)(params, batch)
        return descend(params, found), value

    params, batch = arrays()
    found = weft.jit(step, mesh=weft.Mesh((2,), ("pipe",)), pipeline=weft.Pipeline("pipe", microbatches=4))(
        params, batch)
    wanted = weft.jit(lambda p, b: (lambda v, g: (descend(p, g), v))(*gradients()(p, b)))(params, batch)
    equal_bits(found, wanted)


@pytest.mark.parametrize("schedule, ranks, chunks", [("1f1b", 4, 1), ("zb-v", 2, 2)])
def test_what_has_no_gradient(schedule, ranks, chunks):
    """Passes go forward only; rows are put together again, sums are added up."""
    def evaluate(params, batch):
        rows = perceptron(params, batch, cuts=CUTS)
        return rows, squares(params, batch, cuts=CUTS)

    params, batch = arrays()
    pipeline = weft.Pipeline("pipe", schedule, chunks=chunks, microbatches=4)
    mesh = weft.Mesh((ranks, 2), ("pipe", "data"))
    lowered = weft.jit(evaluate, mesh=mesh, in_shardings=(P(), P("data")), pipeline=pipeline).lower(params, batch)
    compiled = lowered.compile()
    assert compiled.schedule().name == schedule
    assert all(stage.forward_flops and not stage.backward_flops for stage in compiled.stages())
    # Every stage has the scale.
    wanted = sum(p.nbytes for p in tree.leaves(params)) + 3 * params["scale"].nbytes
    assert sum(stage.parameters for stage in compiled.stages()) == wanted
    rows, loss = compiled(params, batch)
    wanted = weft.jit(evaluate)(params, batch)
    np.testing.assert_array_equal(rows, wanted[0])
    np.testing.assert_allclose(loss, wanted[1], rtol=1e-6)


@pytest.mark.parametrize("memory_limit, said", [
    (None, "is updated by ranks 0 and 1, a copy each\n"), ("1GiB", "is updated by rank 0 and sent to rank 1\n")])
@pytest.mark.parametrize("schedule", ["1f1b", "zb-h1"])
def test_who_updates_a_tied_parameter(memory_limit, said, schedule):
    """A copy each, where that takes less time, unless memory is limited."""
    model, optimizer, state = MODELS["gpt"], optimizer_of("gpt"), state_of("gpt")
    batches = model.batches(3, 16)

    def train_on(**options):
        now, losses = state, []
        step = weft.jit(model.train_step(optimizer, cut_behind((1,)), MICROBATCHES), donate_argnums=0, **options)
        compiled = step.lower(now, tree.map(lambda stack: stack[0], batches)).compile()
        for i in range(3):
            now, loss = compiled(now, tree.map(lambda stack, i=i: stack[i], batches))
            losses.append(float(loss))
        return compiled.report(), (losses, now)

    report, found = train_on(mesh=weft.Mesh((2,), ("pipe",)), pipeline=weft.Pipeline("pipe", schedule),
                             memory_limit=memory_limit)
    assert said in report
    equal_bits(found, train_on()[1])


@pytest.mark.parametrize("inner, width, rows", [({"model": 2}, 15, 16), ({"data": 3}, 16, 12), ({"data": 2}, 16, 12),
                                                ({"data": 2, "model": 2}, 13, 12)])
def test_sizes_that_axes_do_not_divide(inner, width, rows):
    def step(params, batch):
        value, found = gradients()(params, batch)
        return descend(params, found), value

    params, batch = arrays(width=width, rows=rows)
    data, model = (axis if axis in inner else None for axis in ("data", "model"))
    specs = ({"in": P(None, model), "scale": P(model), "layers": [P(None, model), P(model, None)] * 2},
             tree.map(lambda _: P(data), batch))
    assert_same(step, params, batch, inner=inner, donate_argnums=0, in_shardings=specs, out_shardings=(specs[0], P()))


def test_tables_of_ones_own(tmp_path):
    """Late and early forward passes, whole and halved backward passes, stages on any rank."""
    tables = ["0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n1F0,1B0,1F1,1F2,1B1,1B2,1F3,1B3\n",
              "1F0,1I0,1F1,1W0,1B1,1F2,1I2,1F3,1W2,1I3,1W3\n0F0,0F1,0B0,0F2,0B1,0F3,0I2,0W2,0I3,0W3\n"]
    params, batch = arrays()

    def step(params, batch):
        value, found = gradients()(params, batch)
        return descend(params, found), value

    schedules = []
    for number, text in enumerate(tables):
        path = tmp_path / f"{number}.csv"
        path.write_text(text)
        schedules += [str(path), weft.pipeline.load_table(path)]
    assert_same(step, params, batch, schedules=schedules, donate_argnums=0)


def test_memory_limits():
    def step(params, batch):
        value, found = gradients()(params, batch)
        return descend(params, found), value

    params, batch = arrays(rows=256)
    options = {"mesh": weft.Mesh((2,), ("pipe",)), "pipeline": weft.Pipeline("pipe"), "donate_argnums": 0}
    whole = weft.jit(step, **options).lower(params, batch).compile()
    limit = max(whole.session().arena_bytes)
    same = weft.jit(step, **options, memory_limit=limit)(params, batch)
    equal_bits(same, weft.jit(step, **options)(params, batch))
    with pytest.raises(weft.CompileError, match="memory"):
        weft.jit(step, **options, memory_limit=4096)(params, batch)


def test_ranks_recompute_what_they_have_too_much():
    """The first rank has more micro-batches in flight."""
    model, optimizer, state = MODELS["gpt"], optimizer_of("gpt"), state_of("gpt")
    batch = tree.map(lambda stack: stack[0], model.batches(1, 16))

    def train_on(**options):
        step = weft.jit(model.train_step(optimizer, cut_behind((1,)), MICROBATCHES), donate_argnums=0, **options)
        return step.lower(state, batch).compile()

    options = {"mesh": weft.Mesh((2,), ("pipe",)), "pipeline": weft.Pipeline("pipe")}
    whole = train_on(**options)
    limited = train_on(**options, memory_limit=int(0.97 * whole.memory().arena))
    assert "of FLOPs are recomputation" in limited.report()
    equal_bits(limited(state, batch), whole(state, batch))


def test_little_above_a_limit_costs_little():
    lowered = weft.models.gpt(layers=8, hidden=256, heads=8, vocabulary=512, sequence=256, pipeline=4, micro_batch=1,
                              global_batch=16).lower()

    def predicted(**options):
        return Predicted.of(lowered.compile(None, cluster="dgx-h100", **options), "dgx-h100")

    free = predicted()
    for share, longer in ((0.95, 1.01), (0.9, 1.02), (0.8, 1.06)):
        limited = predicted(memory_limit=int(share * free.memory))
        assert limited.memory <= share * free.memory
        assert limited.step <= longer * free.step


def test_what_is_recomputed_is_chosen_by_time_with_its_collectives():
    """The first region gathers the table of tokens, and takes next to no FLOPs."""
    lowered = weft.models.gpt(layers=8, hidden=256, heads=4, vocabulary=8192, sequence=256, pipeline=2, data=2, sharded="fsdp",
                              micro_batch=1, global_batch=16).lower()
    free = lowered.compile(None, cluster="dgx-h100")
    limited = lowered.compile(None, cluster="dgx-h100", memory_limit=int(0.9 * free.memory().arena))
    assert limited.cost().recomputed_flops > 0
    assert not [each for each in limited.collectives() if "recomputation of" in each.cause and "'wte'" in each.cause]


@pytest.mark.parametrize("rows", [
    ("0F0,0F1,0F2,0F3,1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3,0B0,0B1,0B2,0B3", "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3"),
    ("0F0,0F1,0F2,0F3,2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3,0B0,0B1,0B2,0B3", "1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3"),
])
def test_a_table_with_more_stages_on_one_rank(rows):
    def step(params, batch):
        value, found = gradients(functools.partial(squares, cuts=(0, 1)))(params, batch)
        return descend(params, found), value

    assert_same(step, *arrays(), donate_argnums=0, schedules=(weft.pipeline.table("\n".join(rows)),))


def test_a_schedule_and_recomputation_under_one_limit():
    def layer(w, x, scale, i):
        for _ in range(6):
            x = wnp.tanh(x @ w) * scale
        return x

    def step(params, batch):
        value, found = gradients(functools.partial(squares, cuts=(1,), layer=layer))(params, batch)
        return descend(params, found), value

    params, batch = arrays(rows=1024)
    options = {"mesh": weft.Mesh((2,), ("pipe",)), "pipeline": weft.Pipeline("pipe", "auto"), "donate_argnums": 0}
    lowered = weft.jit(step, **options).lower(params, batch)
    whole = lowered.compile()
    limit = whole.memory().arena * 5 // 12
    limited = lowered.compile(memory_limit=limit)
    assert limited.memory().arena <= limit
    assert limited.cost().recomputed_flops > whole.cost().recomputed_flops
    equal_bits(weft.jit(step, **options, memory_limit=limit)(params, batch), weft.jit(step, **options)(params, batch))


def test_states_that_change_places():
    """Old parameters as another state, layers that change their stages, values with two names."""

    def step(state, batch, rate):
        params = state["params"]
        value, found = gradients()(params, batch)
        new = descend(params, found, rate)
        first, *rest = new["layers"]
        total = sum((w * w).sum() for w in tree.leaves(new))
        state = {"params": new | {"layers": [*rest, first]}, "previous": params, "before": state["previous"],
                 "key": weft.random.split(state["key"])[1], "total": total}
        return state, value, value, params["layers"][3], total, found["layers"][0], found["layers"][0]

    params, batch = arrays()
    state = {"params": params, "previous": params, "before": params, "key": np.int32([1, 2]), "total": np.float32(0)}
    assert_same(step, state, batch, np.float32(0.1), schedules=("1f1b", "zb-h1"), donate_argnums=0)
    assert_same(step, state, batch, np.float32(0.1), schedules=("1f1b", "zb-h1"))


def test_arguments_that_all_micro_batches_use():
    """Positions, a table and a temperature, which are no rows of the batch."""
    table = np.random.default_rng(2).normal(size=(64, WIDTH)).astype(np.float32)

    def step(params, batch, positions, temperature):
        def layer(w, x, scale, i):
            return x + wnp.tanh(x @ w / temperature) * scale + wnp.asarray(table)[positions + i] * 0.01

        value, found = gradients(functools.partial(squares, layer=layer))(params, batch)
        return descend(params, found), value

    assert_same(step, *arrays(), np.int32(np.arange(4)[:, None] * np.ones(1, np.int32)).ravel(), np.float32(1.5),
                donate_argnums=0)


def test_parameters_without_boundaries_between():
    """Two towers with boundaries of their own, which meet in the last stage."""

    def loss(params, batch):
        towers = []
        for tower in range(2):
            x = batch["x"] @ params["in"]
            x = weft.stage_boundary(wnp.tanh(x @ params["layers"][2 * tower]))
            towers.append(x + wnp.tanh(x @ params["layers"][2 * tower + 1]))
        return ((towers[0] * towers[1] * params["scale"] - batch["y"]) ** 2).mean()

    def step(params, batch):
        value, found = gradients(loss)(params, batch)
        return descend(params, found), value

    assert_same(step, *arrays(), donate_argnums=0, schedules=("gpipe", "zb-h1"))
